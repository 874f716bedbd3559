// Registering an account key for a client that will come with it.
import type { CreateInput } from '../resources/field.ts';
import type { acmeKeyFields } from '../resources/fields.ts';
import { readAccountKey } from './account-key.ts';
import { type AcmeKeyView, acmeKeyView } from './acme-keys.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { newUuid } from './ids.ts';
import { canonicalOrderValidations } from './order-validations.ts';
import { registerAccount } from './register-account.ts';

/**
 * Registers a public key; `directory_id` is a uuid. Throws `invalid` for a key of another type or a weak one,
 * `key_reused`, `key_invalidated` and `unknown_reference`.
 */
export async function createAcmeKey(
  ca: Ca,
  actor: Actor,
  input: CreateInput<typeof acmeKeyFields>,
): Promise<AcmeKeyView> {
  const row = await registerAccount(ca, actor, {
    id: newUuid(ca.clock.now()),
    directoryId: input.directory_id,
    key: readAccountKey(input.public_key),
    contacts: input.contacts,
    origin: 'api',
    sponsor: { name: input.name ?? '', orderValidations: canonicalOrderValidations(input.order_validations) },
  });
  return acmeKeyView(ca, row);
}
