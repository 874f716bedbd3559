// Statements on ocsp_signers: the keys and certificates that sign OCSP answers for each CA.
import type { Selectable } from 'kysely';
import type { Db, Tx } from './database.ts';
import type { Claim, DueRows } from './due.ts';
import { sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['ocsp_signers']>;
export type OcspSignerRow = Pick<Row, 'id' | 'signing_cert_id' | 'key_ref' | 'der' | 'not_after'>;

/** A signer and what its CA still is. */
export type OcspSignerState = OcspSignerRow & {
  /** Null: the key of the CA is not here, or no longer. */
  readonly issuer_key_ref: string | null;
  readonly issuer_not_after: Date;
};

export const ocspSigners: DueRows = {
  table: 'ocsp_signers',
  dueAt: 'due_at',
  leaseUntil: 'lease_until',
  attempts: 'attempts',
  where: sql`true`,
};

const COLUMNS = ['id', 'signing_cert_id', 'key_ref', 'der', 'not_after'] as const;

/** CA certs whose key is here, revoked ones too, without a signer that lives or is being made. */
export async function findCertsWithoutOcspSigner(db: Db, now: Date, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id from signing_certs s
     where s.deleted_at is null and ${hasUse(now)}
       and not exists (select from ocsp_signers o where o.signing_cert_id = s.id and (o.der is null or o.not_after > ${now}))
     order by s.id limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Says that a CA needs a signer, and wakes the worker. Nothing where one is planned already or lives beyond `after`, or
 * where the CA has no use for it.
 */
export const planOcspSigner = (
  db: Db,
  { id, signingCertId, now, after = now }: { id: string; signingCertId: string; now: Date; after?: Date },
) =>
  inTurn(db, signingCertId, (tx) =>
    sql`
    with planned as (
      insert into ocsp_signers (id, signing_cert_id, key_ref, due_at)
      select ${id}, s.id, ${id}, ${now} from signing_certs s
       where s.id = ${signingCertId} and (${hasUse(now)}) is true
         and not exists (select from ocsp_signers o where o.signing_cert_id = s.id and o.not_after > ${after})
      on conflict (signing_cert_id) where der is null do nothing
      returning id
    )
    select pg_notify('acmery_due', 'ocsp_signer') from planned`.execute(tx),
  );

/** Of their advisory locks. */
const CLASS = 6_960;

/** A statement that begins after this turn has seen what the one before has made. */
const inTurn = <Result>(db: Db, signingCertId: string, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${CLASS}::int, hashtext(${signingCertId}))`.execute(tx);
    return work(tx);
  });

/** The one that is still to be made. */
export const findPlannedOcspSigner = (db: Db, signingCertId: string): Promise<OcspSignerRow | undefined> =>
  db
    .selectFrom('ocsp_signers')
    .select(COLUMNS)
    .where('signing_cert_id', '=', signingCertId)
    .where('der', 'is', null)
    .executeTakeFirst();

/** The one that signs: of all that are made it ends last. */
export const findNewestOcspSigner = (db: Db, signingCertId: string): Promise<OcspSignerRow | undefined> =>
  db
    .selectFrom('ocsp_signers')
    .select(COLUMNS)
    .where('signing_cert_id', '=', signingCertId)
    .where('der', 'is not', null)
    .orderBy('not_after', 'desc')
    .limit(1)
    .executeTakeFirst();

export const findOcspSigner = (db: Db, id: string): Promise<OcspSignerRow | undefined> =>
  db.selectFrom('ocsp_signers').select(COLUMNS).where('id', '=', id).executeTakeFirst();

export async function findOcspSignerState(db: Db, id: string): Promise<OcspSignerState | undefined> {
  const { rows } = await sql<OcspSignerState>`
    select o.id, o.signing_cert_id, o.key_ref, o.der, o.not_after,
           s.key_ref as issuer_key_ref, s.not_after as issuer_not_after
      from ocsp_signers o join signing_certs s on s.id = o.signing_cert_id
     where o.id = ${id}`.execute(db);
  return rows[0];
}

/** The signer is made. False when somebody else has written that already. */
export async function completeOcspSigner(
  db: Db,
  { id, signing_cert_id }: Pick<OcspSignerRow, 'id' | 'signing_cert_id'>,
  made: { readonly der: Buffer; readonly not_after: Date; readonly due_at: Date },
): Promise<boolean> {
  const completed = await inTurn(db, signing_cert_id, (tx) =>
    tx
      .updateTable('ocsp_signers')
      .set({ ...made, lease_until: null })
      .where('id', '=', id)
      .where('der', 'is', null)
      .returning('id')
      .executeTakeFirst(),
  );
  return completed !== undefined;
}

/** The key is no longer in the key store. False when the lease was lost. */
export async function dropOcspSigner(db: Db, { id, attempt }: Claim): Promise<boolean> {
  const dropped = await db
    .deleteFrom('ocsp_signers')
    .where('id', '=', id)
    .where('attempts', '=', attempt)
    .returning('id')
    .executeTakeFirst();
  return dropped !== undefined;
}

/** Makes signers due whose CA has lost its key: they go, too. */
export const hurryUselessOcspSigners = (db: Db, now: Date) =>
  sql`
    with hurried as (
      update ocsp_signers o set due_at = ${now} from signing_certs s
       where s.id = o.signing_cert_id and s.key_ref is null and o.due_at > ${now}
      returning o.id
    )
    select pg_notify('acmery_due', 'ocsp_signer') from hurried limit 1`.execute(db);

const hasUse = (now: Date) =>
  sql`s.key_ref is not null and s.state <> 'pending' and s.not_before <= ${now} and s.not_after > ${now}`;
