// CA certs of custom resources: made once whatever happens, found again, taken over, fenced, and left behind.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import type { Declared } from '../../src/core/declared.ts';
import { applySigningCert, type DeclaredSigningCert } from '../../src/core/declared-signing-cert.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { forgetSigningCert } from '../../src/core/forget-signing-cert.ts';
import { formatId } from '../../src/core/ids.ts';
import { finishPendingSigningCerts } from '../../src/core/pending-signing-certs.ts';
import type { KeyStore } from '../../src/core/ports.ts';
import { keyTrouble } from '../../src/core/signing-cert-status.ts';
import { getSigningCert } from '../../src/core/signing-certs.ts';
import { updateSigningCert } from '../../src/core/update-signing-cert.ts';
import { readCsrPem } from '../../src/x509/csr.ts';
import { testCa } from '../support/ca.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin, type GivenCa, givenCa } from '../support/given.ts';
import { aDeclared, aRoot, withoutWrites } from '../support/given-declared.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenAccount } from '../support/given-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

let given: GivenCa;
beforeEach(async () => {
  given = await givenCa();
});
afterEach(() => given[Symbol.asyncDispose]());

const apply = (declared: Declared, input: DeclaredSigningCert, ca: Ca = given.ca) =>
  applySigningCert(ca, declared, input);
const rows = () =>
  given.ca.database.db
    .selectFrom('signing_certs')
    .select(['id', 'state', 'name', 'origin_uid', 'origin_generation', 'orphaned_at', 'deleted_at'])
    .orderBy('id')
    .execute();
const keys = async () => (await given.ca.keys.list()).map(({ ref }) => ref);
const actions = async () =>
  (await given.ca.database.db.selectFrom('audit').select(['action', 'actor']).orderBy('id').execute()).map(
    ({ action, actor }) => `${action} by ${actor}`,
  );

describe('a CA cert is made as it is declared', () => {
  const ways: Readonly<Record<string, () => Promise<Partial<DeclaredSigningCert>>>> = {
    'a root': async () => ({ subject: { CN: 'Corp Root', C: 'DE' }, valid_days: 400, path_length: 2 }),
    'an intermediate': async () => ({
      cert_type: 'intermediate',
      signing_cert_id: (await givenRoot(given.ca)).id,
      name_constraints: { permitted_dns: ['corp.example'] },
    }),
    'an imported root with its key': async () => {
      const { publicCert, privateKey } = await foreignCa();
      return { public_cert: publicCert, private_key: privateKey };
    },
    'an imported root without its key': async () => ({
      key_availability: 'offline',
      public_cert: (await foreignCa()).publicCert,
    }),
  };

  test.each(Object.entries(ways))('%s, once: again, it is read and not written', async (_, way) => {
    const { private_key_type: generated, ...usual } = aRoot();
    const parts = await way();
    const isImport = parts.public_cert !== undefined;
    const input = { ...usual, ...parts, ...(!isImport && generated && { private_key_type: generated }) };
    const { as, view } = await apply(aDeclared(), input);
    expect(as).toBe('created');
    expect(view.certificate?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(await keyTrouble(given.ca, view)).toBeUndefined();
    const again = await withoutWrites(given.ca, () => apply(aDeclared(), input));
    expect(again).toEqual({ as: 'unchanged', view });
    expect((await actions()).filter((action) => action === 'create by acmery-system/corp')).toHaveLength(1);
  });

  test('an intermediate of a parent elsewhere, whose certificate comes later', async () => {
    const { signing_cert_id: _, ...input } = aRoot({ cert_type: 'intermediate', name: 'Corp Issuing' });
    const waiting = await apply(aDeclared(), input);
    expect(waiting).toMatchObject({ as: 'created', view: { publicCert: undefined, certificate: undefined } });
    const { spki } = readCsrPem(waiting.view.csr ?? '');
    const parent = await foreignCa();
    const { publicCert } = await foreignCa({ parent, spki, subject: { CN: 'Corp Issuing' } });
    const answer = { ...input, public_cert: publicCert };
    expect(await apply(aDeclared({ generation: 2 }), answer)).toMatchObject({ as: 'updated', view: { publicCert } });
    expect((await withoutWrites(given.ca, () => apply(aDeclared({ generation: 2 }), answer))).as).toBe('unchanged');
    const other = await foreignCa({ parent, spki, subject: { CN: 'Corp Issuing' } });
    await expect(
      apply(aDeclared({ generation: 3 }), { ...input, public_cert: other.publicCert }),
    ).rejects.toMatchObject({ kind: 'immutable' });
  });

  test('once by ten at the same moment, with one key', async () => {
    const applied = await Promise.all(Array.from({ length: 10 }, () => apply(aDeclared(), aRoot())));
    expect(new Set(applied.map(({ view }) => view.certificate?.fingerprint)).size).toBe(1);
    expect(await rows()).toHaveLength(1);
    expect(await keys()).toHaveLength(1);
    expect(await actions()).toEqual(['create by acmery-system/corp']);
  });
});

test('who found nothing, and is slower than another, gives what that has made', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: looked, resolve: looks } = Promise.withResolvers<void>();
  const slow = async () => {
    looks();
    await released;
    return undefined;
  };
  const later = apply(aDeclared(), aRoot(), { ...given.ca, keys: { ...given.ca.keys, find: slow } });
  await looked;
  const { view } = await apply(aDeclared(), aRoot());
  release();
  expect(await later).toEqual({ as: 'unchanged', view });
});

