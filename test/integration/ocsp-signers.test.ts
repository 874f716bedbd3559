// What signs OCSP answers: made once however many want it, followed by a successor in time, and gone after its end; a crash
// at any step is made good.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { CaError } from '../../src/core/errors.ts';
import { answerOcsp } from '../../src/core/ocsp.ts';
import { claimOcspSigners, makeOcspSigner, planOcspSigners, tendOcspSigner } from '../../src/core/ocsp-signers.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { admin, type GivenCa, givenCa } from '../support/given.ts';
import { givenRoot } from '../support/given-signing-cert.ts';
import { ocspRequest, readOcspAnswer } from '../support/ocsp.ts';

const MINUTE_MS = 60_000;
let given: GivenCa;
beforeEach(async () => {
  given = await givenCa();
});
afterEach(() => given[Symbol.asyncDispose]());

const rows = () =>
  given.ca.database.db
    .selectFrom('ocsp_signers')
    .select(['id', 'signing_cert_id', 'not_after', 'due_at', 'lease_until'])
    .orderBy('not_after', (order) => order.asc().nullsLast())
    .execute();
const ids = async () => (await rows()).map(({ id }) => id);
const keys = async () => (await given.ca.keys.list()).map(({ ref }) => ref).sort();

/** What a worker does until nothing is due. */
async function tendAll(ca: Ca = given.ca): Promise<void> {
  for (;;) {
    const claims = await claimOcspSigners(ca, 10, MINUTE_MS);
    if (claims.length === 0) return;
    for (const claim of claims) await tendOcspSigner(ca, claim);
  }
}
const sweep = async () => {
  await planOcspSigners(given.ca);
  await tendAll();
};
/** The certificate that signs now. */
async function signerOf({ id, publicCert }: Awaited<ReturnType<typeof givenRoot>>): Promise<Buffer> {
  const pem = publicCert ?? '';
  const { der } = await answerOcsp(given.ca, id, ocspRequest(pem, [Buffer.of(1)]));
  return (await readOcspAnswer(der, pem)).certificate;
}

test('a worker makes one for each CA, and nothing for those that have one', async () => {
  const [first, second] = [await givenRoot(given.ca), await givenRoot(given.ca)];
  await sweep();
  const made = await rows();
  expect(made.map((row) => row.signing_cert_id).sort()).toEqual([first.id, second.id].sort());
  expect(await keys()).toEqual([first.id, second.id, ...made.map(({ id }) => id)].sort());
  await sweep();
  expect(await rows()).toEqual(made);
});

test('the running worker does so by itself', async () => {
  const { id } = await givenRoot(given.ca);
  await using _ = startWorker(given.ca);
  await eventually('the signer is made', async () => (await rows())[0]?.not_after instanceof Date);
  expect(await rows()).toMatchObject([{ signing_cert_id: id }]);
});

test('replicas that need one at once all sign with the same', async () => {
  const root = await givenRoot(given.ca);
  await using database = openDatabase({ url: given.databaseUrl });
  const other = { ...given.ca, database };
  const made = await Promise.all([given.ca, other, given.ca, other].map((ca) => makeOcspSigner(ca, root.id)));
  expect(new Set(made.map((signer) => signer?.certificate.toString('hex'))).size).toBe(1);
  expect(await keys()).toEqual([root.id, ...(await ids())].sort());
  expect(await rows()).toHaveLength(1);
});

test('at half its life it gets a successor, which signs from then on, and after its end it goes with its key', async () => {
  const { ca } = given;
  const root = await givenRoot(ca);
  await sweep();
  const first = await signerOf(root);
  const [old] = await ids();

  ca.clock.advance(44 * DAY_MS);
  await sweep();
  expect(await signerOf(root)).toEqual(first);
  ca.clock.advance(DAY_MS);
  await sweep();
  const second = await signerOf(root);
  expect(second).not.toEqual(first);
  expect(await ids()).toHaveLength(2);

  ca.clock.advance(45 * DAY_MS);
  await sweep();
  const left = await ids();
  expect(left).not.toContain(old);
  expect(await keys()).toEqual([root.id, ...left].sort());
  expect(await signerOf(root)).not.toEqual(first);
});

