// An EAB token as its custom resource shows it.
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import type { DeclaredBindingRow } from '../store/declared-bindings.ts';
import type { Ca } from './ca.ts';
import { formatId } from './ids.ts';
import { macKeyText } from './mac-key.ts';
import type { OrderValidations } from './order-validations.ts';
import { openSecret } from './secret-box.ts';
import { accountUrl, directoryUrl } from './urls.ts';

export type DeclaredBindingView = {
  readonly id: string;
  /** What clients send. */
  readonly keyId: string;
  /** 43 characters. */
  readonly macKey: string;
  readonly directoryUrl: string;
  readonly orderValidations: OrderValidations;
  /** The text of the annotation that it answers. */
  readonly renewed: string | undefined;
  /** Undefined while nobody has used it. */
  readonly account:
    | { readonly id: string; readonly url: string; readonly state: AcmeKeyState; readonly usedAt: Date }
    | undefined;
};

/** Opens the MAC key. Throws `unavailable`. */
export const declaredBindingView = async (ca: Ca, row: DeclaredBindingRow): Promise<DeclaredBindingView> => ({
  id: row.id,
  keyId: row.key_id ?? formatId('eab', row.id),
  macKey: macKeyText(await openSecret(ca, row.id, row.mac_sealed)),
  directoryUrl: directoryUrl(ca.urls, row.slug),
  orderValidations: row.order_validations,
  renewed: row.renewed ?? undefined,
  account: accountOf(ca, row),
});

function accountOf(ca: Ca, { acme_key_id: id, used_at: usedAt, account_state: state, slug }: DeclaredBindingRow) {
  if (id === null || usedAt === null || state === null) return undefined;
  return { id, url: accountUrl(ca.urls, slug, id), state, usedAt };
}