describe('what a crash has left is gone on with', () => {
  const caWith = (changes: (real: KeyStore) => Partial<KeyStore>): Ca => ({
    ...given.ca,
    keys: { ...given.ca.keys, ...changes(given.ca.keys) },
  });
  /** A process that dies as soon as the row is there, or once the key is stored as well. */
  async function crashed(after: 'row' | 'key', declared: Declared): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const dying = caWith((real) => ({
      createOnce: async (ref, material) => {
        if (after === 'key') await real.createOnce(ref, material);
        resolve(ref);
        return new Promise<never>(() => {});
      },
    }));
    void apply(declared, aRoot(), dying);
    return promise;
  }

  test.each(['row', 'key'] as const)('where the %s was the last that it made', async (after) => {
    const id = await crashed(after, aDeclared());
    const stored = await given.ca.keys.read(id);
    const { as, view } = await apply(aDeclared(), aRoot());
    expect({ as, id: view.id }).toEqual({ as: 'created', id });
    if (stored !== undefined) expect((await given.ca.keys.read(id))?.certificate).toEqual(stored.certificate);
    expect(await keys()).toEqual([id]);
  });

  test('by the object alone: the sweep for /v1 leaves its row', async () => {
    const id = await crashed('row', aDeclared());
    given.ca.clock.advance(60 * 60_000);
    await finishPendingSigningCerts(given.ca);
    expect(await rows()).toMatchObject([{ id, state: 'pending' }]);
  });

  test('by an object of the same name, in another way where there is no key yet', async () => {
    const id = await crashed('row', aDeclared());
    const { view } = await apply(aDeclared({ uid: 'uid-2' }), aRoot({ private_key_type: 'ec_384' }));
    expect([view.id === id, view.keyType]).toEqual([false, 'ec_384']);
    expect(await rows()).toMatchObject([{ id: view.id, state: 'active', origin_uid: 'uid-2' }]);
  });

  test('a refusal of the key store leaves the row, and the next visit goes on', async () => {
    const away = caWith(() => ({ createOnce: () => Promise.reject(new Error('The disk is full.')) }));
    await expect(apply(aDeclared(), aRoot(), away)).rejects.toThrow('The disk is full.');
    const [pending] = await rows();
    expect((await apply(aDeclared(), aRoot())).view.id).toBe(pending?.id);
  });

  test.each(['row', 'key'] as const)('or taken back where the object goes after the %s was made', async (after) => {
    await crashed(after, aDeclared());
    await forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Retain');
    expect([await rows(), await keys()]).toEqual([[], []]);
  });
});

