// Slugs: unique for ever, kept as aliases, taken over from deleted directories on purpose only; races are the database's.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import type { SingleDirectoryView } from '../../src/core/directories.ts';
import { formatId } from '../../src/core/ids.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import type { DirectoryUpdate } from '../../src/resources/fields.ts';
import { claimSlug, listSlugsOfDirectory, releaseSlug } from '../../src/store/directory-slugs.ts';
import { type ApiAnswer, testApi } from '../support/api-client.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { waitingQueries } from '../support/waiting.ts';

let api: Awaited<ReturnType<typeof testApi>>;
let issuer: SingleSigningCertView;
beforeAll(async () => {
  api = await testApi();
  issuer = await givenIntermediate(api.ca);
});
afterAll(() => api[Symbol.asyncDispose]());

const given = (slug: string, reuse_slug = false) => givenDirectory(api.ca, { issuer, slug, reuse_slug });
const create = (slug: string, fields: object = {}) =>
  api.post('/v1/directories', {
    directory: { name: 'Web', slug, signing_cert_id: formatId('scrt', issuer.id), ...fields },
  });
const update = ({ id }: SingleDirectoryView, fields: DirectoryUpdate) => updateDirectory(api.ca, admin, id, fields);
const put = ({ id }: SingleDirectoryView, fields: object) =>
  api.put(`/v1/directories/${formatId('dir', id)}`, { directory: fields });
