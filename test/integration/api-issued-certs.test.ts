// /v1/issued_certs: every line of the interface about issued certs, over real HTTP, with certificates that a CA signed.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiToken } from '../../src/core/api-tokens.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { revocationReasons } from '../../src/resources/revocation-reasons.ts';
import { formatSeconds } from '../../src/schema/timestamp.ts';
import { testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { admin } from '../support/given.ts';
import { type GivenCert, givenIssuedCert } from '../support/given-issued-cert.ts';
import { type GivenAccount, givenAccount } from '../support/given-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

const run = promisify(execFile);

let api: Awaited<ReturnType<typeof testApi>>;
let issuing: { readonly id: string };
let account: GivenAccount;
beforeAll(async () => {
  api = await testApi();
  issuing = await givenIntermediate(api.ca, { parent: await givenRoot(api.ca) });
});
beforeEach(async () => {
  account = await givenAccount(api.ca, issuing);
});
afterAll(() => api[Symbol.asyncDispose]());

const pathOf = ({ id }: { readonly id: string }) => `/v1/issued_certs/${formatId('icrt', id)}`;
const byDirectory = () => `/v1/issued_certs?directory_id=${formatId('dir', account.directoryId)}`;
const ids = (answer: { body: { collection: { id: string }[] } }) => answer.body.collection.map(({ id }) => id);
const idsOf = (...certs: readonly GivenCert[]) => certs.map(({ id }) => formatId('icrt', id));
const nextOf = ({ headers }: { readonly headers: Headers }) =>
  /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

describe('one issued cert', () => {
  test('is shown with every field, its certificate and the intermediates above it', async () => {
    const names = ['shop.corp.example', '*.shop.corp.example', '10.1.2.3', 'fd00::1'];
    const cert = await givenIssuedCert(api.ca, account, { names });
    const { status, body } = await api.get(pathOf(cert), { as: 'read' });
    expect(status).toBe(200);
    const { public_cert, cert_chain, ...fields } = body;
    expect(fields).toEqual({
      id: formatId('icrt', cert.id),
      object: 'issued_cert',
      acme_key_id: formatId('acmk', account.acmeKeyId),
      directory_id: formatId('dir', account.directoryId),
      order_id: formatId('ordr', cert.orderId),
      signing_cert_id: formatId('scrt', issuing.id),
      expires_at: formatSeconds(cert.expiresAt),
      state: 'valid',
      revoke_reason: null,
      subjects: names,
    });
    expect(new X509Certificate(public_cert).raw).toEqual(cert.der);
    expect(cert_chain).toHaveLength(1);
    expect(new X509Certificate(public_cert).checkIssued(new X509Certificate(cert_chain[0]))).toBe(true);
  });

  test('is expired from the second of its end on, and once revoked stays revoked', async () => {
    const [left, revoked] = [
      await givenIssuedCert(api.ca, account, { validForDays: 1 }),
      await givenIssuedCert(api.ca, account, { validForDays: 1 }),
    ];
    await api.delete(pathOf(revoked));
    api.ca.clock.advance(DAY_MS - 1001);
    expect((await api.get(pathOf(left))).body.state).toBe('valid');
    api.ca.clock.advance(1);
    expect((await api.get(pathOf(left))).body.state).toBe('expired');
    expect((await api.get(pathOf(revoked))).body.state).toBe('revoked');
  });

  test('still shows its chain when the CA certs above it are deleted', async () => {
    const parent = await givenRoot(api.ca, { name: 'Old Root' });
    const gone = await givenIntermediate(api.ca, { name: 'Old Issuing', parent });
    const cert = await givenIssuedCert(api.ca, await givenAccount(api.ca, gone));
    await api.ca.database.db.updateTable('signing_certs').set({ deleted_at: api.ca.clock.now() }).execute();
    const { body } = await api.get(pathOf(cert));
    await api.ca.database.db.updateTable('signing_certs').set({ deleted_at: null }).execute();
    expect(body.cert_chain).toHaveLength(1);
  });

  test.each([
    ['of nothing', () => formatId('icrt', newUuid(new Date()))],
    ['of another kind', () => formatId('ordr', newUuid(new Date()))],
    ['that is none', () => "icrt_'; drop table issued_certs; --"],
  ])('with an id %s is not found', async (_, id) => {
    const path = `/v1/issued_certs/${encodeURIComponent(id())}`;
    for (const { status, body } of [await api.get(path), await api.delete(path), await api.get(`${path}/download`)])
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' });
  });
});

describe('the list', () => {
  test('asks for one of three ids', async () => {
    for (const query of ['', '?state=valid', '?serial=01', '?acme_key_id=']) {
      const { status, body } = await api.get(`/v1/issued_certs${query}`);
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_query' });
    }
    const { body } = await api.get('/v1/issued_certs');
    expect(body.errors).toEqual([
      expect.objectContaining({
        field: 'acme_key_id',
        message: expect.stringContaining('directory_id, signing_cert_id'),
      }),
    ]);
  });

  test('shows the newest first, without certificates', async () => {
    const [first, second] = [await givenIssuedCert(api.ca, account), await givenIssuedCert(api.ca, account)];
    const answer = await api.get(byDirectory(), { as: 'read' });
    expect(ids(answer)).toEqual(idsOf(second, first).sort().toReversed());
    expect(Object.keys(answer.body.collection[0])).toEqual([
      'id',
      'object',
      'acme_key_id',
      'directory_id',
      'order_id',
      'signing_cert_id',
      'expires_at',
      'state',
      'revoke_reason',
      'subjects',
    ]);
    expect(ids(await api.get(`${byDirectory()}&direction=asc`))).toEqual(ids(answer).toReversed());
  });

  test('filters by each id, and by several together', async () => {
    const other = await givenAccount(api.ca, issuing, account.directoryId);
    const former = await givenIntermediate(api.ca, { name: 'Former' });
    const own = await givenIssuedCert(api.ca, account);
    api.ca.clock.advance(1);
    const neighbour = await givenIssuedCert(api.ca, other);
    api.ca.clock.advance(1);
    const earlier = await givenIssuedCert(api.ca, account, { signingCertId: former.id });
    const stranger = await givenAccount(api.ca, issuing);
    await givenIssuedCert(api.ca, stranger);

    const [key, directory, signer] = [
      `acme_key_id=${formatId('acmk', account.acmeKeyId)}`,
      `directory_id=${formatId('dir', account.directoryId)}`,
      `signing_cert_id=${formatId('scrt', former.id)}`,
    ];
    const listed = async (...filters: readonly string[]) => ids(await api.get(`/v1/issued_certs?${filters.join('&')}`));
    expect(await listed(key)).toEqual(idsOf(earlier, own));
    expect(await listed(directory)).toEqual(idsOf(earlier, neighbour, own));
    expect(await listed(signer)).toEqual(idsOf(earlier));
    expect(await listed(key, directory)).toEqual(idsOf(earlier, own));
    expect(await listed(key, signer)).toEqual(idsOf(earlier));
    expect(await listed(directory, signer)).toEqual(idsOf(earlier));
    expect(await listed(key, directory, signer)).toEqual(idsOf(earlier));
    expect(await listed(`directory_id=${formatId('dir', stranger.directoryId)}`, key)).toEqual([]);
    expect(await listed(`signing_cert_id=${formatId('scrt', newUuid(new Date()))}`)).toEqual([]);
  });

  test('filters by state, and orders what is filtered by expiry', async () => {
    const long = await givenIssuedCert(api.ca, account, { validForDays: 30 });
    api.ca.clock.advance(1000);
    const [short, shorter] = [
      await givenIssuedCert(api.ca, account, { validForDays: 3 }),
      await givenIssuedCert(api.ca, account, { validForDays: 2 }),
    ];
    const [middle, revoked] = [
      await givenIssuedCert(api.ca, account, { validForDays: 20 }),
      await givenIssuedCert(api.ca, account, { validForDays: 25 }),
    ];
    await api.delete(pathOf(revoked));
    api.ca.clock.advance(5 * DAY_MS);
    const listed = async (query: string) => ids(await api.get(`${byDirectory()}&${query}`));

    expect(await listed('state=valid')).toEqual(idsOf(long, middle));
    expect(await listed('state=valid&direction=asc')).toEqual(idsOf(middle, long));
    expect(await listed('state=expired')).toEqual(idsOf(short, shorter));
    expect(await listed('state=revoked')).toEqual(idsOf(revoked));
    const [inTen, inTwentyTwo] = [10, 22].map((days) =>
      formatSeconds(new Date(api.ca.clock.now().getTime() + days * DAY_MS)),
    );
    expect(await listed(`expires_after=${inTen}`)).toEqual(idsOf(long, revoked, middle));
    expect(await listed(`expires_after=${inTen}&expires_before=${inTwentyTwo}`)).toEqual(idsOf(revoked, middle));
    expect(await listed(`state=valid&expires_before=${inTwentyTwo}&direction=asc`)).toEqual(idsOf(middle));
    expect(await listed(`state=expired&expires_after=${inTen}`)).toEqual([]);
    expect(await listed(`state=revoked&expires_before=${inTen}`)).toEqual([]);
    expect(await listed(`expires_after=${inTwentyTwo}&expires_before=${inTen}`)).toEqual([]);
  });

  test('excludes both ends of expires_*', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const end = formatSeconds(cert.expiresAt);
    const [before, after] = [-1000, 1000].map((ms) => formatSeconds(new Date(cert.expiresAt.getTime() + ms)));
    const count = async (query: string) => ids(await api.get(`${byDirectory()}&${query}`)).length;
    expect(await count(`expires_after=${end}`)).toBe(0);
    expect(await count(`expires_before=${end}`)).toBe(0);
    expect(await count(`expires_after=${before}&expires_before=${after}`)).toBe(1);
  });

  test('filters by an exact name or address in any spelling', async () => {
    const cert = await givenIssuedCert(api.ca, account, { names: ['shop.corp.example', '*.corp.example', 'fd00::1'] });
    await givenIssuedCert(api.ca, account, { names: ['other.corp.example'] });
    await givenIssuedCert(api.ca, await givenAccount(api.ca, issuing), { names: ['shop.corp.example'] });
    const listed = async (subject: string, more = '') =>
      ids(await api.get(`${byDirectory()}&subject=${encodeURIComponent(subject)}${more}`));
    for (const same of ['shop.corp.example', 'SHOP.Corp.Example', '*.corp.example', 'fd00::1', 'FD00:0::0:1'])
      expect([same, await listed(same)]).toEqual([same, idsOf(cert)]);
    for (const other of ['corp.example', 'a.corp.example', 'fd00::2'])
      expect([other, await listed(other)]).toEqual([other, []]);
    expect(await listed('shop.corp.example', '&state=valid')).toEqual(idsOf(cert));
    expect(await listed('shop.corp.example', '&state=expired')).toEqual([]);
    expect(await listed('shop.corp.example', '&state=revoked')).toEqual([]);
  });

  test('refuses a subject that no certificate can have, and says what to write', async () => {
    const { status, body } = await api.get(`${byDirectory()}&subject=${encodeURIComponent('münchen.example')}`);
    expect(status).toBe(400);
    expect(body.errors).toEqual([
      { field: 'subject', code: 'bad_subject', message: expect.stringContaining('xn--mnchen-3ya.example') },
    ]);
  });

  test('filters by serial number in any spelling', async () => {
    const cert = await givenIssuedCert(api.ca, account, { serial: Buffer.from('0abcdef1', 'hex') });
    const listed = async (serial: string, more = '') => ids(await api.get(`${byDirectory()}&serial=${serial}${more}`));
    for (const same of ['0abcdef1', 'ABCDEF1', '000abcdef1', '0a:bc:de:f1', '00:0A:BC:DE:F1'])
      expect([same, await listed(same)]).toEqual([same, idsOf(cert)]);
    expect(await listed('0abcdef2')).toEqual([]);
    expect(await listed('0')).toEqual([]);
    expect(await listed('0abcdef1', '&subject=shop.corp.example')).toEqual(idsOf(cert));
    expect(await listed('0abcdef1', '&subject=other.corp.example')).toEqual([]);
    for (const bad of ['xyz', '0x01', ':01', '1::2', ''])
      expect((await api.get(`${byDirectory()}&serial=${bad}`)).body.errors).toMatchObject([{ field: 'serial' }]);
  });

  test.each(['state=gone', 'direction=up', 'limit=0', 'expires_before=tomorrow', 'sort=name', 'after=', 'reason=1'])(
    'refuses %s, naming the parameter',
    async (query) => {
      const { status, body } = await api.get(`${byDirectory()}&${query}`);
      expect({ status, field: body.errors[0].field }).toEqual({ status: 400, field: query.split('=')[0] });
    },
  );

  test.each([
    ['by id', '', 'desc'],
    ['by id', '', 'asc'],
    ['by expiry', '&state=valid', 'desc'],
    ['by expiry', '&state=valid', 'asc'],
    ['revoked and not, by expiry', '&expires_after=2026-01-01T00:00:00Z', 'desc'],
    ['revoked and not, by expiry', '&expires_after=2026-01-01T00:00:00Z', 'asc'],
    ['of one name', '&subject=shop.corp.example', 'desc'],
    ['of one name, by expiry', '&subject=shop.corp.example&state=valid', 'asc'],
    ['of one CA', '&signing_cert_id=CA', 'desc'],
  ])('pages %s%s %s: every item once, and in order', async (_, filter, direction) => {
    for (let count = 0; count < 7; count++) {
      // Three of them end in the same second.
      const cert = await givenIssuedCert(api.ca, account, { validForDays: 10 + Math.floor(count / 3) });
      if (filter.includes('expires') && count % 3 === 1) await api.delete(pathOf(cert));
    }
    const query = `${byDirectory()}${filter.replace('CA', formatId('scrt', issuing.id))}&direction=${direction}`;
    const whole = await api.get(query);
    expect(ids(whole)).toHaveLength(7);
    const seen: string[] = [];
    for (let next: string | undefined = `${query}&limit=2`; next !== undefined; ) {
      const page = await api.get(next);
      seen.push(...ids(page));
      expect(ids(page).length).toBeLessThanOrEqual(2);
      next = nextOf(page);
    }
    expect(seen).toEqual(ids(whole));
  });

  test('goes on where it was when others come meanwhile', async () => {
    const [first, second] = [await givenIssuedCert(api.ca, account), await givenIssuedCert(api.ca, account)].sort(
      (a, b) => (a.id < b.id ? -1 : 1),
    );
    if (first === undefined || second === undefined) return expect.unreachable();
    const page = await api.get(`${byDirectory()}&limit=1`);
    api.ca.clock.advance(1);
    await givenIssuedCert(api.ca, account);
    expect(ids(page)).toEqual(idsOf(second));
    expect(ids(await api.get(nextOf(page) ?? ''))).toEqual(idsOf(first));
  });

  test('goes on after a cert that the filter has lost meanwhile', async () => {
    const certs: GivenCert[] = [];
    for (let count = 0; count < 3; count++)
      certs.push(await givenIssuedCert(api.ca, account, { validForDays: 10 + count }));
    const page = await api.get(`${byDirectory()}&state=valid&direction=asc&limit=1`);
    const [first] = certs;
    if (first === undefined) return expect.unreachable();
    await api.delete(pathOf(first));
    expect(ids(await api.get(nextOf(page) ?? ''))).toEqual(idsOf(...certs.slice(1, 2)));
  });

  test('after a cert outside the range of expiry begins at the range', async () => {
    const certs: GivenCert[] = [];
    for (const validForDays of [10, 20, 30]) certs.push(await givenIssuedCert(api.ca, account, { validForDays }));
    const [early, middle, late] = idsOf(...certs);
    const time = formatSeconds(new Date(api.ca.clock.now().getTime() + 15 * DAY_MS));
    const listed = async (query: string) => ids(await api.get(`${byDirectory()}&${query}`));
    expect(await listed(`expires_after=${time}&direction=asc&after=${early}`)).toEqual([middle, late]);
    expect(await listed(`expires_before=${time}&direction=desc&after=${late}`)).toEqual([early]);
    expect(await listed(`expires_before=${time}&direction=asc&after=${late}`)).toEqual([]);
  });

  test('refuses a cursor that does not exist', async () => {
    for (const filter of [
      '',
      '&state=valid',
      '&expires_after=2026-01-01T00:00:00Z',
      '&serial=01',
      '&subject=a.example',
    ])
      for (const after of [formatId('icrt', newUuid(new Date())), formatId('ordr', newUuid(new Date())), 'nothing']) {
        const { status, body } = await api.get(`${byDirectory()}${filter}&after=${after}`);
        expect({ status, code: body.code }).toEqual({ status: 400, code: 'unknown_cursor' });
      }
  });
});