describe('a new database', () => {
  test('finds root and intermediate again by their keys, whatever uids the objects have now', async () => {
    const root = await apply(aDeclared(), aRoot());
    const issuing = aRoot({
      cert_type: 'intermediate',
      name: 'Issuing',
      signing_cert_id: root.view.id,
      valid_days: 90,
    });
    const child = await apply(aDeclared({ name: 'issuing' }), issuing);
    await using empty = await testCa();
    const ca = { ...empty.ca, keys: given.ca.keys };
    for (const [declared, input, before] of [
      [aDeclared({ uid: 'uid-3' }), aRoot(), root],
      [aDeclared({ name: 'issuing', uid: 'uid-4' }), issuing, child],
    ] as const) {
      expect(await apply(declared, input, ca)).toEqual({ as: 'adopted', view: before.view });
      expect((await withoutWrites(ca, () => apply(declared, input, ca))).as).toBe('unchanged');
    }
    expect(await keys()).toHaveLength(2);
  });

  test('asks for the same certificate again with the key of a CSR', async () => {
    const input = aRoot({ cert_type: 'intermediate' });
    const { view } = await apply(aDeclared(), input);
    await using empty = await testCa();
    const again = await apply(aDeclared(), input, { ...empty.ca, keys: given.ca.keys });
    expect(again.view.id).toBe(view.id);
    expect(readCsrPem(again.view.csr ?? '').spki).toEqual(readCsrPem(view.csr ?? '').spki);
  });

  test('does not take a key for another CA cert than it is of', async () => {
    const { view } = await apply(aDeclared(), aRoot());
    await using empty = await testCa();
    const ca = { ...empty.ca, keys: given.ca.keys };
    const other = aRoot({ private_key_type: 'ec_384' });
    await expect(apply(aDeclared(), other, ca)).rejects.toMatchObject({ kind: 'already_exists' });
    const adopt = formatId('scrt', view.id);
    expect(await apply(aDeclared({ adopt }), other, ca)).toMatchObject({ as: 'adopted', view: { keyType: 'ec_256' } });
  });

  test('a deleted CA cert is not found again by the key that is still to be removed', async () => {
    const { view } = await apply(aDeclared(), aRoot());
    await forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Delete');
    const again = await apply(aDeclared({ uid: 'uid-2' }), aRoot());
    expect(again).toMatchObject({ as: 'created' });
    expect(again.view.id).not.toBe(view.id);
  });
});

