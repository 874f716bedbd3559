// Orders as the account that made them reads them: every statement names the account (ACC-13, SEC-38).
import type { Selectable } from 'kysely';
import { columnsOf } from './columns.ts';
import { answersIn, gatheredOn } from './gathered.ts';
import { type Statement, sql } from './statement.ts';
import type { Tables } from './tables.ts';

/** Whose the rows have to be. */
export type Holder = { readonly accountId: string; readonly directoryId: string };

/** Whose a row that was read is. */
export type Held = { readonly acme_key_id: string; readonly directory_id: string };

/** What an account asks for by its id. */
export type OwnAsk = { readonly id: string; readonly accountId: string };

type Row = Selectable<Tables['orders']>;
export type AcmeOrderRow = Pick<Row, (typeof COLUMNS)[number]> & {
  /** In the order of the identifiers. */
  readonly authorization_ids: readonly string[];
};

const COLUMNS = [
  'id',
  'state',
  'expires_at',
  'identifiers',
  'not_before',
  'not_after',
  'profile',
  'replaces',
  'error',
  'issued_cert_id',
] as const satisfies readonly (keyof Row)[];

const orderColumns = columnsOf('o', COLUMNS);

type OwnOrderRow = AcmeOrderRow & Held;

/** Undefined where the account has no such order. Many at once are one statement. */
export const findAcmeOrder = gatheredOn<OwnAsk, OwnOrderRow | undefined>(async (db, asks) => {
  const { rows } = await sql<OwnOrderRow & { readonly asked: number }>`
    select asked.position::integer as asked, ${orderColumns},
           o.acme_key_id, o.directory_id,
           array(select authorization_id from order_authorizations
                  where order_id = o.id order by position) as authorization_ids
      from ${askedFor(asks)}
      join orders o on o.id = asked.id and (o.acme_key_id = asked.acme_key_id) is true`.execute(db);
  return answersIn(asks, rows);
});

/** As `asked`, with the place of each in the list. */
export const askedFor = (asks: readonly OwnAsk[]): Statement<unknown> => sql`
  unnest(${asks.map(({ id }) => id)}::uuid[], ${asks.map(({ accountId }) => accountId)}::uuid[])
    with ordinality as asked (id, acme_key_id, position)`;
