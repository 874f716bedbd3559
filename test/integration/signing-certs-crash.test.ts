// Making a CA cert survives a crash after each of its steps, and a refusal in each of them leaves nothing behind.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { CaError } from '../../src/core/errors.ts';
import { finishPendingSigningCerts } from '../../src/core/pending-signing-certs.ts';
import type { KeyStore } from '../../src/core/ports.ts';
import { getSigningCertCsr } from '../../src/core/request-signing-cert.ts';
import { getSigningCert, listSigningCerts } from '../../src/core/signing-certs.ts';
import { updateSigningCert } from '../../src/core/update-signing-cert.ts';
import type { SigningCertInput } from '../../src/resources/signing-cert-variants.ts';
import { parseCsr, readCsrPem, verifyCsr } from '../../src/x509/csr.ts';
import { eventually } from '../support/eventually.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin, type GivenCa, givenCa } from '../support/given.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

const MINUTE_MS = 60_000;
let given: GivenCa;
beforeEach(async () => {
  given = await givenCa();
});
afterEach(() => given[Symbol.asyncDispose]());

const root: SigningCertInput = {
  cert_type: 'root',
  key_availability: 'online',
  private_key_type: 'ec_256',
  name: 'Corp Root',
};
const page = { limit: 200, direction: 'asc', sort: 'id' } as const;
const listed = async () => (await listSigningCerts(given.ca, {}, page)).items.map(({ id }) => id);
const rows = () => given.ca.database.db.selectFrom('signing_certs').select(['id', 'state']).orderBy('id').execute();
const keys = async () => (await given.ca.keys.list()).map(({ ref }) => ref);
const actions = async () =>
  (await given.ca.database.db.selectFrom('audit').select(['action', 'actor_kind']).execute())
    .map(({ action, actor_kind }) => `${action} by ${actor_kind}`)
    .sort();

/** The CA over a key store with some functions replaced. */
const caWith = (changes: (real: KeyStore) => Partial<KeyStore>): Ca => ({
  ...given.ca,
  keys: { ...given.ca.keys, ...changes(given.ca.keys) },
});
/** What a process waits for that dies there. */
const died = () => new Promise<never>(() => {});

/** Starts the making in a process that dies where it should, and tells the id once it got there. */
async function crashed(
  input: SigningCertInput,
  changes: (real: KeyStore, reached: (ref: string) => void) => Partial<KeyStore>,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  void createSigningCert(
    caWith((real) => changes(real, resolve)),
    admin,
    input,
  );
  return promise;
}
const beforeTheKey = (input: SigningCertInput) =>
  crashed(input, (_, reached) => ({
    createOnce: (ref) => {
      reached(ref);
      return died();
    },
  }));
const afterTheKey = (input: SigningCertInput) =>
  crashed(input, (real, reached) => ({
    createOnce: async (ref, material) => {
      await real.createOnce(ref, material);
      reached(ref);
      return died();
    },
  }));

describe('a CA cert in the making', () => {
  test('is hidden from every read and cannot be changed', async () => {
    const id = await beforeTheKey(root);
    expect(await rows()).toEqual([{ id, state: 'pending' }]);
    expect(await listed()).toEqual([]);
    for (const refused of [
      () => getSigningCert(given.ca, id),
      () => getSigningCertCsr(given.ca, id),
      () => updateSigningCert(given.ca, admin, id, { name: 'x' }),
      () => deleteSigningCert(given.ca, admin, id),
      () => givenIntermediate(given.ca, { parent: { id } }),
    ])
      await expect(refused()).rejects.toThrow(/There is no CA cert/);
  });

  test('keeps nobody else waiting, and holds its parent', async () => {
    const parent = await givenRoot(given.ca);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slow = createSigningCert(
      caWith((real) => ({
        createOnce: async (ref, material) => {
          await released;
          return real.createOnce(ref, material);
        },
      })),
      admin,
      { ...root, cert_type: 'intermediate', signing_cert_id: parent.id },
    );
    await eventually('the row is there', async () => (await rows()).length === 2);
    await givenIntermediate(given.ca, { parent });
    await updateSigningCert(given.ca, admin, parent.id, { name: 'Renamed' });
    await expect(deleteSigningCert(given.ca, admin, parent.id)).rejects.toMatchObject({ kind: 'in_use' });
    release();
    expect(await slow).toMatchObject({ signingCertId: parent.id });
  });
});

