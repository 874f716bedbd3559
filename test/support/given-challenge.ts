// Orders whose clients have responded to challenges, straight in the database, as the door leaves them to the worker.
import { sql } from 'kysely';
import type { Ca } from '../../src/core/ca.ts';
import { newUuid } from '../../src/core/ids.ts';
import { accountUrl } from '../../src/core/urls.ts';
import type { ChallengeType } from '../../src/lifecycles/challenge.ts';
import type { Challenge } from './applicant.ts';
import { type GivenAccount, givenAccount, givenOrder } from './given-order.ts';
import { givenIntermediate } from './given-signing-cert.ts';

const DAY_MS = 86_400_000;

export type GivenClient = GivenAccount & { readonly accountUrl: string; readonly slug: string };

/** An account that may order, and the slug of its directory. */
export async function givenClient(ca: Ca): Promise<GivenClient> {
  const account = await givenAccount(ca, await givenIntermediate(ca));
  const { directoryId: directory_id } = account;
  const slug = `web-${directory_id}`;
  await ca.database.db
    .insertInto('directory_slugs')
    .values({ slug, directory_id, created_at: ca.clock.now() })
    .execute();
  return { ...account, slug, accountUrl: accountUrl(ca.urls, slug, account.acmeKeyId) };
}

export type GivenName = {
  readonly value?: string;
  readonly type?: 'dns' | 'ip';
  readonly wildcard?: boolean;
  /** Those that the client has responded to; the worker looks for them. */
  readonly responded?: readonly ChallengeType[];
  readonly state?: 'pending' | 'valid' | 'deactivated';
  readonly expiresAt?: Date;
  /** What the client does before it responds. */
  readonly prepare?: (challenge: Challenge) => Promise<void>;
};

export type GivenChallenge = Challenge & { readonly id: string; readonly authorizationId: string };

/** A pending order for these names; what the client has responded to, in their order. */
export async function givenResponded(
  ca: Ca,
  client: GivenClient,
  names: readonly GivenName[],
): Promise<{ readonly orderId: string; readonly challenges: readonly GivenChallenge[] }> {
  const identifiers = names.map(({ type = 'dns', value = 'shop.corp.example', wildcard = false }) => ({
    type,
    value: wildcard ? `*.${value}` : value,
  }));
  const expires_at = new Date(ca.clock.now().getTime() + DAY_MS);
  const orderId = await givenOrder(ca, client, { identifiers, expires_at });
  const challenges: GivenChallenge[] = [];
  for (const [position, name] of names.entries()) {
    const { authorizationId, ...given } = await givenAuthorized(ca, client, name);
    challenges.push(...given.challenges);
    const link = { order_id: orderId, authorization_id: authorizationId, position };
    await ca.database.db.insertInto('order_authorizations').values(link).execute();
  }
  await sql`notify acmery_due, 'challenge'`.execute(ca.database.db);
  return { orderId, challenges };
}

/** An authorization that no order leans on, with its challenges. */
export async function givenAuthorized(ca: Ca, { acmeKeyId, accountUrl: account_url }: GivenClient, name: GivenName) {
  const now = ca.clock.now();
  const { value = 'shop.corp.example', type = 'dns', wildcard = false, responded = ['http-01'] } = name;
  const { state = 'pending', expiresAt: expires_at = new Date(now.getTime() + DAY_MS) } = name;
  const authorizationId = newUuid(now);
  const row = { id: authorizationId, acme_key_id: acmeKeyId, created_at: now, expires_at, state, type, value };
  const validated_at = state === 'valid' ? now : null;
  await ca.database.db
    .insertInto('authorizations')
    .values({ ...row, wildcard, auto: false, validated_at })
    .execute();
  const challenges: GivenChallenge[] = [];
  for (const challengeType of state === 'valid' ? [] : responded) {
    const id = newUuid(now);
    const token = `token-${id}`;
    const key_authorization = `${token}.thumbprint`;
    const challenge: Challenge = {
      type: challengeType,
      identifier: { type, value },
      token,
      keyAuthorization: key_authorization,
      accountUrl: account_url,
    };
    await name.prepare?.(challenge);
    await ca.database.db
      .insertInto('challenges')
      .values({
        id,
        authorization_id: authorizationId,
        type: challengeType,
        state: 'processing',
        token,
        key_authorization,
        account_url,
        due_at: now,
      })
      .execute();
    challenges.push({ ...challenge, id, authorizationId });
  }
  return { authorizationId, challenges };
}

/** What has become of an order, its authorizations and their challenges, each in the order in which they were made. */
export async function outcomeOf(ca: Ca, orderId: string) {
  const { db } = ca.database;
  const order = await db
    .selectFrom('orders')
    .select(['state', 'error'])
    .where('id', '=', orderId)
    .executeTakeFirstOrThrow();
  const authorizations = await db
    .selectFrom('authorizations as a')
    .innerJoin('order_authorizations as oa', 'oa.authorization_id', 'a.id')
    .select(['a.state', 'a.validated_at', 'a.caa_checked_at', 'a.expires_at'])
    .where('oa.order_id', '=', orderId)
    .orderBy('oa.position')
    .execute();
  const challenges = await db
    .selectFrom('challenges as c')
    .innerJoin('order_authorizations as oa', 'oa.authorization_id', 'c.authorization_id')
    .select(['c.state', 'c.validated_at', 'c.error', 'c.failures', 'c.due_at', 'c.lease_until'])
    .where('oa.order_id', '=', orderId)
    .orderBy('oa.position')
    .orderBy('c.id')
    .execute();
  return { order, authorizations, challenges };
}
