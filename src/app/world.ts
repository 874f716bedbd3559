// Where declared objects and keys are: in a cluster, in a folder of manifests, or nowhere but in this service.
import type { CallerReview } from '../api/ports.ts';
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import type { KeyStore } from '../core/ports.ts';
import type { OperatorOptions } from '../operator/operator.ts';
import type { Events } from '../telemetry/events.ts';
import { fileKeys } from './open-ca.ts';

export type World = {
  readonly openKeys: () => Promise<KeyStore>;
  /** Of ServiceAccount tokens; undefined without a cluster. */
  readonly review?: CallerReview;
  /** Undefined where nothing is declared. */
  readonly declared?: Declared;
  /** Where what is made for objects of a folder lies: `<namespace>/<name>/`. */
  readonly outputsFolder?: string;
  readonly isCluster: boolean;
};

type Declared = Omit<OperatorOptions, 'ca' | 'anchors' | 'random' | 'leadership'> & {
  readonly leadership: (ca: Ca) => OperatorOptions['leadership'];
};

export type WorldOptions = {
  readonly settings: Settings;
  readonly events: Events;
  readonly scope: AsyncDisposableStack;
};

/** A folder leaves any cluster alone. */
export async function openWorld(options: WorldOptions): Promise<World> {
  const { settings } = options;
  if (settings.manifests !== undefined)
    return (await import('./folder-world.ts')).openFolderWorld(options, settings.manifests);
  const { openClusterWorld } = await import('./cluster-world.ts');
  return (await openClusterWorld(options)) ?? { openKeys: () => fileKeys(settings), isCluster: false };
}
