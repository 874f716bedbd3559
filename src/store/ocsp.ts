// What OCSP says of certificates, read for every answer: many that are asked for at once are one round trip.
import { gatheredOn } from './gathered.ts';
import { sql } from './statement.ts';

export type OcspAsk = { readonly signingCertId: string; readonly serial: Buffer };

export type OcspStatusRow = {
  /** The CA exists and its key is here. */
  readonly has_key: boolean;
  /** What signs its answers: of all that are made the one that ends last, whether it has ended or not. */
  readonly signer_id: string | null;
  /** A leaf or a CA certificate below this CA has the serial number. */
  readonly is_issued: boolean;
  readonly revoked_at: Date | null;
  readonly reason: number | null;
};

/** Deleted CA certs of the serial number are still what they were; of several the revoked one counts. */
export const findOcspStatus = gatheredOn<OcspAsk, OcspStatusRow>(async (db, asks) => {
  const { rows } = await sql<OcspStatusRow>`
    select coalesce(issuer.has_key, false) as has_key,
           (select o.id from ocsp_signers o
             where o.signing_cert_id = asked.signing_cert_id and o.not_after is not null
             order by o.not_after desc limit 1) as signer_id,
           coalesce(leaf.is_issued, child.is_issued, false) as is_issued,
           coalesce(leaf.revoked_at, child.revoked_at) as revoked_at,
           coalesce(leaf.reason, child.reason) as reason
      from unnest(${asks.map(({ signingCertId }) => signingCertId)}::uuid[],
                  ${asks.map(({ serial }) => serial)}::bytea[]) with ordinality as asked (signing_cert_id, serial, place)
      -- Without its limit this is a join, and for a full batch the planner would rather read all CA certs.
      left join lateral (
        select s.key_ref is not null and s.state <> 'pending' as has_key from signing_certs s
         where s.id = asked.signing_cert_id limit 1) issuer on true
      left join lateral (
        select true as is_issued, c.revoked_at, c.reason from issued_certs c
         where c.serial = asked.serial and (c.signing_cert_id = asked.signing_cert_id) is true) leaf on true
      left join lateral (
        select true as is_issued, c.revoked_at, c.reason from signing_certs c
         where leaf.is_issued is null and c.parent_id = asked.signing_cert_id and c.serial = asked.serial
           and c.state <> 'pending'
         order by c.revoked_at nulls last limit 1) child on true
     order by asked.place`.execute(db);
  const byAsk = new Map(asks.map((ask, place) => [ask, rows[place]]));
  return (ask) => byAsk.get(ask) ?? unanswered();
});

function unanswered(): never {
  throw new Error('the statement has fewer rows than were asked for');
}
