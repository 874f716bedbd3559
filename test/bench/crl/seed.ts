// Many revocations of one CA, as they are after years.
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../../../src/store/database.ts';
import { crlEntry } from '../../../src/x509/crl.ts';

const DAY_MS = 86_400_000;

export async function seedRevocations(db: Db, signingCertId: string, count: number): Promise<void> {
  const revokedAt = new Date(Date.now() - DAY_MS);
  const notAfter = new Date(Date.now() + 90 * DAY_MS);
  const serial = Buffer.concat([Buffer.of(1), randomBytes(15)]);
  const entry = crlEntry(serial, revokedAt, 'keyCompromise');
  const at = entry.indexOf(serial);
  const [before, after] = [entry.subarray(0, at), entry.subarray(at + serial.length)];
  await sql`
    insert into revocations (signing_cert_id, serial, revoked_at, changed_at, not_after, entry)
    select ${signingCertId}, serial, ${revokedAt}, ${revokedAt}, ${notAfter}, ${before}::bytea || serial || ${after}::bytea
      from (select '\\x01'::bytea || substring(sha256(int8send(number)) from 1 for 15) as serial
              from generate_series(1, ${count}::bigint) as number) made`.execute(db);
  await sql`vacuum analyze revocations`.execute(db);
  await sql`checkpoint`.execute(db);
}
