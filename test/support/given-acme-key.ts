// Account keys for tests, registered by the core as /v1 and ACME clients register them.
import { type AccountKey, readAccountKey } from '../../src/core/account-key.ts';
import type { AcmeKeyView } from '../../src/core/acme-keys.ts';
import type { Ca } from '../../src/core/ca.ts';
import { createAcmeKey } from '../../src/core/create-acme-key.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { registerAccount, type SeenToken } from '../../src/core/register-account.ts';
import type { AcmeKeyRow } from '../../src/store/acme-keys.ts';
import { findExternalBinding } from '../../src/store/external-bindings.ts';
import type { LeafKeyType } from '../../src/x509/algorithms.ts';
import { toPem } from '../../src/x509/pem.ts';
import { generatePrivateKey } from '../../src/x509/private-key.ts';
import { admin } from './given.ts';

type Wanted = Partial<Omit<Parameters<typeof createAcmeKey>[2], 'directory_id'>>;

/** A new public key in PEM. */
export const aPublicKey = async (keyType: LeafKeyType = 'ec_256'): Promise<string> =>
  toPem('PUBLIC KEY', (await generatePrivateKey(keyType)).spki);

/** An account that was registered by its key, a new one unless it is given. */
export const givenAcmeKey = async (
  ca: Ca,
  directory: { readonly id: string },
  wanted: Wanted = {},
): Promise<AcmeKeyView> =>
  createAcmeKey(ca, admin, {
    directory_id: directory.id,
    order_validations: 'challenge',
    contacts: [],
    public_key: wanted.public_key ?? (await aPublicKey()),
    ...wanted,
  });

/** A key as registerAccount takes it. */
export const anAccountKey = async (keyType?: LeafKeyType): Promise<AccountKey> =>
  readAccountKey(await aPublicKey(keyType));

/** Uses an EAB token as an ACME client does; its MAC is taken as verified. */
export async function spendToken(
  ca: Ca,
  token: { readonly id: string; readonly directoryId: string },
  key?: AccountKey,
): Promise<AcmeKeyRow> {
  const id = newUuid(ca.clock.now());
  return registerAccount(
    ca,
    { kind: 'acme_key', name: formatId('acmk', id) },
    {
      id,
      directoryId: token.directoryId,
      key: key ?? (await anAccountKey()),
      contacts: ['mailto:shop@corp.example'],
      origin: 'acme',
      sponsor: { token: await seenToken(ca, token.id), jws: '{"protected":"e30"}' },
    },
  );
}

/** Values of its own where there is no such token. */
const seenToken = async (ca: Ca, id: string): Promise<SeenToken> =>
  (await findExternalBinding(ca.database.db, id)) ?? { id, name: '', order_validations: 'challenge' };
