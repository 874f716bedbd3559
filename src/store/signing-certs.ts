// Statements on signing_certs. Rows without certificate and CSR are in the making and hidden from every read by callers.
import { hash } from 'node:crypto';
import { type Insertable, type RawBuilder, type Selectable, type SqlBool, sql, type Updateable } from 'kysely';
import type { Db, Tx } from './database.ts';
import { type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import { moveSigningCert } from './move.ts';
import { type DeclaredAs, isDeclaredAs, isOwnedAs, ownedColumns } from './origin.ts';
import { type SigningCertUsers, signingCertUsers } from './signing-cert-users.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['signing_certs']>;
export type SigningCertRow = Pick<Row, (typeof COLUMNS)[number]>;
export type NewSigningCert = Omit<Insertable<Tables['signing_certs']>, 'deleted_at' | 'version'>;

/** What is written when a certificate takes its place in its row. */
export type SigningCertCertificate = Pick<
  Row,
  'path_length' | 'der' | 'subject_der' | 'ski' | 'serial' | 'not_before' | 'not_after'
> & { readonly subject: string; readonly name_constraints: string | null };

/** What changes of a row whose certificate stays. */
export type SigningCertChanges = Pick<
  Updateable<Tables['signing_certs']>,
  'name' | 'origin' | 'origin_namespace' | 'origin_name' | 'origin_uid' | 'origin_generation' | 'orphaned_at'
>;

/** With what was asked for when it was made, and those in the making too. */
export type DeclaredSigningCertRow = SigningCertRow & Pick<Row, 'valid_days'>;

/** A CA cert in a chain. */
export type ChainRow = Pick<Row, 'id' | 'name' | 'cert_type' | 'state' | 'path_length' | 'name_constraints' | 'der'>;

export type SigningCertFilter = {
  readonly certType?: Row['cert_type'] | undefined;
  readonly parentId?: string | undefined;
};

/** One that is still in the making. */
export type UnfinishedSigningCert = Pick<Row, 'id' | 'subject' | 'parent_id'>;

/** The task that removes keys of deleted CA certs, as worker/tasks.ts names it. */
const REMOVED_KEYS = 'signing_cert_keys';

/** Longer than any that can be made: a parent exists before its child. */
export const LONGEST_CHAIN = 20;

const COLUMNS = [
  ...ownedColumns,
  'state',
  'name',
  'cert_type',
  'key_availability',
  'key_type',
  'parent_id',
  'path_length',
  'subject',
  'name_constraints',
  'csr',
  'der',
  'not_before',
  'not_after',
  'key_ref',
  'revoked_at',
  'reason',
] as const;

/** Those that callers see, for lists. */
export const isShownSigningCert = sql<SqlBool>`signing_certs.deleted_at is null and (signing_certs.state <> 'pending' or signing_certs.csr is not null)`;

/** The same of one that is found by its key. */
export const isFoundToBeShown = sql<SqlBool>`(${isShownSigningCert}) is true`;

export const findSigningCert = (
  db: Db,
  id: string,
  now: Date,
): Promise<(SigningCertRow & SigningCertUsers) | undefined> =>
  db
    .selectFrom('signing_certs')
    .select(COLUMNS)
    .select(signingCertUsers(now))
    .where('id', '=', id)
    .where(isFoundToBeShown)
    .executeTakeFirst();

/** That of a custom resource, else the one that it is to take over; those in the making too. */
export const findDeclaredSigningCert = (db: Db, declared: DeclaredAs): Promise<DeclaredSigningCertRow | undefined> =>
  db
    .selectFrom('signing_certs')
    .select([...COLUMNS, 'valid_days'])
    .where(isDeclaredAs('signing_certs', declared))
    .orderBy(sql`id = ${declared.adopt ?? null}::uuid`)
    .limit(1)
    .executeTakeFirst();

/** The one that holds this certificate. */
export const findSigningCertByDer = (tx: Tx, der: Buffer): Promise<SigningCertRow | undefined> =>
  tx
    .selectFrom('signing_certs')
    .select(COLUMNS)
    .where(sql<SqlBool>`sha256(der) = ${hash('sha256', der, 'buffer')}::bytea`)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();

export function listSigningCertRows(
  db: Db,
  { certType, parentId }: SigningCertFilter,
  page: PageRequest,
): Promise<PageOfRows<SigningCertRow> | undefined> {
  const all = db.selectFrom('signing_certs').select(COLUMNS).where(isShownSigningCert);
  if (parentId !== undefined) {
    // Whoever has a parent is an intermediate.
    const query = certType === 'root' ? all.where(sql<SqlBool>`false`) : all;
    return readPage(db, query, { table: 'signing_certs', within: { parent_id: parentId }, columns: ['id'] }, page);
  }
  const within = certType === undefined ? {} : { cert_type: certType };
  return readPage(db, all, { table: 'signing_certs', within, columns: ['id'] }, page);
}

/** For who is about to refer to it: it cannot be deleted before the transaction ends. */
export const shareSigningCert = (tx: Tx, id: string): Promise<SigningCertRow | undefined> =>
  tx
    .selectFrom('signing_certs')
    .select(COLUMNS)
    .where('id', '=', id)
    .where(isFoundToBeShown)
    .forShare()
    .executeTakeFirst();

/** For who is about to change it, before anything that depends on it is looked at. */
export const lockSigningCert = (tx: Tx, id: string): Promise<SigningCertRow | undefined> =>
  tx
    .selectFrom('signing_certs')
    .select(COLUMNS)
    .where('id', '=', id)
    .where(isFoundToBeShown)
    .forUpdate()
    .executeTakeFirst();

/** Those whose certificate has this subject, the one that is of most use first. */
export const findSigningCertsBySubject = (
  tx: Tx,
  subjectDer: Buffer,
): Promise<readonly Pick<SigningCertRow, 'id' | 'der'>[]> =>
  tx
    .selectFrom('signing_certs')
    .select(['id', 'der'])
    .where(sql<SqlBool>`sha256(subject_der) = ${hash('sha256', subjectDer, 'buffer')}::bytea`)
    .where('deleted_at', 'is', null)
    .orderBy(sql`state = 'active'`, 'desc')
    .orderBy('not_after', 'desc')
    .execute();

export const insertSigningCert = (tx: Tx, row: NewSigningCert): Promise<SigningCertRow> =>
  tx.insertInto('signing_certs').values(row).returning(COLUMNS).executeTakeFirstOrThrow();

/** The row gets its certificate. Undefined when it is no longer pending. */
export const activateSigningCert = (
  tx: Tx,
  id: string,
  certificate: SigningCertCertificate & { parent_id?: string | null; name?: string; version?: number },
): Promise<SigningCertRow | undefined> => moveSigningCert(tx, id, 'active', { set: certificate, returning: COLUMNS });

/** Of a locked row. Undefined where it is not active. */
export const markSigningCertRevoked = (
  tx: Tx,
  { id, version }: Pick<SigningCertRow, 'id' | 'version'>,
  { reason, now }: { readonly reason: number; readonly now: Date },
): Promise<SigningCertRow | undefined> =>
  moveSigningCert(tx, id, 'revoked', { set: { revoked_at: now, reason, version: version + 1 }, returning: COLUMNS });

/** Undefined when the row is no longer as it was seen. */
export const changeSigningCert = (
  tx: Tx,
  seen: Pick<SigningCertRow, 'id' | 'version' | 'origin' | 'origin_uid'>,
  changes: SigningCertChanges,
): Promise<SigningCertRow | undefined> =>
  tx
    .updateTable('signing_certs')
    .set({ ...changes, version: seen.version + 1 })
    .where('id', '=', seen.id)
    .where(sql<SqlBool>`(version = ${seen.version} and deleted_at is null and ${isOwnedAs(seen)}) is true`)
    .returning(COLUMNS)
    .executeTakeFirst();

/** The row stays; its key is due for removal. To be called under lockSigningCert. */
export const markSigningCertDeleted = (tx: Tx, id: string, now: Date) =>
  sql`
    with deleted as (
      update signing_certs
         set deleted_at = ${now}, version = version + 1, key_due_at = case when key_ref is not null then ${now}::timestamptz end
       where id = ${id} and (deleted_at is null) is true
      returning id
    )
    select pg_notify('acmery_due', ${REMOVED_KEYS}) from deleted`.execute(tx);

/** The row waits for a certificate from elsewhere, from now on for everybody to see. */
export const setSigningCertCsr = (tx: Tx, id: string, csr: Buffer): Promise<SigningCertRow | undefined> =>
  tx
    .updateTable('signing_certs')
    .set({ csr })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('csr', 'is', null)
    .returning(COLUMNS)
    .executeTakeFirst();

/** Nobody has seen such a row and nothing refers to it, so nothing of it is kept. */
export const dropPendingSigningCert = (db: Db, id: string): Promise<{ id: string } | undefined> =>
  db
    .deleteFrom('signing_certs')
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('csr', 'is', null)
    .returning('id')
    .executeTakeFirst();

/** Rows of /v1 that are still in the making although they were begun before this time. */
export const findUnfinishedSigningCerts = (db: Db, before: Date): Promise<readonly UnfinishedSigningCert[]> =>
  db
    .selectFrom('signing_certs')
    .select(['id', 'subject', 'parent_id'])
    .where('state', '=', 'pending')
    .where('csr', 'is', null)
    .where('origin', '=', 'api')
    .where('deleted_at', 'is', null)
    .where('created_at', '<', before)
    .orderBy('id')
    .execute();

/** In whatever state. */
export async function hasSigningCert(db: Db, id: string): Promise<boolean> {
  return (await db.selectFrom('signing_certs').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

/** The CA cert itself, its parent, and so on up; deleted ones too, because certificates below them live on. */
export async function findChain(db: Db, id: string): Promise<readonly ChainRow[]> {
  const { rows } = await sql<ChainRow>`
    ${chainFrom(sql`${id}`)}
    select id, name, cert_type, state, path_length, name_constraints, der from chain order by depth`.execute(db);
  return rows;
}

/** The same, each held as it is until the transaction ends. */
export async function shareChain(tx: Tx, id: string): Promise<readonly ChainRow[]> {
  const seen = await findChain(tx, id);
  const ids = seen.map((row) => row.id);
  // A later statement: it sees what was committed while it waited.
  const { rows } = await sql<ChainRow>`
    select id, name, cert_type, state, path_length, name_constraints, der from signing_certs
     where id = any(${ids}::uuid[]) order by array_position(${ids}::uuid[], id) for share`.execute(tx);
  return rows;
}

const chainFrom = (id: RawBuilder<unknown>) => sql`
  with recursive chain as (
    select id, parent_id, name, cert_type, state, path_length, name_constraints, der, 0 as depth
      from signing_certs where id = ${id}
     union all
    select p.id, p.parent_id, p.name, p.cert_type, p.state, p.path_length, p.name_constraints, p.der, depth + 1
      from chain join signing_certs p on p.id = chain.parent_id
     where depth < ${LONGEST_CHAIN}
  )`;