const remove = ({ id }: SingleDirectoryView) => deleteDirectory(api.ca, admin, id);
const slugsOf = ({ id }: SingleDirectoryView) => listSlugsOfDirectory(api.ca.database.db, id);
/** Who answers to the slug. */
const holdersOf = async (slug: string) => {
  const rows = await api.ca.database.db
    .selectFrom('directory_slugs')
    .select('directory_id')
    .where('slug', '=', slug)
    .where('released_at', 'is', null)
    .execute();
  return rows.map(({ directory_id }) => directory_id);
};
const times = <Result>(count: number, make: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const taken = (detail: RegExp) => ({
  status: 422,
  body: {
    code: 'slug_taken',
    detail: expect.stringMatching(detail),
    errors: [{ field: 'directory.slug', code: 'slug_taken' }],
  },
});
const statuses = (answers: readonly ApiAnswer[]) =>
  answers.map(({ status, body }) => (status === 422 ? `422 ${body.code}` : String(status))).sort();

describe('of several at once that want one slug exactly one gets it', () => {
  test('50 creates', async () => {
    const answers = await times(50, () => create('race'));
    expect(statuses(answers)).toEqual(['201', ...Array.from({ length: 49 }, () => '422 slug_taken')]);
    expect(answers.filter(({ status }) => status === 422)[0]).toMatchObject(
      taken(/^Slug race is that of another directory;/),
    );
    const rows = await api.ca.database.db.selectFrom('directories').select('id').where('slug', '=', 'race').execute();
    expect(rows).toHaveLength(1);
    expect(await holdersOf('race')).toEqual(rows.map(({ id }) => id));
  });

  test('20 changes of different directories', async () => {
    const directories = await times(20, (index) => given(`racer-${index}`));
    const answers = await Promise.all(directories.map((directory) => put(directory, { slug: 'finish' })));
    expect(statuses(answers)).toEqual(['200', ...Array.from({ length: 19 }, () => '422 slug_taken')]);
    expect(await holdersOf('finish')).toHaveLength(1);
  });

  test('20 take-overs from a deleted directory', async () => {
    await remove(await given('estate'));
    const answers = await times(20, () => create('estate', { reuse_slug: true }));
    expect(statuses(answers)).toEqual(['201', ...Array.from({ length: 19 }, () => '422 slug_taken')]);
    expect(await holdersOf('estate')).toHaveLength(1);
  });

  test('a create and the deletion of the holder never leave two holders', async () => {
    const holder = await given('handover');
    const [answer] = await Promise.all([create('handover', { reuse_slug: true }), remove(holder)]);
    expect(['201', '422 slug_taken']).toContain(statuses([answer])[0]);
    expect(await holdersOf('handover')).toHaveLength(1);
  });
});

describe('a slug that was changed', () => {
  test('stays with its directory, which may go back to it', async () => {
    const directory = await given('first');
    await update(directory, { slug: 'second' });
    expect(await slugsOf(directory)).toEqual(['first', 'second']);
    expect(await put(directory, { slug: 'first' })).toMatchObject({ status: 200, body: { slug: 'first' } });
    expect(await slugsOf(directory)).toEqual(['first', 'second']);
    expect(await holdersOf('second')).toEqual([directory.id]);
  });

  test('belongs to nobody else, with or without reuse_slug, while the directory lives', async () => {
    const directory = await given('alias');
    await update(directory, { slug: 'no-alias' });
    const other = await given('other');
    for (const fields of [{}, { reuse_slug: true }]) {
      expect(await create('alias', fields)).toMatchObject(
        taken(/^Slug alias is an old one of another directory, which still answers/),
      );
      expect(await put(other, { slug: 'alias', ...fields })).toMatchObject(taken(/an old one of another directory/));
    }
    expect(await slugsOf(other)).toEqual(['other']);
    expect(await holdersOf('alias')).toEqual([directory.id]);
  });

  test('leaves caa_tag as it was', async () => {
    const directory = await given('tagged');
    expect((await update(directory, { slug: 'tagged-2' })).fields.caa_tag).toBe('tagged.acme.corp.example');
  });
});

describe('a slug of a deleted directory', () => {
  test('is taken for ever, old ones too', async () => {
    const directory = await given('gone');
    await update(directory, { slug: 'gone-2' });
    await remove(directory);
    const other = await given('not-gone');
    for (const slug of ['gone', 'gone-2']) {
      const refused = taken(new RegExp(`^Slug ${slug} was that of a deleted directory; .* reuse_slug: true`));
      expect(await create(slug)).toMatchObject(refused);
      expect(await create(slug, { reuse_slug: false })).toMatchObject(refused);
      expect(await put(other, { slug })).toMatchObject(refused);
    }
  });

  test('is taken over by who says so, one slug at a time', async () => {
    const directory = await given('legacy');
    await update(directory, { slug: 'legacy-2' });
    await remove(directory);
    const answer = await create('legacy', { reuse_slug: true });
    expect(answer).toMatchObject({ status: 201, body: { slug: 'legacy' } });
    expect(answer.body).not.toHaveProperty('reuse_slug');
    expect(await slugsOf(directory)).toEqual(['legacy-2']);
    const other = await given('heir');
    expect(await put(other, { slug: 'legacy-2', reuse_slug: true })).toMatchObject({
      status: 200,
      body: { slug: 'legacy-2' },
    });
    expect(await slugsOf(other)).toEqual(['heir', 'legacy-2']);
    expect(await slugsOf(directory)).toEqual([]);
  });

  test('is not taken over from the new directory', async () => {
    await remove(await given('once'));
    await given('once', true);
    expect(await create('once', { reuse_slug: true })).toMatchObject(taken(/^Slug once is that of another directory;/));
  });

  test('stays with a directory that is revived at the same moment', async () => {
    const directory = await given('revived');
    await remove(directory);
    const { db } = api.ca.database;
    const [created] = await db.transaction().execute(async (tx) => {
      await tx.updateTable('directories').set({ deleted_at: null }).where('id', '=', directory.id).execute();
      const creating = create('revived', { reuse_slug: true });
      await waitingQueries(db, 1);
      return [creating];
    });
    expect(await created).toMatchObject(taken(/^Slug revived is that of another directory;/));
    expect(await holdersOf('revived')).toEqual([directory.id]);
  });

  test('that was taken over comes back to a revived directory only when it is free', async () => {
    const directory = await given('lost');
    await remove(directory);
    const { database } = api.ca;
    const now = api.ca.clock.now();
    expect(await database.inTransaction((tx) => releaseSlug(tx, 'lost', now))).toBe(true);
    expect(await database.inTransaction((tx) => releaseSlug(tx, 'lost', now))).toBe(false);
    await database.db.updateTable('directories').set({ deleted_at: null }).where('id', '=', directory.id).execute();
    expect(await slugsOf(directory)).toEqual([]);
    await database.inTransaction((tx) => claimSlug(tx, 'lost', directory.id, now));
    expect(await slugsOf(directory)).toEqual(['lost']);
  });
});

test('reuse_slug does no harm where the slug is free', async () => {
  expect(await create('fresh', { reuse_slug: true })).toMatchObject({ status: 201 });
  expect(await put(await given('steady'), { reuse_slug: true })).toMatchObject({
    status: 200,
    body: { slug: 'steady' },
  });
});

test('a refused slug leaves nothing of the rest behind', async () => {
  const directory = await given('whole');
  await given('held');
  expect(await put(directory, { slug: 'held', name: 'Half' })).toMatchObject({ status: 422 });
  expect((await api.get(`/v1/directories/${formatId('dir', directory.id)}`)).body).toMatchObject({
    name: 'Web',
    slug: 'whole',
  });
});
