// Private keys stay behind the key store: not a byte of one in the database, the log, the replies or the errors.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KeyStore } from '../../src/core/ports.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { toPem } from '../../src/x509/pem.ts';
import { pkcs8Of } from '../../src/x509/private-key.ts';
import { testApi } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { foreignCa } from '../support/foreign-ca.ts';

const PATH = '/v1/signing_certs';
const online = { key_availability: 'online', name: 'Corp' };
let api: Awaited<ReturnType<typeof testApi>>;
/** Everything that was put into the key store, or offered to it. */
const secrets: KeyObject[] = [];
const texts: string[] = [];

beforeAll(async () => {
  api = await testApi();
  const { createOnce } = api.ca.keys;
  const noting: Pick<KeyStore, 'createOnce'> = {
    createOnce: (ref, material) => {
      secrets.push(createPrivateKey({ key: material.pkcs8, format: 'der', type: 'pkcs8' }));
      return createOnce(ref, material);
    },
  };
  Object.assign(api.ca.keys, noting);
});
afterAll(() => api[Symbol.asyncDispose]());

const post = async (fields: object) => {
  const answer = await api.post(PATH, { signing_cert: fields });
  texts.push(answer.text);
  return answer;
};

test('not a byte of a private key leaves the key store', async () => {
  const root = (await post({ ...online, cert_type: 'root', private_key_type: 'ec_256' })).body;
  for (const [type, more] of [
    ['rsa_2048', { signing_cert_id: root.id }],
    ['ec_521', { signing_cert_id: root.id }],
    ['ec_384', {}],
  ] as const)
    expect((await post({ ...online, cert_type: 'intermediate', private_key_type: type, ...more })).status).toBe(201);

  const [rsa, other] = [await foreignCa({ keyType: 'rsa_2048' }), await foreignCa({ keyType: 'ec_384' })];
  secrets.push(rsa.key.key, other.key.key);
  const imported = { ...online, cert_type: 'root', public_cert: rsa.publicCert };
  const damaged = toPem('PRIVATE KEY', damage(pkcs8Of(rsa.key)));
  const refusedWith = [other.privateKey, damaged, `${rsa.privateKey}${rsa.privateKey}`, rsa.privateKey.slice(0, -30)];
  for (const private_key of refusedWith) expect((await post({ ...imported, private_key })).status).toBe(422);
  for (const fields of [
    { public_cert: rsa.privateKey },
    { name: rsa.privateKey },
    { subject: { CN: rsa.privateKey } },
    { key_availability: 'offline', private_key: rsa.privateKey },
    { private_keys: rsa.privateKey },
    { private_key: { pem: rsa.privateKey } },
  ])
    expect((await post({ ...imported, ...fields })).status).toBe(422);
  texts.push((await api.send('POST', PATH, `{"signing_cert": {"private_key": "${rsa.privateKey}`, json)).text);
  texts.push((await api.get(`${PATH}?after=${encodeURIComponent(rsa.privateKey.slice(0, 150))}`)).text);

  const { body } = await post({ ...imported, private_key: rsa.privateKey });
  expect((await post({ ...imported, private_key: rsa.privateKey })).body.code).toBe('duplicate_certificate');
  texts.push((await api.put(`${PATH}/${body.id}`, { signing_cert: { private_key: rsa.privateKey } })).text);
  texts.push((await api.get(`${PATH}/${body.id}`)).text, (await api.get(PATH)).text);
  texts.push((await api.get('/v1/audit_events?limit=200')).text);
  await api.delete(`${PATH}/${body.id}`);
  await using _ = startWorker(api.ca);
  await eventually('the key is gone', async () => (await api.ca.keys.read(String(body.id))) === undefined);

  const everything = [...texts, ...api.logLines, ...(await dump())].join('\n');
  // What is looked for would be found: the public halves are there.
  expect(formsOf(rsa.key.spki).some((form) => everything.includes(form))).toBe(true);
  expect(secrets.length).toBeGreaterThanOrEqual(7);
  for (const [index, secret] of secrets.entries())
    for (const form of secretsOf(secret).flatMap(formsOf))
      if (everything.includes(form)) expect.fail(`key ${index} stands somewhere as ${form.slice(0, 8)}...`);
});

const json = { headers: { 'Content-Type': 'application/json' } };

/** The numbers that only the owner of the key knows. */
function secretsOf(key: KeyObject): readonly Buffer[] {
  const { d, p, q } = key.export({ format: 'jwk' });
  return [d, p, q].filter((value) => value !== undefined).map((value) => Buffer.from(String(value), 'base64url'));
}

/** How bytes look in text: hex, base64 at each of its three alignments, raw. The ends may be joined to other bytes. */
function formsOf(bytes: Buffer): readonly string[] {
  const middle = bytes.subarray(3, 24);
  const aligned = [0, 1, 2].map((offset) => middle.subarray(offset, offset + 18).toString('base64'));
  return [
    middle.toString('hex'),
    middle.toString('hex').toUpperCase(),
    ...aligned,
    ...aligned.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    middle.toString('latin1'),
  ];
}

/** In the middle of a prime. */
function damage(der: Buffer): Buffer {
  const copy = Buffer.from(der);
  const place = Math.floor(der.length * 0.55);
  copy.writeUInt8(copy.readUInt8(place) ^ 0xff, place);
  return copy;
}

/** Every row of every table, as text. */
async function dump(): Promise<readonly string[]> {
  const { db } = api.ca.database;
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`.execute(db);
  const lines: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.raw(name)} t`.execute(db);
    lines.push(...rows.map(({ row }) => row));
  }
  expect(lines.length).toBeGreaterThan(10);
  return lines;
}
