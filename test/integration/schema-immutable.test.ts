// What the database refuses to change, whoever asks.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { exampleRows, insertRows, now } from '../support/rows.ts';
import { columnsOf, tablesSource } from '../support/tables-source.ts';

const rows = exampleRows();
let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await testDatabase();
  db = database.db.db;
  await insertRows(db, rows);
});
afterAll(() => database[Symbol.asyncDispose]());

const fixed = columnsOf(tablesSource()).filter((column) => column.fixed);

test.each(fixed)('$column of $table is never updated', async ({ table, column }) => {
  const update = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.ref(column)}`.execute(db);
  // The message names a partition of audit by its own name.
  await expect(update).rejects.toMatchObject({
    code: '23001',
    constraint: table === 'audit' ? 'audit_append_only' : `${table}_immutable`,
  });
});

test('an audit record cannot be deleted', async () => {
  const attempt = db.deleteFrom('audit').where('id', '=', rows.audit.id).execute();
  await expect(attempt).rejects.toMatchObject({ constraint: 'audit_append_only' });
});

test('a used key is known for ever, and what is known of it only gets worse', async () => {
  const worsen = (why: 'account' | 'invalidated' | 'compromised') => db.updateTable('used_keys').set({ why }).execute();
  await worsen('invalidated');
  await worsen('invalidated');
  await expect(worsen('account')).rejects.toMatchObject({ constraint: 'used_keys_why_only_worsens' });
  await worsen('compromised');
  await expect(worsen('invalidated')).rejects.toMatchObject({ constraint: 'used_keys_why_only_worsens' });
  await expect(db.deleteFrom('used_keys').execute()).rejects.toMatchObject({ constraint: 'used_keys_never_deleted' });
});

test('an unused EAB token may be renamed, a used one may not', async () => {
  const rename = (name: string) => db.updateTable('external_bindings').set({ name }).execute();
  await rename('before');
  await db.updateTable('external_bindings').set({ acme_key_id: rows.acme_keys.id, used_at: now }).execute();
  await expect(rename('after')).rejects.toMatchObject({ constraint: 'external_bindings_used_fixed' });
  await db.updateTable('external_bindings').set({ deleted_at: now }).execute();
});

test('the certificate of an OCSP signer is set once', async () => {
  const { ocsp_signers: other } = exampleRows();
  const planned = { ...other, signing_cert_id: rows.signing_certs.id, der: null, not_after: null };
  await db.insertInto('ocsp_signers').values(planned).execute();
  const make = () =>
    db
      .updateTable('ocsp_signers')
      .set({ der: Buffer.from('made'), not_after: now })
      .where('id', '=', other.id)
      .execute();
  await make();
  await expect(make()).rejects.toMatchObject({ constraint: 'ocsp_signers_certificate_fixed' });
});

test('the certificate and the CSR of a CA are set once', async () => {
  const other = exampleRows();
  const nothing = { der: null, subject_der: null, ski: null, serial: null, not_before: null, not_after: null };
  const pending = { ...other.signing_certs, ...nothing, state: 'pending' as const };
  await insertRows(db, { ...other, signing_certs: pending }, ['signing_certs']);
  const change = (set: { csr?: Buffer; der?: Buffer; key_type?: 'ec_256'; name?: string }) =>
    db.updateTable('signing_certs').set(set).where('id', '=', other.signing_certs.id).execute();
  await change({ csr: Buffer.from('csr') });
  await expect(change({ csr: Buffer.from('other') })).rejects.toMatchObject({ constraint: 'signing_certs_csr_fixed' });
  await change({ key_type: 'ec_256' });
  await change({ der: Buffer.from(`der ${other.signing_certs.id}`) });
  const refusal = { constraint: 'signing_certs_certificate_fixed' };
  await expect(change({ der: Buffer.from('other') })).rejects.toMatchObject(refusal);
  await expect(change({ key_type: 'ec_256' })).rejects.toMatchObject(refusal);
  await change({ name: 'renamed' });
});

test('CHA-10: the result of a challenge is written once', async () => {
  const respond = { key_authorization: 'a', account_url: 'b', due_at: now };
  await db
    .updateTable('challenges')
    .set({ state: 'processing', ...respond })
    .execute();
  await db.updateTable('challenges').set({ attempts: 2 }).execute();
  await db.updateTable('challenges').set({ state: 'valid', validated_at: now }).execute();
  const late = db.updateTable('challenges').set({ state: 'invalid', validated_at: null }).execute();
  await expect(late).rejects.toMatchObject({ constraint: 'challenges_result_fixed' });
});

test('the number of a CRL only grows, up to the 20 octets that it may have', async () => {
  const made = { this_update: now, next_update: now, sha256: Buffer.from('sum'), der: Buffer.from('crl') };
  const number = (value: bigint) =>
    db
      .updateTable('crls')
      .set({ number: String(value), ...made })
      .execute();
  await number(7n);
  await expect(number(7n)).rejects.toMatchObject({ constraint: 'crls_number_grows' });
  const largest = 2n ** 160n - 1n;
  await number(largest);
  expect(await db.selectFrom('crls').select('number').execute()).toEqual([{ number: String(largest) }]);
});

test('there is one nonce key', async () => {
  const second = db
    .insertInto('nonce_keys')
    .values({ kid: 'second', key: Buffer.from('key') })
    .execute();
  await expect(second).rejects.toMatchObject({ constraint: 'nonce_keys_pkey' });
  const marked = db
    .insertInto('nonce_keys')
    .values({ singleton: false, kid: 'k', key: Buffer.from('key') })
    .execute();
  await expect(marked).rejects.toMatchObject({ constraint: 'nonce_keys_one_row_check' });
});
