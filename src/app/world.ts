// Where declared objects and keys are: a folder of manifests, or nowhere but in this service.
import { join } from 'node:path';
import type { CallerReview } from '../api/ports.ts';
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import { databaseLeadership } from '../core/leadership.ts';
import type { KeyStore } from '../core/ports.ts';
import { folderEvents } from '../folder/folder-events.ts';
import { folderOutputs } from '../folder/folder-outputs.ts';
import { FolderSource } from '../folder/folder-source.ts';
import { openStatusFiles } from '../folder/status-files.ts';
import type { OperatorOptions } from '../operator/operator.ts';
import type { Events } from '../telemetry/events.ts';
import { fileKeys } from './open-ca.ts';

export type World = {
  readonly keys: KeyStore;
  /** Of ServiceAccount tokens; undefined without a cluster. */
  readonly review: CallerReview | undefined;
  /** Undefined where nothing is declared. */
  readonly declared: Declared | undefined;
  /** Where what is made for objects of a folder lies: `<namespace>/<name>/`; undefined where there is none. */
  readonly outputsFolder?: string;
};

type Declared = Omit<OperatorOptions, 'ca' | 'anchors' | 'random' | 'leadership'> & {
  readonly leadership: (ca: Ca) => OperatorOptions['leadership'];
};

const NAMESPACE = 'acmery-system';

export async function openWorld(settings: Settings, events: Events, scope: AsyncDisposableStack): Promise<World> {
  const keys = await fileKeys(settings);
  if (settings.manifests === undefined) return { keys, review: undefined, declared: undefined };
  return folderWorld(settings, settings.manifests, { keys, events }, scope);
}

async function folderWorld(
  settings: Settings,
  folder: string,
  { keys, events }: { readonly keys: KeyStore; readonly events: Events },
  scope: AsyncDisposableStack,
): Promise<World> {
  const { dataDir, caNamespaces } = settings;
  const namespace = settings.namespace ?? NAMESPACE;
  const outputsFolder = join(dataDir, 'outputs');
  const statusFiles = await openStatusFiles([join(folder, '.status'), join(dataDir, 'status')]);
  const outputs = folderOutputs(outputsFolder);
  const clock = { now: () => new Date() };
  const declared = {
    source: scope.use(new FolderSource({ folder, statusFiles, outputs, namespace, clock, events })),
    outputs,
    events: folderEvents(events),
    leadership: (ca: Ca) => databaseLeadership(ca, 'manifests'),
    namespace,
    caNamespaces: caNamespaces?.includes('*') ? undefined : (caNamespaces ?? [namespace]),
  };
  return { keys, review: undefined, declared, outputsFolder };
}
