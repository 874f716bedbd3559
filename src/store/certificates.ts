// Certificates as the accounts that ordered them download them: the leaf, and the CA certs that chains of it can be made of.
import { askedFor, type Held, type OwnAsk } from './acme-orders.ts';
import { answersIn, gatheredOn, gatheredRows } from './gathered.ts';
import { sql } from './statement.ts';

/** A CA cert that can stand in a chain. */
export type ChainLink = {
  readonly id: string;
  readonly parent_id: string | null;
  readonly is_root: boolean;
  /** Active and not deleted: may stand for another CA cert of the same name and key. */
  readonly is_offered: boolean;
};

export type DownloadRow = Held & {
  readonly id: string;
  readonly signing_cert_id: string;
  readonly not_after: Date;
  readonly der: Buffer;
  readonly links: readonly ChainLink[];
};

/**
 * With the CA certs above the leaf, and those that have the name and key of one of them. Undefined where the account has no
 * such certificate: nobody else learns that it is there. Many at once are one statement. Postgres takes the few that are
 * reached for very many, and would rather read all CA certs than find each by its id.
 */
export const findDownload = gatheredOn<OwnAsk, DownloadRow | undefined>(async (db, asks) => {
  const { rows } = await sql<DownloadRow & { readonly asked: number }>`
    with recursive found as materialized (
      select asked.position, c.id, c.acme_key_id, c.directory_id, c.signing_cert_id, c.not_after, c.der
        from ${askedFor(asks)} join issued_certs c on c.id = asked.id and (c.acme_key_id = asked.acme_key_id) is true),
    reached (issuer_id, id) as (
      select signing_cert_id, signing_cert_id from found
       union
      select r.issuer_id, next.id
        from reached r
             cross join lateral (
               select id, parent_id, ski, subject_der from signing_certs where id = r.id limit 1) s
             cross join lateral (
               select s.parent_id as id where s.parent_id is not null
                union all
               select t.id from signing_certs t
                where t.ski = s.ski
                  and (t.subject_der = s.subject_der and t.id <> s.id
                       and t.state = 'active' and t.deleted_at is null) is true) next),
    links as (
      select issuer_id, json_agg(json_build_object(
               'id', s.id, 'parent_id', s.parent_id, 'is_root', s.cert_type = 'root',
               'is_offered', s.state = 'active' and s.deleted_at is null) order by s.id) as list
        from reached r cross join lateral (select * from signing_certs where id = r.id and der is not null limit 1) s
       group by issuer_id)
    select f.position::integer as asked, f.id, f.acme_key_id, f.directory_id, f.signing_cert_id, f.not_after, f.der,
           links.list as links
      from found f join links on links.issuer_id = f.signing_cert_id`.execute(db);
  return answersIn(asks, rows);
});

export type CaCertificateRow = { readonly id: string; readonly der: Buffer | null };

export const findCaCertificate = gatheredRows<CaCertificateRow>((db, ids) =>
  db.selectFrom('signing_certs').select(['id', 'der']).where('id', '=', ids),
);
