// What an ACME client has begun, straight in the database: an order in each state, and what belongs to it.
import { newUuid } from '../../src/core/ids.ts';
import type { Db } from '../../src/store/database.ts';

export type Account = { readonly acme_key_id: string; readonly directory_id: string };

type Begun = { readonly signingCertId: string; readonly now: Date; readonly auto?: boolean };

const states = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const;
const LIFE_MS = 3_600_000;

/**
 * An order in each state with an authorization of its own, a probe for the pending one unless it is `auto`, and the
 * certificate of the valid one. Gives the id of each order by its state.
 */
export async function givenOpenWork(db: Db, account: Account, begun: Begun) {
  const orders = Object.fromEntries(
    await Promise.all(states.map(async (state) => [state, await order(db, account, begun, state)])),
  );
  return orders as Readonly<Record<(typeof states)[number], string>>;
}

/** An authorization of an order; its id. */
export async function givenAuthorization(
  db: Db,
  { acme_key_id }: Account,
  { now, auto = false }: Pick<Begun, 'now' | 'auto'>,
  {
    orderId,
    value,
    state,
    position = 0,
  }: { orderId: string; value: string; state: 'pending' | 'valid'; position?: number },
): Promise<string> {
  const id = newUuid(now);
  const expires_at = new Date(now.getTime() + LIFE_MS);
  const validated_at = state === 'valid' ? now : null;
  const fixed = { type: 'dns', value, wildcard: false, auto } as const;
  await db
    .insertInto('authorizations')
    .values({ id, acme_key_id, created_at: now, expires_at, state, validated_at, ...fixed })
    .execute();
  await db.insertInto('order_authorizations').values({ order_id: orderId, authorization_id: id, position }).execute();
  return id;
}

async function order(db: Db, account: Account, begun: Begun, state: (typeof states)[number]): Promise<string> {
  const { signingCertId, now, auto = false } = begun;
  const [id, cert] = [newUuid(now), newUuid(now)];
  const expires_at = new Date(now.getTime() + LIFE_MS);
  const reserved = {
    issued_cert_id: cert,
    signing_cert_id: signingCertId,
    serial: Buffer.from(cert),
    tbs: Buffer.from('tbs'),
    csr_sha256: Buffer.from('csr'),
    key_thumbprint: Buffer.from(`key ${cert}`),
    due_at: now,
  };
  const columns = { id, ...account, created_at: now, expires_at, state, profile: 'server', identifiers: '[]' };
  await db
    .insertInto('orders')
    .values({
      ...columns,
      ...(state === 'processing' && reserved),
      ...(state === 'valid' && { issued_cert_id: cert }),
    })
    .execute();
  const isPending = state === 'pending' && !auto;
  const authorization = {
    orderId: id,
    value: `${state}.corp.example`,
    state: isPending ? 'pending' : 'valid',
  } as const;
  const authorizationId = await givenAuthorization(db, account, begun, authorization);
  if (isPending) await probe(db, authorizationId, now);
  if (state === 'valid') await certificate(db, account, begun, { id: cert, orderId: id, not_after: expires_at });
  return id;
}

async function probe(db: Db, authorizationId: string, now: Date): Promise<void> {
  const response = {
    key_authorization: 'token.thumbprint',
    account_url: 'https://acme.corp.example/account',
    due_at: now,
  };
  await db
    .insertInto('challenges')
    .values({
      id: newUuid(now),
      authorization_id: authorizationId,
      type: 'http-01',
      state: 'processing',
      token: 'token',
      ...response,
    })
    .execute();
}

async function certificate(
  db: Db,
  account: Account,
  { signingCertId, now }: Begun,
  { id, orderId, not_after }: { id: string; orderId: string; not_after: Date },
): Promise<void> {
  const facts = { serial: Buffer.from(id), key_thumbprint: Buffer.from(`key ${id}`), subjects: ['valid.corp.example'] };
  await db
    .insertInto('issued_certs')
    .values({
      id,
      order_id: orderId,
      ...account,
      signing_cert_id: signingCertId,
      not_before: now,
      not_after,
      state: 'valid',
      der: Buffer.from('leaf'),
      ...facts,
    })
    .execute();
}

/** What has become of it; authorizations by the first label of their name. */
export async function openWorkOf(db: Db, acmeKeyId: string) {
  const orders = await db
    .selectFrom('orders')
    .select(['id', 'state', 'error', 'tbs', 'due_at'])
    .where('acme_key_id', '=', acmeKeyId)
    .orderBy('id')
    .execute();
  const authorizations = await db
    .selectFrom('authorizations')
    .select(['value', 'state'])
    .where('acme_key_id', '=', acmeKeyId)
    .execute();
  const challenges = await db
    .selectFrom('challenges as c')
    .innerJoin('authorizations as a', 'a.id', 'c.authorization_id')
    .select(['c.state', 'c.due_at', 'c.error'])
    .where('a.acme_key_id', '=', acmeKeyId)
    .execute();
  const certs = await db
    .selectFrom('issued_certs')
    .select(['state', 'reason'])
    .where('acme_key_id', '=', acmeKeyId)
    .execute();
  return {
    orders: new Map(orders.map(({ id, ...columns }) => [id, columns])),
    authorizations: Object.fromEntries(authorizations.map(({ value, state }) => [value.split('.')[0], state])),
    challenges,
    certs,
  };
}
