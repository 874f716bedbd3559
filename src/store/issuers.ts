// The CA certs that directories issue from, as every order needs them: many that are asked for at once are one round trip.
import type { Selectable } from 'kysely';
import type { Db } from './database.ts';
import { gatheredOn, gatheredReads } from './gathered.ts';
import { LONGEST_CHAIN } from './signing-certs.ts';
import { sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['signing_certs']>;

export type IssuerRow = Pick<
  Row,
  'id' | 'version' | 'name' | 'state' | 'cert_type' | 'key_availability' | 'not_before' | 'not_after' | 'deleted_at'
> & {
  /** It and those above it, deleted ones too, as far as they have name constraints. */
  readonly constraining: readonly Pick<Row, 'id' | 'name' | 'name_constraints'>[];
  /** Ids of the intermediates above it, the nearest first: they can be revoked, roots cannot. */
  readonly intermediates_above: readonly string[];
};

/** In whatever state. */
export const findIssuer = gatheredReads<IssuerRow>(async (db, ids) => {
  const { rows } = await sql<IssuerRow>`
    with recursive chain as (
      select id as issuer_id, id, parent_id, name, cert_type, name_constraints, 0 as depth
        from signing_certs where id = any(${ids}::uuid[])
       union all
      select chain.issuer_id, p.id, p.parent_id, p.name, p.cert_type, p.name_constraints, depth + 1
        from chain cross join lateral (
               select id, parent_id, name, cert_type, name_constraints from signing_certs where id = chain.parent_id limit 1) p
       where depth < ${LONGEST_CHAIN}
    ),
    constraining as (
      select issuer_id, json_agg(json_build_object('id', id, 'name', name, 'name_constraints', name_constraints)
                                 order by depth) as certs
        from chain where name_constraints is not null group by issuer_id)
    select s.id, s.version, s.name, s.state, s.cert_type, s.key_availability, s.not_before, s.not_after, s.deleted_at,
           coalesce(c.certs, '[]') as constraining,
           array(select chain.id from chain
                  where chain.issuer_id = s.id and chain.depth > 0 and chain.cert_type = 'intermediate'
                  order by chain.depth) as intermediates_above
      from signing_certs s left join constraining c on c.issuer_id = s.id
     where s.id = any(${ids}::uuid[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
});

/** The name of one of these that is revoked, the first in this order. Most issuers stand below a root, which nobody revokes. */
export const findRevokedAmong = async (db: Db, ids: readonly string[]): Promise<string | undefined> =>
  ids.length === 0 ? undefined : findGathered(db, ids);

const findGathered = gatheredOn<readonly string[], string | undefined>(async (db, asks) => {
  const { rows } = await sql<{ readonly id: string; readonly name: string }>`
    select id, name from signing_certs
     where id = any(${[...new Set(asks.flat())]}::uuid[]) and (state = 'revoked') is true`.execute(db);
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return (ids) => ids.map((id) => names.get(id)).find((name) => name !== undefined);
});
