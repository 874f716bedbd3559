// The CustomResourceDefinitions in a real API server, beside the verdicts of our own check.
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { crdFiles } from '../../src/commands/crd-files.ts';
import { kindNames } from '../../src/resources/resource.ts';
import { testCluster } from '../support/cluster.ts';
import { fullStatuses } from '../support/full-statuses.ts';
import { apply, create, installKinds, pathOf, refusal, replace, type Stored } from '../support/installed-kinds.ts';
import { acceptedSpec } from '../support/manifest-of.ts';
import type { TestCluster } from '../support/plane/test-cluster.ts';
import { fullSpecs, specCases, updateCases } from '../support/spec-table.ts';

let cluster: TestCluster;
let namespace: string;

beforeAll(async () => {
  // Without a plane each test is skipped, but this is not.
  if ('unavailable' in inject('plane')) return;
  cluster = await testCluster();
  await installKinds(cluster);
  namespace = await cluster.namespace();
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

let names = 0;
const newName = (): string => `it-${++names}`;

const accepted = specCases.filter(({ refused }) => refused === undefined);
const refused = specCases.filter((row) => row.refused !== undefined);

test.each(accepted)('$kind is accepted with the defaults that we fill in: $about', async ({ kind, spec }) => {
  const stored = await create(cluster, kind, spec, { namespace, isDry: true });
  expect(stored.spec).toEqual(acceptedSpec(kind, spec));
});

test.each(refused)('$kind is refused at $refused: $about', async ({ kind, spec, refused: field }) => {
  expect(await refusal(create(cluster, kind, spec, { namespace, isDry: true }))).toContain(field);
});

test.each(updateCases)('$kind changes: $about', async ({ kind, before, spec, refused: field }) => {
  const stored = await create(cluster, kind, before, { namespace, name: newName() });
  const words = await refusal(replace(cluster, kind, stored, spec));
  if (field === undefined) expect(words).toBeUndefined();
  else expect(words).toContain(field);
});

test.each(fullSpecs)('nothing of a $kind is dropped: $about', async ({ kind, spec }) => {
  const name = newName();
  await create(cluster, kind, spec, { namespace, name });
  const stored = await cluster.admin.request<Stored>({ method: 'GET', path: pathOf(kind, namespace, name) });
  expect(stored.spec).toMatchObject(spec as object);
});

const someSpec = (kind: string): unknown => fullSpecs.find((row) => row.kind === kind)?.spec;

test.each(kindNames)('a new %s says that nobody has looked at it yet', async (kind) => {
  const stored = await create(cluster, kind, someSpec(kind), { namespace, name: newName() });
  expect(stored.status).toEqual({ observedGeneration: -1 });
});

test.each(kindNames)('nothing of the status of a %s is dropped', async (kind) => {
  const name = newName();
  await create(cluster, kind, someSpec(kind), { namespace, name });
  const status = fullStatuses[kind];
  const manager = { manager: 'operator', subresource: '/status' } as const;
  const stored = await apply(cluster, kind, { namespace, name }, { status }, manager);
  expect(stored.status).toEqual(status);
});

test('two who apply a condition each leave the other one alone', async () => {
  const name = newName();
  await create(cluster, 'Directory', someSpec('Directory'), { namespace, name });
  const [ready, bound] = fullStatuses.Directory.conditions ?? [];
  const object = { namespace, name };
  await apply(
    cluster,
    'Directory',
    object,
    { status: { conditions: [ready] } },
    { manager: 'a', subresource: '/status' },
  );
  const both = await apply(
    cluster,
    'Directory',
    object,
    { status: { conditions: [bound] } },
    { manager: 'b', subresource: '/status' },
  );
  expect(both.status).toMatchObject({ conditions: [ready, bound] });
});

test('a list that is applied later takes the place of the default', async () => {
  const object = { namespace, name: newName() };
  const spec = { signingCertRef: { name: 'corp' } };
  await apply(cluster, 'Directory', object, { spec }, { manager: 'gitops' });
  const lists = {
    allowedDnsIdentifiers: ['**.corp.example'],
    allowedIpIdentifiers: [],
    allowedKeyTypes: ['ec_256'],
    profiles: ['client'],
    remoteIpWhitelist: ['10.0.0.0/8'],
  };
  const stored = await apply(cluster, 'Directory', object, { spec: { ...spec, ...lists } }, { manager: 'gitops' });
  expect(stored.spec).toMatchObject(lists);
});

test('kubectl finds them by short name and category, and shows their columns', async () => {
  const own = await cluster.namespace();
  const object = { namespace: own, name: 'shop' };
  await create(cluster, 'ExternalBinding', someSpec('ExternalBinding'), object);
  await apply(
    cluster,
    'ExternalBinding',
    object,
    { status: fullStatuses.ExternalBinding },
    { manager: 'operator', subresource: '/status' },
  );
  const { stdout } = await cluster.kubectl(['get', 'eab', '-n', own, '-o', 'wide']);
  const [header = '', row = ''] = stdout.split('\n');
  expect(header.trim().split(/ {2,}/)).toEqual([
    'NAME',
    'READY',
    'REASON',
    'DIRECTORY',
    'KEY ID',
    'BOUND',
    'SECRET',
    'STATUS',
    'AGE',
  ]);
  expect(row.trim().split(/ {2,}/).slice(0, 7)).toEqual([
    'shop',
    'True',
    'Succeeded',
    'web',
    'shop.shop',
    'True',
    'shop-eab',
  ]);
  expect((await cluster.kubectl(['get', 'acmery', '-n', own, '-o', 'name'])).stdout).toBe(
    'externalbinding.acmery.io/shop\n',
  );
});

test('lists can be asked for what refers to an object', async () => {
  const own = await cluster.namespace();
  for (const name of ['a', 'b'])
    await create(cluster, 'Directory', { signingCertRef: { name } }, { namespace: own, name });
  const { stdout } = await cluster.kubectl([
    'get',
    'directories',
    '-n',
    own,
    '--field-selector=spec.signingCertRef.name=b',
    '-o',
    'name',
  ]);
  expect(stdout).toBe('directory.acmery.io/b\n');
});

test('the API server has nothing to say about the definitions', async () => {
  for (const { text } of crdFiles()) {
    const { stderr } = await cluster.kubectl(
      ['apply', '--server-side', '--dry-run=server', '-f', '-', '--force-conflicts'],
      {
        input: text,
      },
    );
    expect(stderr).toBe('');
  }
});
