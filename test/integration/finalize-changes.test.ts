// Finalize while the world changes: keys, accounts, directories and CAs that end, signers that are away, CAA that forbids.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AcmeOrder } from '../../src/core/acme-orders.ts';
import type { Applicant } from '../../src/core/applicant.ts';
import type { Ca } from '../../src/core/ca.ts';
import { createAcmeKey } from '../../src/core/create-acme-key.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { CaError } from '../../src/core/errors.ts';
import { finalizeOrder } from '../../src/core/finalize.ts';
import { mostAtOnce } from '../../src/core/finalize-caa.ts';
import type { CaaResolver, KeyStore, Signer } from '../../src/core/ports.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { claimStuckOrders, finishStuckOrder } from '../../src/core/stuck-orders.ts';
import { updateAcmeKey } from '../../src/core/update-acme-key.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import { blockKeys } from '../../src/store/used-keys.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { parseCsr } from '../../src/x509/csr.ts';
import { keyUsage } from '../../src/x509/extensions.ts';
import { jwkOf, thumbprintOf } from '../../src/x509/jwk.ts';
import { generatePrivateKey } from '../../src/x509/private-key.ts';
import { publicKeyPem } from '../../src/x509/public-key.ts';
import { testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';
import { admin } from '../support/given.ts';
import { applicantOf, givenApplicant } from '../support/given-applicant.ts';
import { aRequest, certificatesOf, dns, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let asked: string[];
let caa: CaaResolver;
let given: Awaited<ReturnType<typeof testCa>>;
let applicant: Applicant;
let order: AcmeOrder;
beforeEach(async () => {
  asked = [];
  caa = async (name) => [{ name, records: [] }];
  given = await testCa({
    caa: async (name, signal) => {
      asked.push(name);
      const answers = await caa(name, signal);
      return answers.length > 1
        ? answers
        : name
            .split('.')
            .map((_, at, labels) => answers[0] && { ...answers[0], name: labels.slice(at).join('.') })
            .filter((answer) => answer !== undefined);
    },
  });
  applicant = await givenApplicant(given.ca, permissive);
  order = await givenReadyOrder(given.ca, applicant);
});
afterEach(() => given[Symbol.asyncDispose]());

const stateOf = async (id = order.id) =>
  await given.ca.database.db
    .selectFrom('orders')
    .select(['state', 'error', 'serial', 'due_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => error,
  );
const rejected = async (type: string, status: number, csr?: Buffer, from: Ca = given.ca) => {
  expect(await refusalOf(finalize(from, applicant, order, csr ?? (await aRequest())))).toMatchObject({ type, status });
  expect(await stateOf()).toMatchObject({ state: 'ready', serial: null });
  expect(await certificatesOf(given.ca, order.id)).toEqual([]);
};

/** A CA whose signer of leaves is another one. */
const signingWith = (change: (real: Signer) => Signer | Promise<Signer>): Ca => ({
  ...given.ca,
  keys: { ...given.ca.keys, signer: async (ref) => change(await given.ca.keys.signer(ref)) },
});
const withKeys = (changes: Partial<KeyStore>): Ca => ({ ...given.ca, keys: { ...given.ca.keys, ...changes } });
/** What happens between the reservation and the signature. */
const whileSigning = (work: () => Promise<unknown>): Ca =>
  signingWith((real) => ({
    ...real,
    sign: async (tbs) => {
      await work();
      return real.sign(tbs);
    },
  }));
const isAway = () => Promise.reject(new CaError('unavailable', 'The key store is away.'));

/** All that is due, in whatever time. */
async function work(from: Ca = given.ca): Promise<void> {
  for (const claim of await claimStuckOrders(from, 10, MINUTE_MS)) await finishStuckOrder(from, claim);
}

describe('FIN-7, SEC-31: the key of the CSR', () => {
  test("must not be an account's", async () => {
    const key = await generatePrivateKey('ec_256');
    await createAcmeKey(given.ca, admin, {
      directory_id: applicant.directory.id,
      order_validations: 'challenge',
      contacts: [],
      public_key: publicKeyPem(key.spki),
    });
    await rejected('badCSR', 400, await aRequest({ key }));
  });

  test('must never have been an account key', async () => {
    const key = await generatePrivateKey('ec_256');
    const { id } = await createAcmeKey(given.ca, admin, {
      directory_id: applicant.directory.id,
      order_validations: 'challenge',
      contacts: [],
      public_key: publicKeyPem(key.spki),
    });
    await revokeAcmeKey(given.ca, admin, id);
    await rejected('badCSR', 400, await aRequest({ key }));
  });

  test('must not be blocked', async () => {
    const csr = await aRequest();
    const thumbprint = thumbprintOf(jwkOf(parseCsr(csr).spki, 'the key'));
    await given.ca.database.inTransaction((tx) => blockKeys(tx, [thumbprint], given.ca.clock.now()));
    await rejected('badCSR', 400, csr);
  });

  test('KEY-7: becomes nobody’s account key while its certificate is being signed, or afterwards', async () => {
    const key = await generatePrivateKey('ec_256');
    const register = () =>
      createAcmeKey(given.ca, admin, {
        directory_id: applicant.directory.id,
        order_validations: 'challenge',
        contacts: [],
        public_key: publicKeyPem(key.spki),
      });
    const during = refusalOfLater();
    const ca = whileSigning(async () => during.set(await refusalOf(register())));
    expect((await finalize(ca, applicant, order, await aRequest({ key }))).state).toBe('valid');
    expect(String(during.get())).toMatch(/certificate/);
    expect(await refusalOf(register())).toMatchObject({ kind: 'key_reused' });
  });

  test('of an account and a certificate at once, one gets it', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const key = await generatePrivateKey('ec_256');
        const name = dns(`race-${index}.corp.example`);
        const one = await givenReadyOrder(given.ca, applicant, { identifiers: [name] });
        const csr = await aRequest({ key, names: [name] });
        const [certificate, account] = await Promise.allSettled([
          finalize(given.ca, applicant, one, csr),
          createAcmeKey(given.ca, admin, {
            directory_id: applicant.directory.id,
            order_validations: 'challenge',
            contacts: [],
            public_key: publicKeyPem(key.spki),
          }),
        ]);
        const isIssued = (await certificatesOf(given.ca, one.id)).length === 1;
        expect(certificate.status === 'fulfilled' && certificate.value.state === 'valid').toBe(isIssued);
        return Number(isIssued) + Number(account.status === 'fulfilled');
      }),
    );
    expect(outcomes.every((winners) => winners <= 1)).toBe(true);
    expect(outcomes.some((winners) => winners === 1)).toBe(true);
  });
});

