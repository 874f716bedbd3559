// The statement that registers account keys: all that came at once in one, so that they are flushed to the disk together.
import type { Insertable } from 'kysely';
import { type AcmeKeyRow, acmeKeyColumns } from './acme-keys.ts';
import { type AuditRecord, auditOfEach } from './audit.ts';
import { broughtRows } from './brought-rows.ts';
import { columnsOf } from './columns.ts';
import type { Db } from './database.ts';
import { wantedDirectories } from './directories.ts';
import { gatheredWrites, orEachAlone } from './gathered.ts';
import { type Fence, isChangeable, type Owner } from './origin.ts';
import { type Statement, sql, verbatim } from './statement.ts';
import type { Tables } from './tables.ts';

type Row = Insertable<Tables['acme_keys']>;

/** With an `external_binding_id` it is for that token, whose name and validations it has as they were seen. */
export type NewAcmeKey = Pick<
  Row,
  'id' | 'origin' | 'created_at' | 'directory_id' | 'contacts' | 'order_validations' | 'thumbprint' | 'spki'
> & {
  readonly name: string;
  readonly jwk: Readonly<Record<string, string>>;
  readonly external_binding_id: string | null;
  readonly eab_jws: string | null;
  readonly terms_agreed: string | null;
  /** The custom resource that declares it. */
  readonly owner: (Owner & Fence) | undefined;
};

type Registration = { readonly key: NewAcmeKey; readonly records: readonly AuditRecord[] };

/** Columns that come from outside, with their types. */
const given = {
  id: 'uuid',
  origin: 'text',
  origin_namespace: 'text',
  origin_name: 'text',
  origin_uid: 'text',
  origin_generation: 'integer',
  created_at: 'timestamptz',
  directory_id: 'uuid',
  external_binding_id: 'uuid',
  eab_jws: 'text',
  name: 'text',
  order_validations: 'text',
  contacts: 'text[]',
  contacts_declared: 'text[]',
  thumbprint: 'bytea',
  spki: 'bytea',
  jwk: 'jsonb',
  terms_agreed: 'text',
} as const satisfies Partial<Record<keyof Row, string>>;

const names = Object.keys(given);
const columns = verbatim(names.join(', '));
const wantedRows = broughtRows('wanted', given);
const wantedColumns = columnsOf('wanted', names);
const returnedColumns = columnsOf('acme_keys', acmeKeyColumns);
const madeColumns = columnsOf('made', acmeKeyColumns);

/**
 * Registers a key with the records of it: holds the directory against deletion, spends the EAB token where one stands for
 * it, claims the key for ever, and, only from what came of that, makes the account. Undefined, and then nothing is spent,
 * when the directory is not there, the token is spent, deleted, of another directory or not as it was seen, or the key is
 * not new. Fails by used_keys_pkey when it has just become another's. All who do the same take their locks in one order:
 * directories, tokens, keys.
 */
export const insertAcmeKey = gatheredWrites<Registration, AcmeKeyRow | undefined>(orEachAlone(insertAcmeKeys), 1);

async function insertAcmeKeys(db: Db, asks: readonly Registration[], patience: Statement<unknown>) {
  const { rows } = await sql<AcmeKeyRow>`
    with patience as materialized (${patience}),
    wanted as materialized (
      select distinct on (thumbprint) ${wantedColumns}
        from patience
        cross join ${wantedRows(asks.map(({ key }) => givenOf(key)))}
        left join lateral (select true as is_used from used_keys where thumbprint = wanted.thumbprint limit 1) used on true
       where is_used is null
       order by thumbprint, id),
    directory as (${wantedDirectories}),
    held as (
      select b.id, w.id as account_id, w.created_at as spent_at
        from (select wanted.* from wanted join directory on directory.id = wanted.directory_id
               where external_binding_id is not null order by external_binding_id) w,
             lateral (select id from external_bindings
                       where id = w.external_binding_id
                         and (directory_id = w.directory_id and name = w.name
                              and order_validations = w.order_validations
                              and acme_key_id is null and deleted_at is null) is true for update) b),
    spent as (
      update external_bindings b
         set (acme_key_id, used_at) = (select account_id, spent_at from held where held.id = b.id limit 1),
             version = version + 1
       where id = any(array(select id from held))
      returning id, acme_key_id,
                case when not ${isChangeable}
                     then json_build_object('kind', 'external_binding', 'namespace', origin_namespace,
                                            'name', origin_name)::text end as told),
    claimed as (
      insert into used_keys (thumbprint, why, since, acme_key_id)
      select wanted.thumbprint, 'account', wanted.created_at, wanted.id
        from wanted
        join directory on directory.id = wanted.directory_id
        left join spent on spent.acme_key_id = wanted.id
       where wanted.external_binding_id is not distinct from spent.id
       order by wanted.thumbprint
      returning acme_key_id),
    made as (
      insert into acme_keys (state, ${columns})
      select 'valid', ${wantedColumns} from wanted join claimed on claimed.acme_key_id = wanted.id
      returning ${returnedColumns}),
    recorded as (${auditOfEach(sql`made`, asks.flatMap(recordsOf))})
    select ${madeColumns}, directory.slug,
           case when spent.told is not null then pg_notify('acmery_owned', spent.told) end as notified
      from made
      join directory on directory.id = made.directory_id
      left join spent on spent.id = made.external_binding_id`.execute(db);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ({ key }: Registration) => byId.get(key.id);
}

const givenOf = ({ owner, ...key }: NewAcmeKey) => ({
  ...key,
  origin_namespace: owner?.namespace,
  origin_name: owner?.name,
  origin_uid: owner?.uid,
  origin_generation: owner?.generation,
  contacts_declared: owner && key.contacts,
});

const recordsOf = ({ key, records }: Registration) => records.map((record) => ({ ...record, of: key.id }));