test('half its life over twice in one claim, as when a lease is lost, gives one successor', async () => {
  const { ca } = given;
  await givenRoot(ca);
  await sweep();
  ca.clock.advance(45 * DAY_MS);
  const [claim] = await claimOcspSigners(ca, 1, MINUTE_MS);
  if (claim === undefined) throw new Error('nothing is due');
  await tendOcspSigner(ca, claim);
  await tendAll();
  await tendOcspSigner(ca, claim);
  await tendAll();
  expect(await rows()).toHaveLength(2);
});

test('where no worker has been for long, who is asked makes the next', async () => {
  const { ca } = given;
  const root = await givenRoot(ca);
  const first = await signerOf(root);
  ca.clock.advance(100 * DAY_MS);
  expect(await signerOf(root)).not.toEqual(first);
});

test('one that ends with its CA gets no successor', async () => {
  const { ca } = given;
  await givenRoot(ca, { valid_days: 60 });
  await sweep();
  ca.clock.advance(31 * DAY_MS);
  await sweep();
  expect(await rows()).toHaveLength(1);
  ca.clock.advance(30 * DAY_MS);
  await sweep();
  expect(await rows()).toEqual([]);
});

test('a deleted CA gets none by itself, and loses what it has with its key', async () => {
  const { ca } = given;
  const root = await givenRoot(ca);
  await sweep();
  const other = await givenRoot(ca);
  await deleteSigningCert(ca, admin, root.id);
  await deleteSigningCert(ca, admin, other.id);
  await sweep();
  expect(await rows()).toMatchObject([{ signing_cert_id: root.id }]);
  await ca.keys.remove(root.id);
  await ca.keys.remove(other.id);
  await ca.database.db.updateTable('signing_certs').set({ key_ref: null, key_due_at: null }).execute();
  await sweep();
  expect(await rows()).toEqual([]);
  expect(await keys()).toEqual([]);
});

/** The key store of a process that dies there. */
const dying = (where: 'before' | 'after'): Ca => ({
  ...given.ca,
  keys: {
    ...given.ca.keys,
    createOnce: async (ref, material) => {
      if (where === 'after') await given.ca.keys.createOnce(ref, material);
      throw new CaError('unavailable', 'The process dies here.');
    },
    remove: async (ref) => {
      if (where === 'after') await given.ca.keys.remove(ref);
      throw new CaError('unavailable', 'The process dies here.');
    },
  },
});

test.each(['before', 'after'] as const)('a crash %s its key is stored is made good by the next', async (where) => {
  const { ca } = given;
  const root = await givenRoot(ca);
  await planOcspSigners(ca);
  await expect(tendAll(dying(where))).rejects.toThrow('dies here');
  const planned = await ids();
  ca.clock.advance(2 * MINUTE_MS);
  await tendAll();
  expect(await ids()).toEqual(planned);
  expect(await keys()).toEqual([root.id, ...planned].sort());
  expect(await signerOf(root)).toBeInstanceOf(Buffer);
});

test.each(['before', 'after'] as const)('a crash %s its key is removed is made good by the next', async (where) => {
  const { ca } = given;
  await givenRoot(ca, { valid_days: 10 });
  await sweep();
  ca.clock.advance(10 * DAY_MS);
  await expect(tendAll(dying(where))).rejects.toThrow('dies here');
  ca.clock.advance(2 * MINUTE_MS);
  await tendAll();
  expect(await rows()).toEqual([]);
  expect(await keys()).toHaveLength(1);
});

test('a CA whose key store is away keeps its plan until it is back', async () => {
  const { ca } = given;
  const root = await givenRoot(ca);
  const away = { ...ca, keys: { ...ca.keys, signer: () => Promise.reject(new CaError('unavailable', 'Away.')) } };
  await expect(makeOcspSigner(away, root.id)).rejects.toThrow('Away.');
  expect(await rows()).toMatchObject([{ not_after: null }]);
  await tendAll();
  expect(await rows()).toMatchObject([{ signing_cert_id: root.id, not_after: expect.any(Date) }]);
});