describe('FIN-9, SEC-39: what has changed since the order was made', () => {
  const change = (fields: Parameters<typeof updateDirectory>[3]) =>
    updateDirectory(given.ca, admin, applicant.directory.id, fields);

  test('a directory that no longer allows the name refuses it, also when the request has seen the old one', async () => {
    await change({ allowed_dns_identifiers: ['**.other.example'] });
    await rejected('rejectedIdentifier', 403);
  });

  test('a directory that takes other keys refuses the CSR', async () => {
    await change({ allowed_key_types: ['rsa_4096'] });
    await rejected('badCSR', 400);
  });

  test('PRF-2: a profile that is gone is invalidProfile', async () => {
    await change({ profiles: ['client'] });
    await rejected('invalidProfile', 400);
  });

  test('SEC-25: the name constraints of a new CA bind open orders too', async () => {
    const constrained = await givenIntermediate(given.ca, { name_constraints: { permitted_dns: ['other.example'] } });
    await change({ signing_cert_id: constrained.id });
    await rejected('rejectedIdentifier', 403);
  });

  test('a directory that was deleted is 404', async () => {
    await deleteDirectory(given.ca, admin, applicant.directory.id);
    await rejected('malformed', 404);
  });

  test('the directory changes between decision and reservation: decided anew', async () => {
    const csr = await aRequest();
    const ca = withKeys({
      signer: async (ref) => {
        await change({ allowed_dns_identifiers: ['**.other.example'] });
        return given.ca.keys.signer(ref);
      },
    });
    await rejected('rejectedIdentifier', 403, csr, ca);
  });

  test('a revoked account gets nothing, and its order ends even while it is being signed (ACC-11)', async () => {
    const ca = whileSigning(() => revokeAcmeKey(given.ca, admin, applicant.account.id));
    expect((await finalize(ca, applicant, order, await aRequest())).state).toBe('invalid');
    expect(await certificatesOf(given.ca, order.id)).toEqual([]);
    expect((await refusalOf(finalize(given.ca, applicant, order, await aRequest()))) as object).toMatchObject({
      type: 'orderNotReady',
    });
  });

  test('AUTO-6: an account that is validated by challenge again gets nothing by its old approval', async () => {
    await updateAcmeKey(given.ca, admin, applicant.account.id, { order_validations: 'challenge' });
    expect(await refusalOf(finalize(given.ca, applicant, order, await aRequest()))).toMatchObject({
      type: 'orderNotReady',
    });
  });

  test.each([
    ['deleted directory', () => deleteDirectory(given.ca, admin, applicant.directory.id)],
    [
      'revoked CA',
      () =>
        given.ca.database.db
          .updateTable('signing_certs')
          .set({ state: 'revoked', revoked_at: given.ca.clock.now(), reason: 4 })
          .where('id', '=', applicant.directory.signing_cert_id)
          .execute(),
    ],
    [
      'deleted CA',
      () =>
        given.ca.database.db
          .updateTable('signing_certs')
          .set({ deleted_at: given.ca.clock.now() })
          .where('id', '=', applicant.directory.signing_cert_id)
          .execute(),
    ],
  ])('SEC-39: a %s between reservation and completion makes the order invalid', async (_, ending) => {
    const done = await finalize(whileSigning(ending), applicant, order, await aRequest());
    expect(done).toMatchObject({ state: 'invalid', error: { type: 'serverInternal' } });
    expect(await certificatesOf(given.ca, order.id)).toEqual([]);
    expect(given.logLines.join('')).toContain('ended without a certificate');
  });

  test('a key that is blocked between reservation and completion makes the order invalid', async () => {
    const csr = await aRequest();
    const thumbprint = thumbprintOf(jwkOf(parseCsr(csr).spki, 'the key'));
    const ca = whileSigning(() =>
      given.ca.database.inTransaction((tx) => blockKeys(tx, [thumbprint], given.ca.clock.now())),
    );
    expect(await finalize(ca, applicant, order, csr)).toMatchObject({ state: 'invalid', error: { type: 'badCSR' } });
    expect(await certificatesOf(given.ca, order.id)).toEqual([]);
  });

  test('a revoked CA is 503 before anything is reserved', async () => {
    await given.ca.database.db
      .updateTable('signing_certs')
      .set({ state: 'revoked', revoked_at: given.ca.clock.now(), reason: 4 })
      .where('id', '=', applicant.directory.signing_cert_id)
      .execute();
    await rejected('serverInternal', 503);
  });

  test('ORD-26: an order past its end is not ready', async () => {
    given.ca.clock.advance(25 * HOUR_MS);
    expect(await refusalOf(finalize(given.ca, applicant, order, await aRequest()))).toMatchObject({
      type: 'orderNotReady',
      status: 403,
    });
  });

  test('an authorization that was deactivated is missing', async () => {
    await given.ca.database.db
      .updateTable('authorizations')
      .set({ state: 'deactivated' })
      .where('id', 'in', [...order.authorizationIds])
      .execute();
    await rejected('orderNotReady', 403);
  });
});

