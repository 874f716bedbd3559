// POST /v1/signing_certs/{id}/revocation: an intermediate in the CRL of its parent, what that ends, and what is refused.
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { formatId, parseId } from '../../src/core/ids.ts';
import { revokeSigningCert } from '../../src/core/revoke-signing-cert.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin } from '../support/given.ts';
import { givenApplicant } from '../support/given-applicant.ts';
import { buildDueCrls, crlOf, reasonOn } from '../support/given-crl.ts';
import { aRequest, certificatesOf, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';
import { givenIntermediate, givenRoot, givenSigningCert } from '../support/given-signing-cert.ts';
import { ocspRequest, readOcspAnswer } from '../support/ocsp.ts';
import { openssl } from '../support/openssl.ts';
import { testPublish } from '../support/publish.ts';
import { waitingQueries } from '../support/waiting.ts';

const CERTS = '/v1/signing_certs';
const pathOf = ({ id }: { readonly id: string }) => `${CERTS}/${formatId('scrt', id)}`;
const serialOf = ({ publicCert = '' }: SingleSigningCertView) => readCertificatePem(publicCert).serial;

/** A root, an intermediate below it, the first CRLs, and the doors. */
async function given() {
  const opened = new AsyncDisposableStack();
  const publish = opened.use(await testPublish());
  const api = opened.use(await testApi({ of: publish }));
  const { ca } = publish;
  const root = await givenRoot(ca);
  const issuer = await givenIntermediate(ca, { parent: root });
  await buildDueCrls(ca);
  return {
    ...api,
    ca,
    publish,
    root,
    issuer,
    revoke: (of: { readonly id: string } = issuer, body: unknown = { signing_cert: {} }) =>
      api.post(`${pathOf(of)}/revocation`, body),
    sql: (statement: ReturnType<typeof sql>) => statement.execute(ca.database.db),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

describe('a revoked intermediate', () => {
  test('is shown as revoked, stands in the CRL of its parent, and OCSP says so at once', async () => {
    await using world = await given();
    const { ca, root, issuer } = world;
    const rootPem = root.publicCert ?? '';
    const askOcsp = async () => {
      const request = ocspRequest(rootPem, [serialOf(issuer)]);
      const { bytes } = await world.publish.post(
        `/ocsp/${formatId('scrt', root.id)}`,
        'application/ocsp-request',
        request,
      );
      return (await readOcspAnswer(bytes, rootPem)).statuses;
    };
    expect(await askOcsp()).toEqual(['good']);

    const { status, body } = await world.revoke(issuer, { signing_cert: { revoke_reason: 'superseded' } });

    expect(status).toBe(200);
    expect(body).toMatchObject({ revoked_at: '2026-05-17T12:00:00Z', revoke_reason: 'superseded' });
    expect(body).toEqual((await world.get(pathOf(issuer))).body);
    expect(await askOcsp()).toEqual(['revoked: superseded']);
    expect(reasonOn(await crlOf(ca, root), serialOf(issuer))).toBeUndefined();
    expect(await buildDueCrls(ca)).toBe(1);
    expect(reasonOn(await crlOf(ca, root), serialOf(issuer))).toBe('superseded');
    // What it revokes itself is still asked of it.
    expect((await crlOf(ca, issuer)).entryCount).toBe(0);
  });

  test('is told to audit, log and metrics', async () => {
    await using world = await given();

    await world.revoke(world.issuer, { signing_cert: { reason: 1 } });

    const { body } = await world.get(`/v1/audit_events?object_id=${formatId('scrt', world.issuer.id)}`);
    expect(body.collection).toContainEqual(
      expect.objectContaining({
        action: 'revoke',
        before: { state: 'active', revoke_reason: null },
        after: { state: 'revoked', revoke_reason: 'key_compromise' },
      }),
    );
    expect(world.logLines.join('')).toContain('CA cert revoked');
    expect(await world.metrics()).toContain('acmery_signing_cert_changes_total{change="revoked"} 1');
  });

  test('takes the leaves below it with it: openssl refuses them by the CRLs of the chain', async () => {
    await using world = await given();
    const { ca, root, issuer } = world;
    const applicant = await givenApplicant(ca, { ...permissive, issuer });
    const order = await givenReadyOrder(ca, applicant);
    await finalize(ca, applicant, order, await aRequest());
    const [leaf] = await certificatesOf(ca, order.id);
    const pemOf = async (type: string, der: Buffer) =>
      (await openssl([type, '-inform', 'DER', '-in', 'der', '-outform', 'PEM'], { der })).text;
    const verify = async () => {
      const crls = [await pemOf('crl', (await crlOf(ca, root)).der), await pemOf('crl', (await crlOf(ca, issuer)).der)];
      const time = String(Math.floor(ca.clock.now().getTime() / 1000));
      return openssl(
        [
          'verify',
          '-x509_strict',
          '-crl_check_all',
          '-attime',
          time,
          '-CAfile',
          'root',
          '-untrusted',
          'issuer',
          '-CRLfile',
          'crls',
          'leaf',
        ],
        {
          root: root.publicCert ?? '',
          issuer: issuer.publicCert ?? '',
          crls: crls.join(''),
          leaf: await pemOf('x509', leaf?.der ?? Buffer.alloc(0)),
        },
      );
    };
    expect(await verify()).toMatchObject({ ok: true });

    await world.revoke();
    await buildDueCrls(ca);

    const refused = await verify();
    expect(refused.ok).toBe(false);
    expect(refused.text).toContain('error 23 at 1 depth lookup: certificate revoked');
  });

  test('signs nothing more: new orders, open ones, explain and other directories are told why', async () => {
    await using world = await given();
    const { ca, issuer } = world;
    const applicant = await givenApplicant(ca, { ...permissive, issuer });
    const order = await givenReadyOrder(ca, applicant);
    await world.revoke();
    const why = `CA cert Corp Issuing is revoked; directory ${applicant.directory.slug} needs another one.`;

    await expect(givenReadyOrder(ca, applicant)).rejects.toMatchObject({ message: why, status: 503 });
    await expect(finalize(ca, applicant, order, await aRequest())).rejects.toMatchObject({ message: why, status: 503 });
    const explained = await world.post(`/v1/directories/${formatId('dir', applicant.directory.id)}/explain`, {
      identifiers: [{ type: 'dns', value: 'shop.corp.example' }],
    });
    expect(explained.body.would_be_accepted).toBe(false);
    expect(explained.text).toContain(why);
    const another = await world.post('/v1/directories', {
      directory: { name: 'X', slug: 'x', signing_cert_id: formatId('scrt', issuer.id) },
    });
    expect([another.status, another.body.code]).toEqual([422, 'cannot_sign']);
    expect(await certificatesOf(ca, order.id)).toEqual([]);
  });

  test('has nothing made below it', async () => {
    await using world = await given();
    const { ca, root } = world;
    const middle = await givenIntermediate(ca, { parent: root, path_length: 1, name: 'Middle' });
    await world.revoke(middle);

    const below = await world.post(CERTS, {
      signing_cert: {
        cert_type: 'intermediate',
        key_availability: 'online',
        private_key_type: 'ec_256',
        name: 'Below',
        signing_cert_id: formatId('scrt', middle.id),
      },
    });

    expect(below.status).toBe(422);
    expect(below.body.errors).toMatchObject([
      { field: 'signing_cert.signing_cert_id', code: 'cannot_sign', message: 'CA cert Middle is revoked.' },
    ]);
  });

  test('ends what stands below it: CA certs there sign nothing, and nothing is made below them', async () => {
    await using world = await given();
    const { ca, root } = world;
    const upper = await givenIntermediate(ca, { parent: root, path_length: 2, name: 'Upper' });
    const middle = await givenIntermediate(ca, { parent: upper, path_length: 1, name: 'Middle' });
    const issuer = await givenIntermediate(ca, { parent: middle, name: 'Low' });
    const applicant = await givenApplicant(ca, { ...permissive, issuer });
    const open = await givenReadyOrder(ca, applicant);
    await world.revoke(upper);
    const why = 'CA cert Low stands below CA cert Upper, which is revoked; directory';

    await expect(givenReadyOrder(ca, applicant)).rejects.toThrow(why);
    await expect(finalize(ca, applicant, open, await aRequest())).rejects.toThrow(why);
    await expect(givenIntermediate(ca, { parent: middle })).rejects.toThrow(
      'CA cert Middle stands below CA cert Upper, which is revoked.',
    );
    await expect(givenApplicant(ca, { ...permissive, issuer })).rejects.toThrow(
      'CA cert Low stands below CA cert Upper, which is revoked; choose an online intermediate',
    );
    expect((await world.get(pathOf(middle))).body.revoked_at).toBeNull();
  });

  test('does not come back by importing it again', async () => {
    await using world = await given();
    const { ca, root, issuer } = world;
    await world.revoke();
    await deleteSigningCert(ca, admin, issuer.id);

    const { status, body } = await world.post(CERTS, {
      signing_cert: {
        cert_type: 'intermediate',
        key_availability: 'offline',
        public_cert: issuer.publicCert,
        signing_cert_id: formatId('scrt', root.id),
      },
    });

    expect(status).toBe(422);
    expect(body.errors).toMatchObject([
      { field: 'signing_cert.public_cert', code: 'revoked', message: expect.stringContaining('CA cert Corp Root') },
    ]);
  });

  test('is told to the custom resources that lean on it', async () => {
    await using world = await given();
    const { ca, issuer } = world;
    const applicant = await givenApplicant(ca, { ...permissive, issuer });
    await world.sql(sql`
      update directories set origin = 'kubernetes', origin_namespace = 'web', origin_name = 'shop', origin_uid = 'u',
                             origin_generation = 1 where id = ${applicant.directory.id}`);
    const told: unknown[] = [];
    await using listener = ca.database.listen({ acmery_owned: (payload) => told.push(JSON.parse(payload)) });
    await eventually('it is heard', () => listener.isListening);

    await world.revoke();

    await eventually('somebody is told', () => told.length > 0);
    expect(told).toEqual([{ kind: 'directory', namespace: 'web', name: 'shop' }]);
  });
});

describe('at once', () => {
  test('of twenty revocations one succeeds', async () => {
    await using world = await given();

    const answers = await Promise.all(Array.from({ length: 20 }, () => world.revoke()));

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'already_revoked')).toHaveLength(19);
    await buildDueCrls(world.ca);
    expect((await crlOf(world.ca, world.root)).entryCount).toBe(1);
  });

  test('SEC-39: an order that is being completed while its CA is revoked is done before, or never', async () => {
    await using world = await given();
    const { ca, issuer } = world;
    const { db } = ca.database;
    const applicant = await givenApplicant(ca, { ...permissive, issuer });
    const order = await givenReadyOrder(ca, applicant);
    const csr = await aRequest();
    // The revocation has its CA cert and waits: the statement that completes the order cannot have seen it.
    const both = await db.transaction().execute(async (tx) => {
      await sql`lock table revocations in share mode`.execute(tx);
      const revoking = revokeSigningCert(ca, admin, issuer.id, 'superseded');
      await waitingQueries(db, 1);
      const finalizing = finalize(ca, applicant, order, csr);
      await waitingQueries(db, 2);
      return () => Promise.all([revoking, finalizing]);
    });
    const [revoked, finalized] = await both();

    expect(revoked.revokeReason).toBe('superseded');
    expect(finalized).toMatchObject({ state: 'invalid' });
    expect(await certificatesOf(ca, order.id)).toEqual([]);
  });
});

describe('is refused with nothing changed', () => {
  type World = Awaited<ReturnType<typeof given>>;
  const cases: readonly (readonly [string, string, RegExp, (world: World) => Promise<{ readonly id: string }>])[] = [
    ['for a root', 'not_revocable', /is a root, which no CA can revoke/, async ({ root }) => root],
    [
      'a second time',
      'already_revoked',
      /is revoked already/,
      async ({ issuer, revoke }) => (await revoke(issuer)) && issuer,
    ],
    [
      'where the parent is offline',
      'not_revocable',
      /was signed by CA cert Old Root, whose key is offline; .*upload the CRL/,
      async ({ ca }) => {
        const parent = await foreignCa();
        const below = await foreignCa({ parent });
        const offline = { key_availability: 'offline' } as const;
        await createSigningCert(ca, admin, { cert_type: 'root', ...offline, public_cert: parent.publicCert });
        return createSigningCert(ca, admin, { cert_type: 'intermediate', ...offline, public_cert: below.publicCert });
      },
    ],
    [
      'where the parent is elsewhere',
      'not_revocable',
      /was signed by a CA that is not here/,
      async ({ ca }) => {
        const below = await foreignCa({ parent: await foreignCa() });
        const offline = { key_availability: 'offline' } as const;
        return createSigningCert(ca, admin, { cert_type: 'intermediate', ...offline, public_cert: below.publicCert });
      },
    ],
    [
      'while it waits for its certificate',
      'not_revocable',
      /has no certificate yet/,
      ({ ca }) => givenSigningCert(ca, { cert_type: 'intermediate', name: 'Waiting' }),
    ],
    [
      'after its end',
      'expired',
      /expired at 2026-05-1\dT/,
      async ({ ca, root }) => {
        const short = await givenIntermediate(ca, { parent: root, valid_days: 1 });
        ca.clock.advance(2 * DAY_MS);
        return short;
      },
    ],
    [
      'for one of a custom resource',
      'managed_by_kubernetes',
      /SigningCert acme\/issuing; change it there/,
      async (world) => {
        await world.sql(sql`
          update signing_certs set origin = 'kubernetes', origin_namespace = 'acme', origin_name = 'issuing',
                                   origin_uid = 'u', origin_generation = 1 where id = ${world.issuer.id}`);
        return world.issuer;
      },
    ],
  ];

  test.each(cases)('%s: %s', async (_what, code, detail, make) => {
    await using world = await given();
    const { id } = await make(world);
    const path = `${CERTS}/${formatId('scrt', id)}`;
    const before = (await world.get(path)).body;
    const rows = async () => (await world.sql(sql`select * from revocations`)).rows;
    const revocations = await rows();

    const { status, body } = await world.post(`${path}/revocation`, { signing_cert: {} });

    expect({ status, code: body.code }).toEqual({ status: 422, code });
    expect(body.detail).toMatch(detail);
    expect((await world.get(path)).body).toEqual(before);
    expect(await rows()).toEqual(revocations);
  });

  test.each([
    ['both forms of a reason', { reason: 1, revoke_reason: 'superseded' }, 'signing_cert.revoke_reason'],
    ['a reason that CAs do not give', { reason: 6 }, 'signing_cert.reason'],
    ['a reason as text', { reason: '1' }, 'signing_cert.reason'],
    ['an unknown reason', { revoke_reason: 'boredom' }, 'signing_cert.revoke_reason'],
    ['an unknown field', { why: 'boredom' }, 'signing_cert.why'],
  ])('for %s', async (_, fields, field) => {
    await using world = await given();

    const { status, body } = await world.revoke(world.issuer, { signing_cert: fields });

    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ field }]);
    expect((await world.get(pathOf(world.issuer))).body.revoked_at).toBeNull();
  });

  test('for who is no admin, and for a CA cert that is not there', async () => {
    await using world = await given();
    const path = `${pathOf(world.issuer)}/revocation`;

    expect((await world.post(path, { signing_cert: {} }, { as: 'write' })).status).toBe(403);
    expect((await world.post(path, { signing_cert: {} }, { as: 'nobody' })).status).toBe(401);
    const never = `${CERTS}/scrt_01kznbwrzqe0s9rk2hc16bsvfg/revocation`;
    expect((await world.post(never, { signing_cert: {} })).status).toBe(404);
    expect((await world.get(pathOf(world.issuer))).body.revoked_at).toBeNull();
  });

  test('without a reason, or without a body, it is unspecified', async () => {
    await using world = await given();
    const other = await givenIntermediate(world.ca, { parent: world.root });

    const plain = await world.revoke();
    const bare = await world.send('POST', `${pathOf(other)}/revocation`, undefined);

    expect([plain.body.revoke_reason, bare.body.revoke_reason]).toEqual(['unspecified', 'unspecified']);
    expect(parseId('scrt', plain.body.id)).toBe(world.issuer.id);
  });
});