describe('the sweep', () => {
  const sweep = async () => {
    given.ca.clock.advance(11 * MINUTE_MS);
    await finishPendingSigningCerts(given.ca);
  };

  test('drops what has no key', async () => {
    await beforeTheKey(root);
    await sweep();
    expect(await rows()).toEqual([]);
    expect(await actions()).toEqual([]);
    expect(given.logLines.join('')).toContain('unfinished CA cert without a key dropped');
  });

  test('completes what has a key, with the certificate that was stored', async () => {
    const parent = await givenRoot(given.ca);
    const made = [
      await afterTheKey(root),
      await afterTheKey({ ...root, cert_type: 'intermediate', signing_cert_id: parent.id }),
    ];
    await sweep();
    expect(await listed()).toEqual([parent.id, ...made].sort());
    for (const id of made) {
      const stored = await given.ca.keys.read(id);
      const [row] = await given.ca.database.db.selectFrom('signing_certs').select('der').where('id', '=', id).execute();
      expect(row?.der).toEqual(stored?.certificate);
    }
    expect(await actions()).toEqual(['create by bootstrap', 'create by service', 'create by service']);
  });

  test('completes an import', async () => {
    const { publicCert, privateKey } = await foreignCa();
    const { private_key_type: _, ...online } = root;
    const id = await afterTheKey({ ...online, public_cert: publicCert, private_key: privateKey });
    await sweep();
    expect(await getSigningCert(given.ca, id)).toMatchObject({ publicCert, name: 'Corp Root' });
  });

  test('drops an import, and its key, that was done again meanwhile', async () => {
    const { publicCert, privateKey } = await foreignCa();
    const { private_key_type: _, ...online } = root;
    const input: SigningCertInput = { ...online, public_cert: publicCert, private_key: privateKey };
    await afterTheKey(input);
    const again = await createSigningCert(given.ca, admin, input);
    await sweep();
    expect(await rows()).toEqual([{ id: again.id, state: 'active' }]);
    expect(await keys()).toEqual([again.id]);
  });

  test('makes the CSR for a key whose parent is elsewhere', async () => {
    const id = await afterTheKey({ ...root, cert_type: 'intermediate', subject: { O: 'Acme' } });
    expect(await listed()).toEqual([]);
    await sweep();
    const csr = readCsrPem(await getSigningCertCsr(given.ca, id));
    await verifyCsr(parseCsr(csr.der));
    expect(csr.subject.fields).toEqual({ CN: 'Corp Root', O: 'Acme' });
    expect(csr.spki).toEqual((await given.ca.keys.read(id))?.spki);
  });

  test('leaves alone what was begun less than ten minutes ago, and what waits for its certificate', async () => {
    const waiting = await createSigningCert(given.ca, admin, { ...root, cert_type: 'intermediate' });
    given.ca.clock.advance(20 * MINUTE_MS);
    const young = await beforeTheKey(root);
    given.ca.clock.advance(9 * MINUTE_MS);
    await finishPendingSigningCerts(given.ca);
    expect((await rows()).map(({ id }) => id)).toEqual([waiting.id, young]);
  });

  test('takes up each by itself: one whose key cannot be read stays for the next time', async () => {
    const first = await afterTheKey(root);
    given.ca.clock.advance(1_000);
    const second = await afterTheKey(root);
    given.ca.clock.advance(11 * MINUTE_MS);
    const broken = caWith((real) => ({
      read: (ref) => (ref === first ? Promise.reject(new CaError('unavailable', 'Away.')) : real.read(ref)),
    }));
    await finishPendingSigningCerts(broken);
    expect(await listed()).toEqual([second]);
    await finishPendingSigningCerts(given.ca);
    expect(await listed()).toEqual([first, second]);
  });

  test('twice at once completes each once', async () => {
    await afterTheKey(root);
    given.ca.clock.advance(11 * MINUTE_MS);
    await Promise.all([finishPendingSigningCerts(given.ca), finishPendingSigningCerts(given.ca)]);
    expect(await actions()).toEqual(['create by service']);
  });

  test('and a slow maker meet: who comes second gives what the first has made', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: stored, resolve: reached } = Promise.withResolvers<void>();
    const slow = createSigningCert(
      caWith((real) => ({
        createOnce: async (ref, material) => {
          const key = await real.createOnce(ref, material);
          reached();
          await released;
          return key;
        },
      })),
      admin,
      root,
    );
    await stored;
    await sweep();
    release();
    expect([(await slow).id]).toEqual(await listed());
    expect(await actions()).toEqual(['create by service']);
  });

  test('a maker slower than the sweep is told, and its key goes', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slow = createSigningCert(
      caWith((real) => ({
        createOnce: async (ref, material) => {
          await released;
          return real.createOnce(ref, material);
        },
      })),
      admin,
      root,
    );
    await eventually('the row is there', async () => (await rows()).length === 1);
    await sweep();
    release();
    await expect(slow).rejects.toMatchObject({ kind: 'conflict' });
    expect([await rows(), await keys()]).toEqual([[], []]);
  });
});

describe('a failure', () => {
  test('of the key store leaves neither row nor key, and the next try succeeds', async () => {
    const away = caWith(() => ({ createOnce: () => Promise.reject(new CaError('unavailable', 'The disk is full.')) }));
    await expect(createSigningCert(away, admin, root)).rejects.toMatchObject({ kind: 'unavailable' });
    expect([await rows(), await keys(), await actions()]).toEqual([[], [], []]);
    await createSigningCert(given.ca, admin, root);
  });

  test('after the key was stored takes the key back', async () => {
    const away = caWith((real) => ({
      createOnce: async (ref, material) => {
        await real.createOnce(ref, material);
        throw new CaError('unavailable', 'No answer came.');
      },
    }));
    await expect(createSigningCert(away, admin, root)).rejects.toMatchObject({ kind: 'unavailable' });
    expect([await rows(), await keys()]).toEqual([[], []]);
  });

  test("of the parent's key leaves nothing of the child", async () => {
    const parent = await givenRoot(given.ca);
    await given.ca.keys.remove(parent.id);
    await expect(givenIntermediate(given.ca, { parent })).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await rows()).map(({ id }) => id)).toEqual([parent.id]);
  });

  test('whose key cannot be taken back is noted, and its row is gone all the same', async () => {
    const away = caWith(() => ({
      createOnce: () => Promise.reject(new CaError('unavailable', 'Away.')),
      remove: () => Promise.reject(new CaError('unavailable', 'Still away.')),
    }));
    await expect(createSigningCert(away, admin, root)).rejects.toThrow('Away.');
    expect(given.logLines.join('')).toContain('could not be undone at once');
    expect(await rows()).toEqual([]);
  });
});
