// Directories of custom resources: made, changed, fenced, taken over, revived with their accounts, and left behind.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import type { Declared } from '../../src/core/declared.ts';
import { applyDirectory, forgetDirectory } from '../../src/core/declared-directory.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { getDirectory } from '../../src/core/directories.ts';
import { directoryRoots } from '../../src/core/directory-roots.ts';
import { formatId } from '../../src/core/ids.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import { type DirectoryCreate, directoryInput } from '../../src/resources/fields.ts';
import { claimSlug, listSlugsOfDirectory, releaseSlug } from '../../src/store/directory-slugs.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { admin } from '../support/given.ts';
import { givenAcmeKey } from '../support/given-acme-key.ts';
import { aDeclared, withoutWrites } from '../support/given-declared.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenAccount } from '../support/given-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { waitingQueries } from '../support/waiting.ts';

let given: TestCa;
let ca: Ca;
let issuer: SingleSigningCertView;
beforeAll(async () => {
  given = await testCa();
  ({ ca } = given);
  issuer = await givenIntermediate(ca);
});
afterAll(() => given[Symbol.asyncDispose]());

let made = 0;
/** An object with a slug of its own, as its name is. */
const anObject = (parts: Partial<Declared> = {}): Declared => {
  made += 1;
  return aDeclared({ name: `dir-${made}`, uid: `uid-${made}`, ...parts });
};
const wanted = ({ name }: Declared, parts: Partial<DirectoryCreate> = {}): DirectoryCreate => {
  const directory = { name: 'Web', slug: name, signing_cert_id: formatId('scrt', issuer.id) };
  const input = directoryInput.create({ directory });
  if (!input.ok) throw new Error(JSON.stringify(input.problems));
  return { ...input.value, signing_cert_id: issuer.id, ...parts };
};
const apply = (declared: Declared, parts: Partial<DirectoryCreate> = {}) =>
  applyDirectory(ca, declared, wanted(declared, parts));
const later = (declared: Declared, by = 1): Declared => ({ ...declared, generation: declared.generation + by });
const reborn = (declared: Declared, parts: Partial<Declared> = {}): Declared => ({
  ...declared,
  uid: `${declared.uid}-again`,
  generation: 1,
  ...parts,
});
const rowOf = (id: string) =>
  ca.database.db
    .selectFrom('directories')
    .select([
      'name',
      'version',
      'origin',
      'origin_uid',
      'origin_generation',
      'orphaned_at',
      'deleted_at',
      'rollover_at',
    ])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
const actionsOn = async (id: string) =>
  (
    await ca.database.db.selectFrom('audit').select(['action', 'actor', 'detail']).where('object_id', '=', id).execute()
  ).map(({ action, actor }) => `${action} by ${actor}`);

describe('a directory is made as it is declared', () => {
  test('once: again, it is read and not written', async () => {
    const object = anObject();
    const { as, view } = await apply(object);
    expect({ as, url: view.directoryUrl }).toEqual({
      as: 'created',
      url: `https://acme.corp.example/acme/${object.name}/directory`,
    });
    expect(await withoutWrites(ca, () => apply(object))).toEqual({ as: 'unchanged', view });
    expect(await actionsOn(view.id)).toEqual([`create by acmery-system/${object.name}`]);
  });

  test('once by ten at the same moment', async () => {
    const object = anObject();
    const applied = await Promise.all(Array.from({ length: 10 }, () => apply(object)));
    expect(new Set(applied.map(({ view }) => view.id)).size).toBe(1);
    expect(applied.filter(({ as }) => as === 'created')).toHaveLength(1);
  });

  test('a changed spec is written, and what is no longer in it has its default again', async () => {
    const object = anObject();
    const first = await apply(object, { website: 'https://pki.corp.example', caa_tag: 'ca.corp.example' });
    const { as, view } = await apply(later(object), { cert_max_days: 30 });
    expect(as).toBe('updated');
    expect(view.fields).toMatchObject({
      cert_max_days: 30,
      website: null,
      caa_tag: `${object.name}.acme.corp.example`,
    });
    expect(await rowOf(first.view.id)).toMatchObject({ version: 2, origin_generation: 2 });
  });

  test('one that somebody has changed in the database is as declared again', async () => {
    const object = anObject();
    const { view } = await apply(object);
    await ca.database.db.updateTable('directories').set({ name: 'Drifted' }).where('id', '=', view.id).execute();
    expect((await apply(object)).as).toBe('updated');
    expect(await rowOf(view.id)).toMatchObject({ name: 'Web', version: 2 });
  });

  test('a later state that changes nothing raises the fence, without a record', async () => {
    const object = anObject();
    const { view } = await apply(object);
    expect((await apply(later(object))).as).toBe('unchanged');
    expect(await rowOf(view.id)).toMatchObject({ origin_generation: 2, version: 2 });
    expect(await actionsOn(view.id)).toHaveLength(1);
  });

  test('all that is wrong with it is refused at once, and nothing made', async () => {
    const object = anObject();
    const bad = { allowed_dns_identifiers: ['a.*.b'], cert_min_days: 9, cert_max_days: 3 };
    await expect(withoutWrites(ca, () => apply(object, bad))).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ field: 'allowed_dns_identifiers[0]' }, { field: 'cert_min_days' }],
    });
  });
});

