// The statement of newAuthz, and its parts, which newOrder shares: they hold the account as it was seen and make
// authorizations with their challenges, for many accounts at once.
import type { ChallengeType } from '../lifecycles/challenge.ts';
import { broughtRows } from './brought-rows.ts';
import { answersIn, gatheredWrites, orEachAlone } from './gathered.ts';
import { type Statement, sql, verbatim } from './statement.ts';

/** Rows as they were read when it was decided. */
type Seen = {
  readonly account: { readonly id: string; readonly version: number };
  readonly directory: { readonly id: string; readonly version: number };
  /** Of the CA cert that the directory issues from. */
  readonly issuerVersion: number;
};

export type NewAuthorizations = {
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Approved without a challenge: they are born valid, and so are their challenges. */
  readonly auto: boolean;
  readonly list: readonly NewAuthorization[];
};
export type NewAuthorization = {
  readonly id: string;
  readonly type: 'dns' | 'ip';
  /** Lower case, without `*.`. */
  readonly value: string;
  readonly wildcard: boolean;
  readonly challenges: readonly { readonly id: string; readonly type: ChallengeType; readonly token: string }[];
};

/** What every ask of these statements says. */
export type AskedBy = { readonly seen: Seen; readonly wanted: NewAuthorizations };

/** What `asked` brings of each ask. */
export const askedColumns = {
  asked: 'integer',
  acme_key_id: 'uuid',
  account_version: 'integer',
  directory_id: 'uuid',
  directory_version: 'integer',
  issuer_version: 'integer',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
  auto: 'boolean',
} as const;

const askedRows = broughtRows('asked', askedColumns);

const wantedRows = broughtRows('wanted', {
  asked: 'integer',
  id: 'uuid',
  type: 'text',
  value: 'text',
  wildcard: 'boolean',
  position: 'integer',
});

const challengeRows = broughtRows('challenge', {
  authorization_id: 'uuid',
  id: 'uuid',
  type: 'text',
  token: 'text',
});

/** Makes an authorization without an order. False when account, directory or its CA cert are not as they were seen. */
export const insertAuthorization = gatheredWrites(
  orEachAlone(async (db, asks: readonly AskedBy[], patience) => {
    const { rows } = await sql<{ readonly asked: number }>`
      with ${accountsAsSeen(askedRows(asks.map(askedRow)), patience)},
      account as (select * from seen),
      ${wantedBy(asks)},
      lacking as (select * from wanted),
      ${authorized(asks)}
      select asked from account`.execute(db);
    const answerTo = answersIn(asks, rows);
    return (ask) => answerTo(ask) !== undefined;
  }),
);

/**
 * `seen`: of each ask, by its place, the account, where account, directory and CA cert are as they were seen. Whoever
 * changes an account waits until the statement is committed, or is seen by it.
 */
export const accountsAsSeen = (asked: Statement<unknown>, patience: Statement<unknown>): Statement<unknown> => sql`
  patience as materialized (${patience}),
  seen as materialized (
    select asked.*
      from patience
      cross join ${asked}
      cross join lateral (
        select k.id from acme_keys k
         where k.id = asked.acme_key_id and (k.version = asked.account_version and k.state = 'valid') is true
           and (select d.version = asked.directory_version and d.deleted_at is null
                       and (select version = asked.issuer_version from signing_certs where id = d.signing_cert_id)
                  from directories d where d.id = asked.directory_id and (d.id = k.directory_id) is true) is true
         limit 1 for share) k)`;

export function askedRow(
  { seen: { account, directory, issuerVersion }, wanted: { createdAt, expiresAt, auto } }: AskedBy,
  index: number,
) {
  return {
    asked: index + 1,
    acme_key_id: account.id,
    account_version: account.version,
    directory_id: directory.id,
    directory_version: directory.version,
    issuer_version: issuerVersion,
    created_at: createdAt,
    expires_at: expiresAt,
    auto,
  };
}

/** `wanted`: the authorizations that those in `account` ask for. */
export const wantedBy = (asks: readonly AskedBy[]): Statement<unknown> => sql`
  wanted as materialized (
    select wanted.*, account.acme_key_id, account.created_at, account.expires_at, account.auto
      from ${wantedRows(asks.flatMap(rowsWanted))}
      join account on account.asked = wanted.asked)`;

const rowsWanted = ({ wanted: { list } }: AskedBy, index: number) =>
  list.map(({ id, type, value, wildcard }, position) => ({ asked: index + 1, id, type, value, wildcard, position }));

const bornAs = verbatim(`case when auto then 'valid' else 'pending' end`);

/** Makes those that stand in `lacking`. */
export const authorized = (asks: readonly AskedBy[]): Statement<unknown> => sql`
  authorized as (
    insert into authorizations (id, acme_key_id, created_at, expires_at, validated_at, state, type, value, wildcard,
                                auto)
    select id, acme_key_id, created_at, expires_at, case when auto then created_at end, ${bornAs}, type, value, wildcard,
           auto
      from lacking),
  offered as (
    insert into challenges (id, authorization_id, type, state, token, validated_at)
    select challenge.id, lacking.id, challenge.type, ${bornAs}, challenge.token, case when auto then created_at end
      from ${challengeRows(asks.flatMap(rowsOffered))}
      join lacking on lacking.id = challenge.authorization_id)`;

const rowsOffered = ({ wanted: { list } }: AskedBy) =>
  list.flatMap(({ id: authorization_id, challenges }) => challenges.map((row) => ({ ...row, authorization_id })));