describe('a revocation', () => {
  test('without a reason is unspecified, and answers with the cert and its certificate', async () => {
    for (const body of [undefined, { issued_cert: {} }]) {
      const cert = await givenIssuedCert(api.ca, account);
      const answer = await api.delete(pathOf(cert), body);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({
        id: formatId('icrt', cert.id),
        state: 'revoked',
        revoke_reason: 'unspecified',
      });
      expect(new X509Certificate(answer.body.public_cert).raw).toEqual(cert.der);
      expect(answer.body).not.toHaveProperty('cert_chain');
      const shown = (await api.get(pathOf(cert))).body;
      expect(shown).toMatchObject({ state: 'revoked', revoke_reason: 'unspecified' });
    }
  });

  test.each(Object.entries(revocationReasons))('takes %s by name and by number', async (revoke_reason, { number }) => {
    for (const issued_cert of [{ revoke_reason }, { reason: number }]) {
      const cert = await givenIssuedCert(api.ca, account);
      expect((await api.delete(pathOf(cert), { issued_cert })).body.revoke_reason).toBe(revoke_reason);
    }
  });

  test('ignores the fields of the resource, which may be sent back', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const { revoke_reason: _, ...shown } = (await api.get(pathOf(cert))).body;
    const { status, body } = await api.delete(pathOf(cert), { issued_cert: { ...shown, reason: 4 } });
    expect({ status, reason: body.revoke_reason }).toEqual({ status: 200, reason: 'superseded' });
  });

  test.each([
    ['both forms', { reason: 1, revoke_reason: 'key_compromise' }, 'issued_cert.revoke_reason'],
    ['a number that is none', { reason: 6 }, 'issued_cert.reason'],
    ['the number 7', { reason: 7 }, 'issued_cert.reason'],
    ['a negative number', { reason: -1 }, 'issued_cert.reason'],
    ['a number as text', { reason: '1' }, 'issued_cert.reason'],
    ['a fraction', { reason: 1.5 }, 'issued_cert.reason'],
    ['a name that is none', { revoke_reason: 'certificate_hold' }, 'issued_cert.revoke_reason'],
    ['a name in another case', { revoke_reason: 'Superseded' }, 'issued_cert.revoke_reason'],
    ['a number as name', { revoke_reason: 1 }, 'issued_cert.revoke_reason'],
    ['an unknown field', { why: 'superseded' }, 'issued_cert.why'],
    ['a list', [], 'issued_cert'],
  ])('with %s is refused, and nothing is revoked', async (_, issued_cert, field) => {
    const cert = await givenIssuedCert(api.ca, account);
    const { status, body } = await api.delete(pathOf(cert), { issued_cert });
    expect({ status, code: body.code, fields: body.errors.map((problem: { field: string }) => problem.field) }).toEqual(
      {
        status: 422,
        code: 'invalid',
        fields: [field],
      },
    );
    expect((await api.get(pathOf(cert))).body.state).toBe('valid');
  });

  test('of a revoked cert is refused, whatever the reason, and changes nothing', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    await api.delete(pathOf(cert), { issued_cert: { reason: 4 } });
    const { status, body } = await api.delete(pathOf(cert), { issued_cert: { reason: 1 } });
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'already_revoked' });
    expect((await api.get(pathOf(cert))).body.revoke_reason).toBe('superseded');
  });

  test('of an expired cert is refused', async () => {
    const cert = await givenIssuedCert(api.ca, account, { validForDays: 1 });
    api.ca.clock.advance(DAY_MS);
    const { status, body } = await api.delete(pathOf(cert));
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'expired' });
    expect(body.detail).toContain(formatSeconds(cert.expiresAt));
  });

  test('of fifty at once: one succeeds, the others learn that it is done', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.delete(pathOf(cert))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status, body }) => status === 422 && body.code === 'already_revoked')).toHaveLength(49);
    const { db } = api.ca.database;
    expect(await db.selectFrom('revocations').select('entry').where('serial', '=', cert.serial).execute()).toHaveLength(
      1,
    );
    expect(await db.selectFrom('audit').select('action').where('object_id', '=', cert.id).execute()).toEqual([
      { action: 'revoke' },
    ]);
  });

  test('is recorded with who asked for it, and makes the CRL of its CA due', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const answer = await api.delete(pathOf(cert), { issued_cert: { revoke_reason: 'superseded' } });
    const events = await api.get(`/v1/audit_events?object_id=${formatId('icrt', cert.id)}`);
    expect(events.body.collection).toMatchObject([
      {
        action: 'revoke',
        object_kind: 'issued_cert',
        request_id: answer.headers.get('x-request-id'),
        before: { state: 'valid', revoke_reason: null },
        after: { state: 'revoked', revoke_reason: 'superseded' },
      },
    ]);
    const { db } = api.ca.database;
    const crl = await db.selectFrom('crls').select('dirty_since').where('signing_cert_id', '=', issuing.id).execute();
    expect(crl).toEqual([{ dirty_since: expect.any(Date) }]);
  });
});

