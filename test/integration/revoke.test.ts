// Revoking issued certificates: the rows, the entries of their CRLs, blocked keys, records, and two at once.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { newUuid } from '../../src/core/ids.ts';
import { publishRevocations, revokeIssuedCerts } from '../../src/core/revoke.ts';
import type { RevocationReason } from '../../src/resources/revocation-reasons.ts';
import type { CertSelection } from '../../src/store/revocations.ts';
import { crlEntry } from '../../src/x509/crl.ts';
import { testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { admin } from '../support/given.ts';
import { exampleRows, insertRows, type Rows } from '../support/rows.ts';

/** An account with one live certificate, and more of it on request. */
async function given() {
  const { ca, ...running } = await testCa();
  const db = ca.database.db;
  const rows = exampleRows();
  await insertRows(db, rows, ['signing_certs', 'directories', 'acme_keys', 'issued_certs']);
  const another = async (different: Partial<Rows['issued_certs']> = {}) => {
    const id = newUuid(ca.clock.now());
    const own = { id, serial: Buffer.from(id), key_thumbprint: Buffer.from(`key ${id}`) };
    await db
      .insertInto('issued_certs')
      .values({ ...rows.issued_certs, ...own, ...different })
      .execute();
    return id;
  };
  const revoke = async (selection: CertSelection, reason: RevocationReason = 'superseded') => {
    const revoked = await ca.database.inTransaction((tx) =>
      revokeIssuedCerts(tx, admin, selection, reason, ca.clock.now()),
    );
    await publishRevocations(ca, revoked);
    return revoked;
  };
  return { ca, db, rows, id: rows.issued_certs.id, account: rows.acme_keys.id, another, revoke, ...running };
}

test('a revoked certificate has its entry, its CRL is due soon, and a record says who did it', async () => {
  await using world = await given();
  const { ca, db, rows, id, revoke } = world;
  const now = ca.clock.now();
  const issuer = rows.signing_certs.id;

  expect(await revoke({ id })).toEqual({ reason: 'superseded', ids: [id], signingCertIds: [issuer] });

  expect(await db.selectFrom('issued_certs').select(['state', 'revoked_at', 'reason']).execute()).toEqual([
    { state: 'revoked', revoked_at: now, reason: 4 },
  ]);
  expect(await db.selectFrom('revocations').selectAll().execute()).toEqual([
    {
      signing_cert_id: issuer,
      serial: rows.issued_certs.serial,
      revoked_at: now,
      changed_at: now,
      not_after: rows.issued_certs.not_after,
      entry: crlEntry(Buffer.from(`serial ${id}`), now, 'superseded'),
    },
  ]);
  expect(await db.selectFrom('crls').select(['signing_cert_id', 'dirty_since', 'due_at']).execute()).toEqual([
    { signing_cert_id: issuer, dirty_since: now, due_at: new Date(now.getTime() + 200) },
  ]);
  expect(
    await db.selectFrom('audit').select(['action', 'object_id', 'detail']).where('object_id', '=', id).execute(),
  ).toEqual([
    {
      action: 'revoke',
      object_id: id,
      detail: {
        before: { state: 'valid', revoke_reason: null },
        after: { state: 'revoked', revoke_reason: 'superseded' },
      },
    },
  ]);
});

test('all live certificates of an account are revoked, in batches; revoked, expired and foreign ones are left alone', async () => {
  await using world = await given();
  const { ca, db, rows, account, another, revoke } = world;
  await another({ not_after: ca.clock.now() });
  await another({ state: 'revoked', revoked_at: new Date(0), reason: 1 });
  const stranger = exampleRows();
  await insertRows(db, stranger, ['signing_certs', 'directories', 'acme_keys', 'issued_certs']);
  await sql`
    insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                              serial, key_thumbprint, subjects, der)
    select gen_random_uuid(), order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
           ('serial ' || n)::bytea, key_thumbprint, subjects, der
      from issued_certs, generate_series(1, 2500) n where id = ${rows.issued_certs.id}`.execute(db);

  const { ids } = await revoke({ acme_key_id: account });

  expect(new Set(ids).size).toBe(2501);
  const { rows: states } = await sql`
    select acme_key_id = ${account} as own, state, reason, count(*)::int from issued_certs group by 1, 2, 3 order by 1, 3`.execute(
    db,
  );
  expect(states).toEqual([
    { own: false, state: 'valid', reason: null, count: 1 },
    { own: true, state: 'revoked', reason: 1, count: 1 },
    { own: true, state: 'revoked', reason: 4, count: 2501 },
    { own: true, state: 'valid', reason: null, count: 1 },
  ]);
  expect(await db.selectFrom('revocations').select('serial').execute()).toHaveLength(2501);
  expect(await db.selectFrom('audit').select('id').where('action', '=', 'revoke').execute()).toHaveLength(2501);
});

test('REV-8: key_compromise blocks the keys, other reasons do not', async () => {
  await using world = await given();
  const { db, rows, account, id, another, revoke } = world;
  const shared = Buffer.from('one key for two');
  await db
    .insertInto('used_keys')
    .values({ ...rows.used_keys, thumbprint: shared, acme_key_id: account })
    .execute();
  await another({ key_thumbprint: shared });
  await another({ key_thumbprint: shared });

  await revoke({ id }, 'superseded');
  expect(await db.selectFrom('used_keys').select(['why', 'thumbprint']).execute()).toEqual([
    { why: 'account', thumbprint: shared },
  ]);
  await revoke({ acme_key_id: account }, 'key_compromise');
  expect(await db.selectFrom('used_keys').select(['why', 'thumbprint']).execute()).toEqual([
    { why: 'compromised', thumbprint: shared },
  ]);
});

test('of many who revoke one certificate at once exactly one does', async () => {
  await using world = await given();
  const { db, id, account, revoke } = world;
  const selections = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? { id } : { acme_key_id: account }));
  const revoked = await Promise.all(selections.map((selection) => revoke(selection)));
  expect(revoked.flatMap(({ ids }) => ids)).toEqual([id]);
  expect(await db.selectFrom('revocations').select('serial').execute()).toHaveLength(1);
});

test('a CRL that is due already becomes due no later, and stays dirty since the first time', async () => {
  await using world = await given();
  const { ca, db, id, another, revoke } = world;
  const first = ca.clock.now();
  await revoke({ id });
  ca.clock.advance(DAY_MS);
  await revoke({ id: await another({ not_after: new Date(first.getTime() + 9 * DAY_MS) }) });
  expect(await db.selectFrom('crls').select(['dirty_since', 'due_at']).execute()).toEqual([
    { dirty_since: first, due_at: new Date(first.getTime() + 200) },
  ]);
});

test('a CRL that cannot be marked does not undo what is committed', async () => {
  await using world = await given();
  const { db, id, revoke, logLines } = world;
  await sql`drop table crls`.execute(db);
  expect((await revoke({ id })).ids).toEqual([id]);
  expect(logLines.join('')).toContain('waits for the next sweep');
});