describe('FIN-12: a signer', () => {
  test('that is away before the reservation is 503, and the order stays ready', async () => {
    expect(await refusalOf(finalize(withKeys({ signer: isAway }), applicant, order, await aRequest()))).toMatchObject({
      kind: 'unavailable',
    });
    expect(await stateOf()).toMatchObject({ state: 'ready', serial: null });
  });

  test('of another key is not used', async () => {
    const other = await givenApplicant(given.ca, permissive);
    const ca = withKeys({ signer: () => given.ca.keys.signer(other.directory.signing_cert_id) });
    expect(await refusalOf(finalize(ca, applicant, order, await aRequest()))).toMatchObject({ kind: 'unavailable' });
    expect(await stateOf()).toMatchObject({ state: 'ready' });
  });

  const failing = () =>
    signingWith((real) => ({ ...real, sign: () => Promise.reject(new Error('the module is away')) }));

  test('that fails after it leaves the order processing, and a worker signs the same bytes', async () => {
    const csr = await aRequest();
    expect(await finalize(failing(), applicant, order, csr)).toMatchObject({ state: 'processing' });
    const reserved = await stateOf();
    expect(reserved).toMatchObject({ state: 'processing', due_at: given.ca.clock.now() });
    expect(await finalize(given.ca, applicant, order, csr)).toMatchObject({ state: 'processing' });
    // FIN-1: another CSR is not the same request again.
    expect(await refusalOf(finalize(given.ca, applicant, order, await aRequest()))).toMatchObject({
      type: 'orderNotReady',
      status: 403,
    });
    await work();
    const [cert, ...others] = await certificatesOf(given.ca, order.id);
    expect([cert?.serial, others]).toEqual([reserved.serial, []]);
    expect(await finalize(given.ca, applicant, order, csr)).toMatchObject({ state: 'valid', issuedCertId: cert?.id });
  });

  test('that signs something else is found out, and nothing is stored', async () => {
    const ca = signingWith((real) => ({ ...real, sign: (tbs) => real.sign(Buffer.concat([tbs, Buffer.of(0)])) }));
    expect(await finalize(ca, applicant, order, await aRequest())).toMatchObject({ state: 'processing' });
    expect(await certificatesOf(given.ca, order.id)).toEqual([]);
    expect(given.logLines.join('')).toContain('not by the key of the stored CA certificate');
  });

  test('whose key is gone for good makes it ready again', async () => {
    await finalize(failing(), applicant, order, await aRequest());
    await work(withKeys({ signer: isAway, read: async () => undefined }));
    expect(await stateOf()).toMatchObject({ state: 'ready', serial: null, due_at: null });
    expect((await finalize(given.ca, applicant, order, await aRequest())).state).toBe('valid');
  });

  test('that is away for a while is tried again by the worker', async () => {
    await finalize(failing(), applicant, order, await aRequest());
    let tries = 0;
    const ca = withKeys({ signer: (ref) => (++tries < 2 ? isAway() : given.ca.keys.signer(ref)) });
    await using _ = startWorker(ca);
    await eventually('the first try has failed', () => tries > 0);
    given.ca.clock.advance(5 * MINUTE_MS);
    await eventually('the order is valid', async () => (await stateOf()).state === 'valid');
    expect(await certificatesOf(given.ca, order.id)).toHaveLength(1);
  });
});

