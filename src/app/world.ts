// Where declared objects and keys are: in a cluster, in a folder of manifests, or nowhere but in this service.
import type { CallerReview } from '../api/ports.ts';
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import type { KeyStore } from '../core/ports.ts';
import { isInPod, SERVICE_ACCOUNT } from '../kubernetes/pod-access.ts';
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
  // Without a cluster the code for one is not even loaded.
  const mayBeInCluster = settings.kubeconfig !== undefined || isInPod(SERVICE_ACCOUNT);
  const cluster = mayBeInCluster ? await (await import('./cluster-world.ts')).openClusterWorld(options) : undefined;
  return cluster ?? { openKeys: () => fileKeys(settings), isCluster: false };
}