describe('another CA cert is a rollover', () => {
  test('whose former root is trusted while a certificate of it is out', async () => {
    const object = anObject();
    const { view } = await apply(object);
    const [before] = await directoryRoots(ca, view.id);
    const account = await givenAccount(ca, issuer, view.id);
    await givenIssuedCert(ca, account, { validForDays: 10 });
    const next = await givenIntermediate(ca);
    expect((await apply(later(object), { signing_cert_id: next.id })).as).toBe('updated');
    expect(await rowOf(view.id)).toMatchObject({ rollover_at: ca.clock.now() });
    const [now, ...former] = await directoryRoots(ca, view.id);
    expect(former).toEqual([before]);
    expect(now).not.toBe(before);
    const inAWhile = { ...ca, clock: { ...ca.clock, now: () => new Date(ca.clock.now().getTime() + 11 * 86_400_000) } };
    expect(await directoryRoots(inAWhile, view.id)).toEqual([now]);
  });

  test('back and forth remembers each CA cert once', async () => {
    const object = anObject();
    const { view } = await apply(object);
    const next = await givenIntermediate(ca);
    await apply(later(object), { signing_cert_id: next.id });
    await apply(later(object, 2));
    await apply(later(object, 3), { signing_cert_id: next.id });
    const { former_signing_certs } = await ca.database.db
      .selectFrom('directories')
      .select('former_signing_certs')
      .where('id', '=', view.id)
      .executeTakeFirstOrThrow();
    expect(former_signing_certs).toEqual([issuer.id]);
  });
});

describe('the fence', () => {
  test('an earlier state of the object changes nothing after a later one', async () => {
    const object = anObject();
    const { view } = await apply(object);
    await apply(later(object, 2), { name: 'New' });
    for (const late of [
      async () => void (await apply(later(object), { name: 'Old' })),
      () => forgetDirectory(ca, later(object), 'Retain'),
      () => forgetDirectory(ca, later(object), 'Delete'),
    ])
      await expect(withoutWrites(ca, late)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await rowOf(view.id)).toMatchObject({ name: 'New', origin_generation: 3, deleted_at: null });
  });

  test('an object of another uid leaves alone what is not its own', async () => {
    const object = anObject();
    await apply(object);
    await withoutWrites(ca, () => forgetDirectory(ca, reborn(object), 'Delete'));
  });
});

describe('a slug', () => {
  test('of another directory is refused, in words for those who declare', async () => {
    const [one, other] = [anObject(), anObject()];
    await apply(one);
    await expect(apply(other, { slug: one.name })).rejects.toMatchObject({ kind: 'slug_taken' });
    await forgetDirectory(ca, later(one), 'Delete');
    await expect(apply(other, { slug: one.name })).rejects.toMatchObject({
      kind: 'slug_taken',
      message: expect.stringContaining('annotation acmery.io/reuse-slug: "true"'),
    });
    expect((await apply(other, { slug: one.name, reuse_slug: true })).as).toBe('created');
  });

  test('never changes', async () => {
    const object = anObject();
    await apply(object);
    await expect(apply(later(object), { slug: 'elsewhere' })).rejects.toMatchObject({ kind: 'immutable' });
  });

  test('of a directory of /v1 leads to the way to take that over, as it is', async () => {
    const { id } = await givenDirectory(ca, { issuer, slug: 'by-hand' });
    const object = anObject();
    const adopt = formatId('dir', id);
    await expect(apply(object, { slug: 'by-hand' })).rejects.toMatchObject({
      kind: 'already_exists',
      message: expect.not.stringContaining(adopt),
    });
    const adopted = await apply({ ...object, adopt });
    expect(adopted).toMatchObject({ as: 'adopted', view: { id, fields: { slug: 'by-hand' } } });
    expect((await withoutWrites(ca, () => apply({ ...object, adopt }))).as).toBe('unchanged');
    await expect(updateDirectory(ca, admin, id, { name: 'x' })).rejects.toMatchObject({
      kind: 'managed_by_kubernetes',
    });
    await expect(apply(anObject({ adopt }))).rejects.toMatchObject({ kind: 'managed_by_kubernetes' });
  });
});