describe('the fence', () => {
  test('an earlier state of the object changes nothing after a later one', async () => {
    await apply(aDeclared(), aRoot());
    expect((await apply(aDeclared({ generation: 3 }), aRoot({ name: 'New' }))).as).toBe('updated');
    for (const late of [
      async () => void (await apply(aDeclared({ generation: 2 }), aRoot({ name: 'Old' }))),
      () => forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Retain'),
      () => forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Delete'),
    ])
      await expect(withoutWrites(given.ca, late)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await rows()).toMatchObject([{ name: 'New', origin_generation: 3, orphaned_at: null, deleted_at: null }]);
  });

  test('a later state that changes nothing of the CA cert raises the fence, without a record', async () => {
    await apply(aDeclared(), aRoot());
    const before = await actions();
    expect((await apply(aDeclared({ generation: 2 }), aRoot())).as).toBe('unchanged');
    expect(await rows()).toMatchObject([{ origin_generation: 2 }]);
    expect(await actions()).toEqual(before);
  });

  test('what the object left behind is not taken back by the state that left it', async () => {
    await apply(aDeclared(), aRoot());
    await forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Retain');
    for (const generation of [1, 2])
      await expect(apply(aDeclared({ generation }), aRoot())).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('an object of another uid leaves alone what is not its own', async () => {
    await apply(aDeclared(), aRoot());
    await withoutWrites(given.ca, () => forgetSigningCert(given.ca, aDeclared({ uid: 'uid-0' }), 'Delete'));
  });
});

describe('an object takes over', () => {
  test('the row of one of its name with the same fields, whatever uid it had', async () => {
    const { view } = await apply(aDeclared(), aRoot({ subject: { OU: 'PKI' } }));
    const again = await apply(aDeclared({ uid: 'uid-2' }), aRoot({ subject: { OU: 'PKI' }, name: 'Renamed' }));
    expect(again).toEqual({ as: 'adopted', view: { ...view, name: 'Renamed' } });
    expect(await rows()).toMatchObject([{ origin_uid: 'uid-2', origin_generation: 1 }]);
  });

  const others: Readonly<Record<string, Partial<DeclaredSigningCert>>> = {
    private_key_type: { private_key_type: 'ec_384' },
    valid_days: { valid_days: 30 },
    path_length: { path_length: 1 },
    subject: { subject: { OU: 'Other' } },
    name_constraints: { name_constraints: { permitted_dns: ['corp.example'] } },
    cert_type: { cert_type: 'intermediate' },
  };
  test.each(Object.entries(others))('but not one with another %s, unless it is named', async (field, parts) => {
    const { view } = await apply(aDeclared(), aRoot());
    const [id, input] = [formatId('scrt', view.id), aRoot(parts)];
    await expect(apply(aDeclared({ uid: 'uid-2' }), input)).rejects.toMatchObject({
      kind: 'already_exists',
      message: expect.stringMatching(new RegExp(`${field}.*acmery.io/adopt: ${id}`)),
    });
    await expect(apply(aDeclared({ generation: 2 }), input)).rejects.toMatchObject({ kind: 'immutable' });
    const named = aDeclared({ uid: 'uid-2', adopt: id });
    expect(await apply(named, input)).toMatchObject({ as: 'adopted', view: { id: view.id, keyType: 'ec_256' } });
    expect((await withoutWrites(given.ca, () => apply(named, input))).as).toBe('unchanged');
  });

  test('a CA cert of /v1 that it names, and no other object can', async () => {
    const { id } = await givenRoot(given.ca, { name: 'Corp Root' });
    const adopt = formatId('scrt', id);
    expect(await apply(aDeclared({ adopt }), aRoot())).toMatchObject({ as: 'adopted', view: { id } });
    await expect(updateSigningCert(given.ca, admin, id, { name: 'x' })).rejects.toMatchObject({
      kind: 'managed_by_kubernetes',
    });
    await expect(apply(aDeclared({ name: 'other', uid: 'uid-2', adopt }), aRoot())).rejects.toMatchObject({
      kind: 'managed_by_kubernetes',
    });
    await expect(apply(aDeclared({ name: 'other', adopt: 'dir_1' }), aRoot())).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  test('what holds the certificate that it imports, where it names that', async () => {
    const { publicCert, privateKey } = await foreignCa();
    const { private_key_type: _, ...online } = aRoot({ public_cert: publicCert, private_key: privateKey });
    const { id } = await applySigningCert(given.ca, aDeclared(), online).then(async ({ view }) => {
      await forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Retain');
      return view;
    });
    const next = aDeclared({ name: 'next', uid: 'uid-2' });
    await expect(apply(next, online)).rejects.toMatchObject({ kind: 'already_exists' });
    const adopt = formatId('scrt', id);
    expect(await apply({ ...next, adopt }, online)).toMatchObject({ as: 'adopted', view: { id } });
  });
});

test('a name that somebody has changed in the database is as declared again', async () => {
  await apply(aDeclared(), aRoot());
  await given.ca.database.db.updateTable('signing_certs').set({ name: 'Drifted' }).execute();
  expect(await apply(aDeclared(), aRoot())).toMatchObject({ as: 'updated', view: { name: 'Corp Root' } });
});

describe('when the object goes', () => {
  test('a retained CA cert serves on, belongs to nobody, and is taken back', async () => {
    const { view } = await apply(aDeclared(), aRoot());
    await forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Retain');
    await withoutWrites(given.ca, () => forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Retain'));
    expect(await rows()).toMatchObject([{ deleted_at: null, orphaned_at: given.ca.clock.now() }]);
    await updateSigningCert(given.ca, admin, view.id, { name: 'By hand' });
    expect(await apply(aDeclared({ uid: 'uid-2' }), aRoot())).toMatchObject({ as: 'adopted', view: { id: view.id } });
    expect(await rows()).toMatchObject([{ name: 'Corp Root', orphaned_at: null, origin_uid: 'uid-2' }]);
  });

  test('a used one that goes with it stays, and says how many need it', async () => {
    const { view } = await apply(aDeclared(), aRoot());
    const issuers = [
      await givenIntermediate(given.ca, { parent: view }),
      await givenIntermediate(given.ca, { parent: view }),
    ];
    const forget = () => forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Delete');
    await expect(forget()).rejects.toMatchObject({
      kind: 'in_use',
      message:
        'CA cert Corp Root cannot be deleted, because these depend on it: 2 CA certs below it; they have to end first.',
    });
    for (const { id } of issuers) await deleteSigningCert(given.ca, admin, id);
    await forget();
    await withoutWrites(given.ca, forget);
    await expect(getSigningCert(given.ca, view.id)).rejects.toMatchObject({ kind: 'not_found' });
    expect(await actions()).toContain('delete by acmery-system/corp');
  });

  test('live certificates hold it until they end', async () => {
    const issuer = await givenIntermediate(given.ca);
    const declared = aDeclared({ adopt: formatId('scrt', issuer.id) });
    await apply(declared, aRoot({ cert_type: 'intermediate', signing_cert_id: issuer.signingCertId ?? '' }));
    const account = await givenAccount(given.ca, issuer);
    for (const validForDays of [10, 30, 20]) await givenIssuedCert(given.ca, account, { validForDays });
    await expect(forgetSigningCert(given.ca, aDeclared({ generation: 2 }), 'Delete')).rejects.toMatchObject({
      message: expect.stringMatching(
        /: 1 directory, 3 issued certs that have not expired; they have to end first, the last of them on 2026-06-16T11:59:59Z\.$/,
      ),
    });
  });
});
