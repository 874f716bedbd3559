// Certificates as the accounts that ordered them download them: the leaf, and the CA certs that chains of it can be made of.
import { sql } from 'kysely';
import { gatheredReads, gatheredRows } from './gathered.ts';

/** Whose certificate it is: nobody else learns that it is there. */
export type CertificateKey = { readonly id: string; readonly acme_key_id: string; readonly directory_id: string };

/** A CA cert that can stand in a chain. */
export type ChainLink = {
  readonly id: string;
  readonly parent_id: string | null;
  readonly is_root: boolean;
  /** Active and not deleted: may stand for another CA cert of the same name and key. */
  readonly is_offered: boolean;
};

export type DownloadRow = CertificateKey & {
  readonly signing_cert_id: string;
  readonly not_after: Date;
  readonly der: Buffer;
  readonly links: readonly ChainLink[];
};

export const certificateKey = ({ id, acme_key_id, directory_id }: CertificateKey): string =>
  [id, acme_key_id, directory_id].join(' ');

/** By certificateKey. With the CA certs above the leaf, and those that have the name and key of one of them. */
export const findDownload = gatheredReads<DownloadRow>(async (db, keys) => {
  const parts = keys.map((key) => key.split(' '));
  const column = (index: number): readonly (string | undefined)[] => parts.map((part) => part[index]);
  const { rows } = await sql<DownloadRow>`
    with recursive found as materialized (
      select c.id, c.acme_key_id, c.directory_id, c.signing_cert_id, c.not_after, c.der
        from unnest(${column(0)}::uuid[], ${column(1)}::uuid[], ${column(2)}::uuid[])
               as wanted (id, acme_key_id, directory_id)
        join issued_certs c on c.id = wanted.id and c.acme_key_id = wanted.acme_key_id
                           and c.directory_id = wanted.directory_id),
    reached (issuer_id, id) as (
      select signing_cert_id, signing_cert_id from found
       union
      select r.issuer_id, next.id
        from reached r join signing_certs s on s.id = r.id
             cross join lateral (
               select s.parent_id as id where s.parent_id is not null
                union all
               select t.id from signing_certs t
                where t.ski = s.ski and t.subject_der = s.subject_der and t.id <> s.id
                  and t.state = 'active' and t.deleted_at is null) next),
    links as (
      select issuer_id, json_agg(json_build_object(
               'id', s.id, 'parent_id', s.parent_id, 'is_root', s.cert_type = 'root',
               'is_offered', s.state = 'active' and s.deleted_at is null) order by s.id) as list
        from reached r join signing_certs s on s.id = r.id
       where s.der is not null
       group by issuer_id)
    select f.id, f.acme_key_id, f.directory_id, f.signing_cert_id, f.not_after, f.der, links.list as links
      from found f join links on links.issuer_id = f.signing_cert_id`.execute(db);
  return new Map(rows.map((row) => [certificateKey(row), row]));
});

export type CaCertificateRow = { readonly id: string; readonly der: Buffer | null };

export const findCaCertificate = gatheredRows<CaCertificateRow>((db, ids) =>
  db.selectFrom('signing_certs').select(['id', 'der']).where('id', '=', ids).execute(),
);
