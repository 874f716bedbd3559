// The keys of the service for a command: where serve would have them.
import type { Settings } from '../config/settings.ts';
import type { KeyStore } from '../core/ports.ts';
import type { Cluster } from '../kubernetes/client.ts';
import { releaseNamespace } from './namespaces.ts';
import { fileKeys } from './open-ca.ts';

export type KeysOfService = {
  readonly keys: KeyStore;
  /** In words. */
  readonly place: string;
};

/** `cluster` is asked for only where no folder of manifests takes its place. */
export async function keysFor(settings: Settings, cluster: () => Promise<Cluster | undefined>): Promise<KeysOfService> {
  const found = settings.manifests === undefined ? await cluster() : undefined;
  if (found === undefined) return { keys: await fileKeys(settings), place: `${settings.dataDir}/keys` };
  const { secretKeyStore } = await import('../kubernetes/secret-key-store.ts');
  const namespace = releaseNamespace(settings, found.namespace);
  return { keys: secretKeyStore({ cluster: found, namespace }), place: `the Secrets of namespace ${namespace}` };
}
