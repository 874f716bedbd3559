// Orders that wait for their CSR, for tests: placed by newOrder, validated by the account's auto approval or by hand.
import type { AcmeOrder } from '../../src/core/acme-orders.ts';
import type { Applicant } from '../../src/core/applicant.ts';
import type { Ca } from '../../src/core/ca.ts';
import { finalizeOrder } from '../../src/core/finalize.ts';
import type { OrderWish } from '../../src/core/new-order.ts';
import { newOrder } from '../../src/core/new-order.ts';
import type { LeafKeyType } from '../../src/x509/algorithms.ts';
import type { Extension } from '../../src/x509/extensions.ts';
import type { SubjectName } from '../../src/x509/general-name.ts';
import { generatePrivateKey, type PrivateKey } from '../../src/x509/private-key.ts';
import { aCsr, type CsrParts, san } from '../unit/x509/builders.ts';
import type { givenApplicant } from './given-applicant.ts';

export const everyKeyType = ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096', 'ed25519'] as const;

/** Everything that a directory can allow, for accounts that are approved without a challenge. */
export const permissive = {
  orderValidations: 'auto_approve',
  allowed_ip_identifiers: ['0.0.0.0/0', '::/0'],
  allowed_key_types: [...everyKeyType],
  profiles: ['server', 'client', 'mtls'],
} satisfies Parameters<typeof givenApplicant>[1];

/** For `shop.corp.example` unless another wish is given. */
export async function givenReadyOrder(ca: Ca, applicant: Applicant, wish: Partial<OrderWish> = {}): Promise<AcmeOrder> {
  const order = await newOrder(ca, applicant, { identifiers: [dns('shop.corp.example')], ...wish });
  if (order.state === 'ready') return order;
  const { db } = ca.database;
  const now = ca.clock.now();
  await db
    .updateTable('authorizations')
    .set({ state: 'valid', validated_at: now, caa_checked_at: now })
    .where('id', 'in', [...order.authorizationIds])
    .where('state', '=', 'pending')
    .execute();
  for (const id of order.authorizationIds)
    await db
      .updateTable('challenges')
      .set({ state: 'valid', validated_at: now })
      .where('authorization_id', '=', id)
      .where('type', '=', 'dns-01')
      .execute();
  await db.updateTable('orders').set({ state: 'ready' }).where('id', '=', order.id).execute();
  return { ...order, state: 'ready' };
}

export const dns = (value: string): SubjectName => ({ type: 'dns', value });
export const ip = (value: string): SubjectName => ({ type: 'ip', value });

type Request = {
  readonly names?: readonly SubjectName[];
  readonly keyType?: LeafKeyType;
  readonly key?: PrivateKey;
  readonly subject?: CsrParts['subject'];
  readonly extensions?: readonly Extension[];
};

/** For `shop.corp.example` and a new key unless others are given. */
export async function aRequest({ names, keyType, key, subject, extensions = [] }: Request = {}): Promise<Buffer> {
  const altNames = names ?? [dns('shop.corp.example')];
  return aCsr(
    { ...(subject && { subject }), extensions: [...(altNames.length > 0 ? [san(...altNames)] : []), ...extensions] },
    key ?? (await generatePrivateKey(keyType ?? 'ec_256')),
  );
}

export const finalize = (
  ca: Ca,
  applicant: Applicant,
  order: { readonly id: string },
  csr: Buffer,
): Promise<AcmeOrder> => finalizeOrder(ca, applicant, { id: order.id, csr, signal: new AbortController().signal });

export const certificatesOf = (ca: Ca, orderId: string) =>
  ca.database.db.selectFrom('issued_certs').selectAll().where('order_id', '=', orderId).execute();

/** The DER of the only certificate of an order. */
export async function certificateOf(ca: Ca, orderId: string): Promise<Buffer> {
  const [only, ...others] = await certificatesOf(ca, orderId);
  if (only === undefined || others.length > 0) throw new Error('the order has not one certificate');
  return only.der;
}
