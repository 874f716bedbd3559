// What finalize decides by: everything that decides over an order, in one read.
import type { Selectable } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import type { ChallengeType } from '../lifecycles/challenge.ts';
import { askedFor, type OwnAsk } from './acme-orders.ts';
import { columnsOf } from './columns.ts';
import type { Db } from './database.ts';
import { answersIn, gatheredOn } from './gathered.ts';
import { quickly } from './quick-writes.ts';
import { sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Order = Selectable<Tables['orders']>;
type SigningCert = Selectable<Tables['signing_certs']>;

/** An authorization of the order; times are milliseconds. */
export type OrderAuthorizationRow = {
  readonly id: string;
  readonly type: 'dns' | 'ip';
  readonly value: string;
  readonly wildcard: boolean;
  readonly state: AuthorizationState;
  readonly auto: boolean;
  readonly expires_at: number;
  readonly caa_checked_at: number | null;
  /** Of the challenge that validated it; null where there was none. */
  readonly method: ChallengeType | null;
};

export type FinalizeRow = Pick<Order, (typeof ORDER)[number]> & {
  readonly account_state: AcmeKeyState;
  readonly order_validations: 'challenge' | 'auto_approve';
  readonly directory_version: number;
  readonly authorizations: readonly OrderAuthorizationRow[];
  /** The CA cert that the directory issues from. */
  readonly issuer_id: string;
  readonly issuer_name: string;
  readonly issuer_state: SigningCert['state'];
  readonly issuer_deleted: boolean;
  readonly issuer_cert_type: SigningCert['cert_type'];
  readonly issuer_key_availability: SigningCert['key_availability'];
  readonly issuer_key_ref: string | null;
  readonly issuer_not_before: Date | null;
  readonly issuer_not_after: Date | null;
};

const ORDER = [
  'id',
  'acme_key_id',
  'directory_id',
  'created_at',
  'expires_at',
  'not_before',
  'not_after',
  'state',
  'profile',
  'identifiers',
  'replaces',
  'error',
  'issued_cert_id',
  'csr_sha256',
] as const satisfies readonly (keyof Order)[];

const orderColumns = columnsOf('o', ORDER);

/** Undefined where the account has no such order. Many at once are one statement. */
export const findOrderForFinalize = gatheredOn<OwnAsk, FinalizeRow | undefined>(async (db, asks) => {
  const { rows } = await sql<FinalizeRow & { readonly asked: number }>`
    select asked.position::integer as asked, ${orderColumns},
           k.state as account_state, k.order_validations, d.version as directory_version,
           s.id as issuer_id, s.name as issuer_name, s.state as issuer_state,
           s.deleted_at is not null as issuer_deleted, s.cert_type as issuer_cert_type,
           s.key_availability as issuer_key_availability, s.key_ref as issuer_key_ref,
           s.not_before as issuer_not_before, s.not_after as issuer_not_after,
           (select coalesce(json_agg(json_build_object(
                     'id', a.id, 'type', a.type, 'value', a.value, 'wildcard', a.wildcard, 'state', a.state,
                     'auto', a.auto, 'expires_at', extract(epoch from a.expires_at) * 1000,
                     'caa_checked_at', extract(epoch from a.caa_checked_at) * 1000,
                     'method', (select c.type from challenges c
                                 where c.authorization_id = a.id and c.state = 'valid' limit 1))
                   order by oa.position), '[]')
              from order_authorizations oa join authorizations a on a.id = oa.authorization_id
             where oa.order_id = o.id) as authorizations
      from ${askedFor(asks)}
      join orders o on o.id = asked.id and (o.acme_key_id = asked.acme_key_id) is true
      join acme_keys k on k.id = o.acme_key_id
      join directories d on d.id = o.directory_id
      join signing_certs s on s.id = d.signing_cert_id`.execute(db);
  return answersIn(asks, rows);
});

/** CAA-9: these were looked up again now. */
export async function markCaaChecked(db: Db, authorizationIds: readonly string[], now: Date): Promise<void> {
  await sql`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true))
    update authorizations set caa_checked_at = ${now} from asynchronous
     where id = any(${authorizationIds}::uuid[])`.execute(quickly(db));
}
