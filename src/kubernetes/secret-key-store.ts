// The key store of a cluster: one immutable Secret per key, in the namespace of the release.
import { randomBytes } from 'node:crypto';
import { KeysUnavailable } from '../core/errors.ts';
import type { KeyStore, Sealer, Signer, StoredKey } from '../core/ports.ts';
import { keyOfOrigin, type OpenedKey, openedKey } from '../keys/opened-key.ts';
import { sealerOf } from '../keys/seal.ts';
import { signerOf } from '../x509/signer.ts';
import { X509Error } from '../x509/x509-error.ts';
import { corePath } from './api-paths.ts';
import type { Cluster } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import {
  type KeySecret,
  keySecret,
  keySecretName,
  keySelectors,
  materialOf,
  originOf,
  refOf,
  sealingKeyOf,
  sealingSecret,
} from './key-secret.ts';
import { listPages } from './list-pages.ts';
import { isReason, orUndefined } from './source-errors.ts';

type Place = { readonly cluster: Cluster; readonly namespace: string };

/**
 * Asks the API server on every call but for what was opened before. Whatever that cannot answer now is CaError
 * `unavailable`; a key counts as gone only where the API server itself says so.
 */
export function secretKeyStore(place: Place): KeyStore {
  const signers = new Map<string, Signer>();
  const sealers = new Map<string, Sealer>();

  async function read(ref: string): Promise<StoredKey | undefined> {
    const secret = await readSecret(place, ref);
    return secret && (await opened(place, secret)).stored;
  }

  async function sealer(ref: string): Promise<Sealer> {
    const cached = sealers.get(ref);
    if (cached !== undefined) return cached;
    const secret = (await readSecret(place, ref)) ?? raise(place, ref, 'is not there');
    const made = sealerOf(sealingKeyOf(secret) ?? raise(place, ref, 'is damaged'));
    sealers.set(ref, made);
    return made;
  }

  return {
    read,
    sealer,
    nameOf: keySecretName,
    async createOnce(ref, material) {
      // Refuses what would be a damaged Secret later.
      await openedKey(ref, material);
      const secret = await createSecret(place, ref, keySecret(place.namespace, ref, material));
      return (await opened(place, secret)).stored;
    },
    async find(origin) {
      // Only these are opened: those of others may be damaged.
      const ofName = (await listSecrets(place, keySelectors.signingCerts)).filter((secret) => {
        const known = originOf(secret);
        return known?.namespace === origin.namespace && known.name === origin.name;
      });
      return keyOfOrigin(await allOpened(place, ofName), origin);
    },
    async signer(ref) {
      const cached = signers.get(ref);
      if (cached !== undefined) return cached;
      const secret = (await readSecret(place, ref)) ?? raise(place, ref, 'is not there');
      const signer = signerOf((await opened(place, secret)).key);
      signers.set(ref, signer);
      return signer;
    },
    async createSealer(ref) {
      const there = await readSecret(place, ref);
      if (there === undefined) await createSecret(place, ref, sealingSecret(place.namespace, ref, randomBytes(32)));
      return sealer(ref);
    },
    async remove(ref) {
      signers.delete(ref);
      sealers.delete(ref);
      await asKeyStore(orUndefined(place.cluster.request({ method: 'DELETE', path: pathOf(place, ref) })));
    },
    list: async () => allOpened(place, await listSecrets(place, keySelectors.all)),
  };
}

/** What stands there after it, whoever made it. */
async function createSecret(place: Place, ref: string, body: object): Promise<KeySecret> {
  const path = corePath('secrets', place.namespace);
  const made = place.cluster.request<KeySecret>({ method: 'POST', path, body }).catch((error: unknown) => {
    if (isReason(error, 'AlreadyExists')) return undefined;
    throw error;
  });
  return (await asKeyStore(made)) ?? (await readSecret(place, ref)) ?? raise(place, ref, 'was removed meanwhile');
}

const readSecret = (place: Place, ref: string): Promise<KeySecret | undefined> =>
  asKeyStore(orUndefined(place.cluster.request<KeySecret>({ method: 'GET', path: pathOf(place, ref) })));

const listSecrets = ({ cluster, namespace }: Place, labelSelector: string): Promise<readonly KeySecret[]> =>
  asKeyStore(
    (async () => {
      const found: KeySecret[] = [];
      const path = corePath('secrets', namespace);
      for await (const { items } of listPages<KeySecret>(cluster, { path, labelSelector })) found.push(...items);
      return found;
    })(),
  );

const pathOf = ({ namespace }: Place, ref: string): string => corePath('secrets', namespace, keySecretName(ref));

async function opened(place: Place, secret: KeySecret): Promise<OpenedKey> {
  const ref = refOf(secret);
  try {
    return await openedKey(ref, materialOf(secret) ?? raise(place, ref, 'holds no tls.key'));
  } catch (error) {
    throw error instanceof X509Error ? raise(place, ref, 'is damaged') : error;
  }
}

/** In the order of their references, which is that of their making. */
async function allOpened(place: Place, secrets: readonly KeySecret[]): Promise<readonly StoredKey[]> {
  const keys = await Promise.all(secrets.map((secret) => opened(place, secret)));
  return keys.map(({ stored }) => stored).sort((one, other) => (one.ref < other.ref ? -1 : 1));
}

async function asKeyStore<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    throw new KeysUnavailable(`Secrets of keys cannot be read or written now: ${error.message}`, {
      cause: error,
    });
  }
}

function raise({ namespace }: Place, ref: string, what: string): never {
  throw new KeysUnavailable(`Secret ${namespace}/${keySecretName(ref)} ${what}. Restore it from a backup.`);
}