test('a server that dies after the reservation loses nothing: a worker completes it after half a minute', async () => {
  const csr = await aRequest();
  void finalize(
    whileSigning(() => new Promise(() => {})),
    applicant,
    order,
    csr,
  );
  await eventually('it is reserved', async () => (await stateOf()).state === 'processing');
  await work();
  expect(await stateOf()).toMatchObject({ state: 'processing' });
  given.ca.clock.advance(30_000);
  await work();
  expect(await certificatesOf(given.ca, order.id)).toHaveLength(1);
});

test('a client is told to come back while signing takes long, and the signature completes the order all the same', async () => {
  const { promise: signing, resolve: go } = Promise.withResolvers<void>();
  const { id } = order;
  const slow = whileSigning(() => signing);
  const told = await finalizeOrder(slow, applicant, {
    id,
    csr: await aRequest(),
    signal: new AbortController().signal,
    patienceMs: 10,
  });
  expect(told).toMatchObject({ state: 'processing', issuedCertId: undefined });
  go();
  await eventually('the order is valid', async () => (await stateOf()).state === 'valid');
});

describe('SEC-8: nothing is signed', () => {
  const unsigned = () => signingWith((real) => ({ ...real, sign: () => expect.fail('it was signed') }));

  test.each(['ready', 'invalid', 'valid'] as const)('for an order that is %s', async (state) => {
    const { db } = given.ca.database;
    if (state === 'valid') await finalize(given.ca, applicant, order, await aRequest());
    if (state === 'invalid') await db.updateTable('orders').set({ state }).where('id', '=', order.id).execute();
    await finishStuckOrder(unsigned(), { id: order.id, attempt: 1 });
    expect(await stateOf()).toMatchObject({ state });
  });

  test('where the stored bytes are of another serial number', async () => {
    const dying = signingWith((real) => ({ ...real, sign: isAway }));
    await finalize(dying, applicant, order, await aRequest());
    await given.ca.database.db
      .updateTable('orders')
      .set({ serial: Buffer.alloc(17, 1) })
      .where('id', '=', order.id)
      .execute();
    await expect(finishStuckOrder(unsigned(), { id: order.id, attempt: 1 })).rejects.toThrow(
      /not of a leaf with its serial number/,
    );
    expect(await certificatesOf(given.ca, order.id)).toEqual([]);
  });

  test('where somebody has put those of a CA into the database', async () => {
    const dying = signingWith((real) => ({ ...real, sign: isAway }));
    await finalize(dying, applicant, order, await aRequest());
    const { tbs } = await given.ca.database.db
      .selectFrom('orders')
      .select('tbs')
      .where('id', '=', order.id)
      .executeTakeFirstOrThrow();
    // The key usage of a leaf becomes that of one who signs certificates; it has the same length.
    const forged = Buffer.from(tbs ?? []);
    keyUsage('keyCertSign').value.copy(forged, forged.indexOf(keyUsage('digitalSignature').value));
    expect(forged).not.toEqual(tbs);
    await given.ca.database.db.updateTable('orders').set({ tbs: forged }).where('id', '=', order.id).execute();
    await expect(finishStuckOrder(unsigned(), { id: order.id, attempt: 1 })).rejects.toThrow(/not of a leaf/);
    expect(await certificatesOf(given.ca, order.id)).toEqual([]);
  });

  test('that would have ended before', async () => {
    const dying = signingWith((real) => ({ ...real, sign: isAway }));
    await finalize(dying, applicant, order, await aRequest());
    given.ca.clock.advance(91 * 24 * HOUR_MS);
    await finishStuckOrder(unsigned(), { id: order.id, attempt: 1 });
    expect(await stateOf()).toMatchObject({ state: 'invalid', error: { detail: expect.stringMatching(/ended/) } });
  });

  test('that would have ended while the key store was away', async () => {
    const dying = signingWith((real) => ({ ...real, sign: isAway }));
    await finalize(dying, applicant, order, await aRequest());
    given.ca.clock.advance(91 * 24 * HOUR_MS);
    await finishStuckOrder(withKeys({ signer: isAway, read: isAway }), { id: order.id, attempt: 1 });
    expect(await stateOf()).toMatchObject({ state: 'invalid', due_at: null });
  });
});

