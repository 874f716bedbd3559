// A folder of manifests in the place of a cluster.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SettingsError } from '../config/load.ts';
import { databaseLeadership } from '../core/leadership.ts';
import { folderEvents } from '../folder/folder-events.ts';
import { folderOutputs } from '../folder/folder-outputs.ts';
import { FolderSource } from '../folder/folder-source.ts';
import { openStatusFiles } from '../folder/status-files.ts';
import { caNamespacesOf, releaseNamespace } from './namespaces.ts';
import { fileKeys } from './open-ca.ts';
import type { World, WorldOptions } from './world.ts';

/** Throws SettingsError where there is no such folder. */
export async function openFolderWorld({ settings, events, scope }: WorldOptions, folder: string): Promise<World> {
  await requireFolder(folder);
  const namespace = releaseNamespace(settings);
  const outputsFolder = join(settings.dataDir, 'outputs');
  const statusFiles = await openStatusFiles([join(folder, '.status'), join(settings.dataDir, 'status')]);
  const outputs = folderOutputs(outputsFolder);
  const clock = { now: () => new Date() };
  const source = scope.use(new FolderSource({ folder, statusFiles, outputs, namespace, clock, events }));
  return {
    openKeys: () => fileKeys(settings),
    declared: {
      source,
      outputs,
      events: folderEvents(events),
      leadership: (ca) => databaseLeadership(ca, 'manifests'),
      namespace,
      caNamespaces: caNamespacesOf(settings, namespace),
    },
    outputsFolder,
    isCluster: false,
  };
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  const why = found === undefined ? 'there is none of that name' : 'that is a file';
  throw new SettingsError([`ACMERY_MANIFESTS: expected a folder of manifests, got ${folder}: ${why}.`]);
}