describe('an object of the same name', () => {
  test('takes over a row of another uid with the same slug, and none with another', async () => {
    const object = anObject();
    const { view } = await apply(object);
    const again = reborn(object);
    const other = wanted(object, { slug: 'another' });
    await expect(applyDirectory(ca, again, other)).rejects.toMatchObject({ kind: 'already_exists' });
    expect(await apply(again)).toEqual({ as: 'adopted', view });
    expect(await rowOf(view.id)).toMatchObject({ origin_uid: again.uid, origin_generation: 1 });
    expect((await withoutWrites(ca, () => apply(again))).as).toBe('unchanged');
  });

  test('brings a deleted directory back, with its accounts and as it is declared now', async () => {
    const object = anObject();
    const { view } = await apply(object);
    const account = await givenAcmeKey(ca, view);
    await forgetDirectory(ca, later(object), 'Delete');
    await withoutWrites(ca, () => forgetDirectory(ca, later(object), 'Delete'));
    await expect(getDirectory(ca, view.id)).rejects.toMatchObject({ kind: 'not_found' });
    const revived = await apply(reborn(object), { name: 'Back' });
    expect(revived).toMatchObject({ as: 'adopted', view: { id: view.id, fields: { name: 'Back' } } });
    expect(await rowOf(view.id)).toMatchObject({ deleted_at: null, origin_uid: reborn(object).uid });
    const { state, directory_id } = await ca.database.db
      .selectFrom('acme_keys')
      .select(['state', 'directory_id'])
      .where('id', '=', account.id)
      .executeTakeFirstOrThrow();
    expect({ state, directory_id }).toEqual({ state: 'valid', directory_id: view.id });
    expect(await actionsOn(view.id)).toContain(`revive by acmery-system/${object.name}`);
  });

  test('makes a new one where the slug has gone to another meanwhile', async () => {
    const object = anObject();
    const { view } = await apply(object);
    await forgetDirectory(ca, later(object), 'Delete');
    const { id } = await givenDirectory(ca, { issuer, slug: object.name, reuse_slug: true });
    await expect(apply(reborn(object))).rejects.toMatchObject({ kind: 'already_exists' });
    await deleteDirectory(ca, admin, id);
    const again = await apply(reborn(object), { reuse_slug: true });
    expect([again.as, again.view.id === view.id]).toEqual(['created', false]);
    expect(await listSlugsOfDirectory(ca.database.db, view.id)).toEqual([]);
  });

  test('loses against who takes the slug at the same moment', async () => {
    const object = anObject();
    const { view } = await apply(object);
    await forgetDirectory(ca, later(object), 'Delete');
    const { db } = ca.database;
    const { id } = await givenDirectory(ca, { issuer });
    const [reviving] = await db.transaction().execute(async (tx) => {
      await releaseSlug(tx, object.name, ca.clock.now());
      await claimSlug(tx, object.name, id, ca.clock.now());
      const [applied] = [apply(reborn(object))];
      await waitingQueries(db, 1);
      return [Promise.allSettled([applied])];
    });
    expect(await reviving).toMatchObject([{ status: 'rejected', reason: { kind: 'slug_taken' } }]);
    expect((await rowOf(view.id)).deleted_at).not.toBeNull();
  });

  test('in another namespace does not bring it back', async () => {
    const object = anObject();
    await apply(object);
    await forgetDirectory(ca, later(object), 'Delete');
    await expect(apply(reborn(object, { namespace: 'shop' }))).rejects.toMatchObject({ kind: 'slug_taken' });
  });

  test('takes back what was retained, and meanwhile /v1 may change it', async () => {
    const object = anObject();
    const { view } = await apply(object);
    await forgetDirectory(ca, later(object), 'Retain');
    await withoutWrites(ca, () => forgetDirectory(ca, later(object), 'Retain'));
    expect(await rowOf(view.id)).toMatchObject({ orphaned_at: ca.clock.now(), deleted_at: null });
    await updateDirectory(ca, admin, view.id, { name: 'By hand' });
    expect(await apply(reborn(object))).toMatchObject({
      as: 'adopted',
      view: { id: view.id, fields: { name: 'Web' } },
    });
    expect(await rowOf(view.id)).toMatchObject({ orphaned_at: null });
  });
});