test('of a server and workers that complete at once, one does', async () => {
  const { promise: signing, resolve: go } = Promise.withResolvers<void>();
  const slow = finalize(
    whileSigning(() => signing),
    applicant,
    order,
    await aRequest(),
  );
  await eventually('it is reserved', async () => (await stateOf()).state === 'processing');
  given.ca.clock.advance(30_000);
  const [claim] = await claimStuckOrders(given.ca, 1, MINUTE_MS);
  const workers = Array.from({ length: 5 }, () => finishStuckOrder(given.ca, claim ?? expect.fail('nothing is due')));
  go();
  await Promise.all(workers);
  const done = await slow;
  const [cert, ...others] = await certificatesOf(given.ca, order.id);
  expect([done.state, done.issuedCertId, others]).toEqual(['valid', cert?.id, []]);
});

describe('CAA-9, SEC-13: CAA', () => {
  const names = ['a', 'b', 'c'].map((label) => dns(`${label}.corp.example`));
  const dayOld = async () => {
    applicant = await givenApplicant(given.ca, { ...permissive, orderValidations: 'challenge' });
    order = await givenReadyOrder(given.ca, applicant, { identifiers: names });
    given.ca.clock.advance(9 * HOUR_MS);
    return aRequest({ names });
  };
  const forbidding = async (forbidden: string) => {
    caa = async (name) =>
      name === forbidden
        ? [{ name, records: [{ flags: 0, tag: 'issue', value: 'another-ca.example' }] }]
        : [{ name, records: [] }];
  };

  test('is looked up again, each name by itself, after eight hours', async () => {
    const csr = await dayOld();
    expect((await finalize(given.ca, applicant, order, csr)).state).toBe('valid');
    expect(asked.toSorted()).toEqual(names.map(({ value }) => value));
    const checked = await given.ca.database.db
      .selectFrom('authorizations')
      .select('caa_checked_at')
      .where('id', 'in', [...order.authorizationIds])
      .execute();
    expect(checked).toEqual(names.map(() => ({ caa_checked_at: given.ca.clock.now() })));
  });

  test.each(['a', 'b', 'c'])('that forbids %s, whichever position, refuses', async (label) => {
    const csr = await dayOld();
    await forbidding(`${label}.corp.example`);
    const refusal = await refusalOf(finalize(given.ca, applicant, order, csr));
    expect(refusal).toMatchObject({
      type: 'caa',
      status: 403,
      subproblems: [{ type: 'caa', identifier: dns(`${label}.corp.example`) }],
    });
    expect(await stateOf()).toMatchObject({ state: 'ready' });
  });

  test('that is slow is waited for by so many at once, and others are told to come again', async () => {
    const csr = await dayOld();
    const { promise: slow, resolve: answer } = Promise.withResolvers<void>();
    caa = async (name) => {
      await slow;
      return [{ name, records: [] }];
    };
    const waiting = Array.from({ length: mostAtOnce }, () => finalize(given.ca, applicant, order, csr));
    await eventually('all of them wait', async () => asked.length === mostAtOnce * names.length);
    expect(await refusalOf(finalize(given.ca, applicant, order, csr))).toMatchObject({ kind: 'unavailable' });
    answer();
    for (const { state } of await Promise.all(waiting)) expect(state).not.toBe('ready');
    expect(await certificatesOf(given.ca, order.id)).toHaveLength(1);

    const next = await givenReadyOrder(given.ca, applicant, { identifiers: names });
    given.ca.clock.advance(9 * HOUR_MS);
    expect((await finalize(given.ca, applicant, next, await aRequest({ names }))).state).toBe('valid');
  });

  test('is not looked up while the last look is fresh', async () => {
    applicant = await givenApplicant(given.ca, { ...permissive, orderValidations: 'challenge' });
    order = await givenReadyOrder(given.ca, applicant, { identifiers: names });
    await finalize(given.ca, applicant, order, await aRequest({ names }));
    expect(asked).toEqual([]);
  });

  test('CAA-13, AUTO-7: is never looked up for what is approved without a challenge', async () => {
    given.ca.clock.advance(9 * HOUR_MS);
    applicant = await applicantOf(given.ca, { accountId: applicant.account.id, slug: applicant.directory.slug });
    await finalize(given.ca, applicant, order, await aRequest());
    expect([asked, (await stateOf()).state]).toEqual([[], 'valid']);
  });
});

function refusalOfLater() {
  let value: unknown;
  return {
    set: (next: unknown) => {
      value = next;
    },
    get: () => value,
  };
}