describe('a download', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acmery-download-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const bytesOf = async (path: string) => {
    const { token } = await createApiToken(api.ca, admin, { name: 'download', permission: 'read' });
    const response = await fetch(`${api.url}${path}`, { headers: { Authorization: `Bearer ${token}` } });
    return Buffer.from(await response.arrayBuffer());
  };

  test.each([
    ['', 'application/x-pem-file', '.pem'],
    ['?format=pem', 'application/x-pem-file', '.pem'],
    ['?format=der', 'application/pkix-cert', '.cer'],
    ['?format=chain', 'application/pem-certificate-chain', '-chain.pem'],
    ['?format=pkcs7', 'application/pkcs7-mime; smime-type=certs-only', '.p7b'],
  ])('%s is %s, named by the serial number', async (query, type, ending) => {
    const cert = await givenIssuedCert(api.ca, account);
    const { status, headers } = await api.get(`${pathOf(cert)}/download${query}`, { as: 'read' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe(type);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${cert.serial.toString('hex')}${ending}"`);
  });

  test('gives the certificate, and where asked for the intermediates after it', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const { public_cert, cert_chain } = (await api.get(pathOf(cert))).body;
    expect((await api.get(`${pathOf(cert)}/download`)).text).toBe(public_cert);
    expect((await api.get(`${pathOf(cert)}/download?format=chain`)).text).toBe([public_cert, ...cert_chain].join(''));
    expect(await bytesOf(`${pathOf(cert)}/download?format=der`)).toEqual(cert.der);
    const file = join(folder, 'cert.p7b');
    await writeFile(file, await bytesOf(`${pathOf(cert)}/download?format=pkcs7`));
    const { stdout } = await run('openssl', ['pkcs7', '-inform', 'DER', '-in', file, '-print_certs']);
    const printed = stdout.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----\n/g);
    expect(printed).toEqual([public_cert, ...cert_chain]);
  });

  test('of another format is refused', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const { status, body } = await api.get(`${pathOf(cert)}/download?format=p12`);
    expect({ status, field: body.errors[0].field }).toEqual({ status: 400, field: 'format' });
  });
});
