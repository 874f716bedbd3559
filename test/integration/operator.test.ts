// The operator over objects of all kinds: any order converges, nothing is written twice, and everything can go again.
import { expect, test } from 'vitest';
import { parseId } from '../../src/core/ids.ts';
import { isReady } from '../../src/operator/conditions.ts';
import { startOperator } from '../../src/operator/operator.ts';
import { readManifests } from '../../src/resources/manifests.ts';
import { kindNames, type Resource, type ResourceKey } from '../../src/resources/resource.ts';
import { testCa } from '../support/ca.ts';
import { declaredObjects } from '../support/declared-objects.ts';
import { eventually } from '../support/eventually.ts';
import { spendToken } from '../support/given-acme-key.ts';
import { ANCHOR } from '../support/given-operator.ts';

const NAMESPACE = 'acmery-system';

/** A declaration with the defaults that an API server fills in. */
function declared(kind: ResourceKey['kind'], name: string, spec: object, namespace = NAMESPACE) {
  const value = { apiVersion: 'acmery.io/v1', kind, metadata: { name, namespace }, spec };
  const { manifests, problems } = readManifests([{ file: 'test', value, places: [] }], NAMESPACE);
  const [manifest] = manifests;
  if (manifest === undefined) throw new Error(JSON.stringify(problems));
  return { kind, name, namespace, spec: manifest.spec as object };
}

const root = declared('SigningCert', 'root', {
  certType: 'root',
  keyAvailability: 'online',
  privateKeyType: 'ec_256',
  deletionPolicy: 'Delete',
});
const issuing = declared('SigningCert', 'issuing', {
  certType: 'intermediate',
  keyAvailability: 'online',
  privateKeyType: 'ec_256',
  signingCertRef: { name: 'root' },
  deletionPolicy: 'Delete',
});
const web = declared('Directory', 'web', { signingCertRef: { name: 'issuing' }, allowedNamespaces: { from: 'All' } });
const aBinding = (name: string, keyId = name, namespace = 'shop') =>
  declared('ExternalBinding', name, { directoryRef: { name: 'web', namespace: NAMESPACE }, keyId }, namespace);
const shop = aBinding('shop');
const edge = declared(
  'AcmeKey',
  'edge',
  { directoryRef: { name: 'web', namespace: NAMESPACE }, generate: { keyType: 'ec_256' } },
  'shop',
);
const everything = [root, issuing, web, shop, edge];

async function anOperator({ comparisonMs }: { readonly comparisonMs?: number } = {}) {
  await using scope = new AsyncDisposableStack();
  const { ca, metrics } = scope.use(await testCa());
  const objects = declaredObjects(ca.clock);
  const { source, outputs, events } = objects;
  const start = () =>
    startOperator({
      ca,
      source,
      outputs,
      events,
      namespace: NAMESPACE,
      caNamespaces: [NAMESPACE],
      anchors: () => ANCHOR,
      random: () => 0.5,
      leadership: { lead: (work, signal) => work(signal) },
      ...(comparisonMs !== undefined && { comparisonMs }),
    });
  let running = start();
  scope.defer(() => running[Symbol.asyncDispose]());
  const all = (): readonly Resource[] => kindNames.flatMap((kind) => source.list(kind));
  const ready = (...keys: readonly ResourceKey[]) =>
    eventually(`${keys.map(({ name }) => name)} are ready`, () =>
      keys.every((key) => {
        const object = objects.read(key);
        return object !== undefined && isReady(object);
      }),
    );
  const reason = (key: ResourceKey) =>
    objects.read(key)?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
  /** How often objects of the kind were looked at. */
  const visits = async (kind: ResourceKey['kind']): Promise<number> =>
    [...(await metrics()).matchAll(/^controller_runtime_reconcile_total\{controller="(\w+)".*\} (\d+)$/gm)]
      .filter(([, controller]) => controller === kind)
      .reduce((sum, [, , count]) => sum + Number(count), 0);
  const opened = scope.move();
  return {
    ca,
    objects,
    visits,
    all,
    ready,
    reason,
    stop: () => running[Symbol.asyncDispose](),
    restart: () => {
      running = start();
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

test.each([
  ['as they refer to each other', everything],
  ['the other way round', everything.toReversed()],
  ['in some order', [edge, root, shop, web, issuing]],
])('what is declared %s comes to be', async (_order, manifests) => {
  await using operator = await anOperator();
  for (const manifest of manifests) operator.objects.apply(manifest);
  await operator.ready(...everything);
  expect(operator.objects.outputs.output('Secret', 'shop', 'shop-eab')?.values).toMatchObject({ kid: 'shop' });
});

test('a restart writes nothing, also of Secrets', async () => {
  await using operator = await anOperator();
  for (const manifest of everything) operator.objects.apply(manifest);
  await operator.ready(...everything);
  await operator.objects.caughtUp();
  await operator.stop();
  const before = operator.objects.requests.length;
  operator.restart();
  const later = operator.objects.apply(aBinding('later'));
  await operator.ready({ ...later, ...later.metadata });
  expect(operator.objects.requests.slice(before).filter((line) => !line.includes('later'))).toEqual([]);
});

test('a Directory that changes has its bindings looked at, and nothing written where nothing differs', async () => {
  await using operator = await anOperator();
  const { objects, visits } = operator;
  for (const manifest of [root, issuing, web, shop]) objects.apply(manifest);
  await operator.ready(shop);
  await objects.caughtUp();
  const before = { requests: objects.requests.length, visits: await visits('ExternalBinding') };
  objects.apply({
    ...web,
    spec: { ...web.spec, certMaxDays: 20, allowedNamespaces: { from: 'Selector', selector: {} } },
  });
  await operator.ready(web);
  await objects.caughtUp();
  await eventually('the binding is looked at', async () => (await visits('ExternalBinding')) > before.visits);
  expect(objects.requests.slice(before.requests).filter((line) => line.includes('shop'))).toEqual([]);
  expect(operator.reason(shop)).toBe('Succeeded');
});

test('a Directory that changes so that a namespace is no longer let in tells its bindings at once', async () => {
  await using operator = await anOperator();
  const { objects } = operator;
  for (const manifest of [root, issuing, web, shop]) objects.apply(manifest);
  await operator.ready(shop);
  objects.apply({ ...web, spec: { ...web.spec, allowedNamespaces: { from: 'Same' } } });
  await eventually('the binding says so', () => operator.reason(shop) === 'RefNotPermitted');
});

test('everything that is deleted at once goes, whatever refers to what', async () => {
  await using operator = await anOperator();
  for (const manifest of everything) operator.objects.apply(manifest);
  await operator.ready(...everything);
  for (const manifest of everything) operator.objects.delete(manifest);
  await eventually('all are gone', () => everything.every((key) => operator.objects.read(key) === undefined));
});

test('a CA waits for its directory, and a directory for its binding, and each goes on when that is gone', async () => {
  await using operator = await anOperator();
  for (const manifest of [root, issuing, web, shop]) operator.objects.apply(manifest);
  await operator.ready(web, shop);
  operator.objects.delete(root);
  operator.objects.delete(web);
  await eventually(
    'both wait',
    () => operator.reason(root) === 'DeletionBlocked' && operator.reason(web) === 'DeletionBlocked',
  );
  operator.objects.delete(shop);
  await eventually('the directory is gone', () => operator.objects.read(web) === undefined);
  operator.objects.delete(issuing);
  await eventually('the CAs are gone', () => operator.objects.read(root) === undefined);
});

test('of two that claim one key id the other one gets it when the first goes', async () => {
  await using operator = await anOperator();
  for (const manifest of [root, issuing, web, shop]) operator.objects.apply(manifest);
  await operator.ready(shop);
  const other = aBinding('other', 'shop');
  operator.objects.apply(other);
  await eventually('it is told', () => operator.reason(other) === 'KeyIdConflict');
  operator.objects.delete(shop);
  await operator.ready(other);
});

test('what a client does shows in the status without a visit that time would bring', async () => {
  await using operator = await anOperator();
  const { ca, objects } = operator;
  for (const manifest of [root, issuing, web, shop]) objects.apply(manifest);
  await operator.ready(shop);
  const status = () => ({ ...objects.read(shop)?.status }) as { id?: string; acmeKeyId?: string };
  const directory = { ...objects.read(web)?.status } as { id?: string };
  const token = { id: parseId('eab', status().id ?? '') ?? '', directoryId: parseId('dir', directory.id ?? '') ?? '' };
  await spendToken(ca, token);
  await eventually('the account shows', () => status().acmeKeyId !== undefined);
});

test('the token of a binding that went while nobody led goes too, but not at the first glance', async () => {
  await using operator = await anOperator({ comparisonMs: 50 });
  const { ca, objects } = operator;
  for (const manifest of [root, issuing, web, shop]) objects.apply(manifest);
  await operator.ready(shop);
  await operator.stop();
  objects.delete(shop);
  await objects.caughtUp();
  operator.restart();
  await eventually(
    'the key id is free',
    async () =>
      (await ca.database.db
        .selectFrom('external_bindings')
        .select('id')
        .where('key_id', '=', 'shop')
        .where('deleted_at', 'is', null)
        .executeTakeFirst()) === undefined,
  );
});

test('what the leader does beside goes on while this process leads, and no longer', async () => {
  await using it = await testCa();
  const { source, outputs, events } = declaredObjects(it.ca.clock);
  const told: string[] = [];
  const turns = [new AbortController(), new AbortController()];
  const begun = Promise.withResolvers<void>();
  const operator = startOperator({
    ca: it.ca,
    source,
    outputs,
    events,
    namespace: NAMESPACE,
    caNamespaces: [NAMESPACE],
    anchors: () => ANCHOR,
    random: () => 0.5,
    leadership: {
      async lead(work) {
        await begun.promise;
        for (const turn of turns) await work(turn.signal);
      },
    },
    beside: async (anchors, leading) => {
      told.push(`${anchors()} begins`);
      await new Promise((ended) => leading.addEventListener('abort', ended));
      told.push('ends');
    },
  });
  expect(told).toEqual([]);
  begun.resolve();
  await eventually('it has begun', () => told.length === 1);
  turns[0]?.abort();
  await eventually('it has begun anew', () => told.length === 3);
  turns[1]?.abort();
  await operator[Symbol.asyncDispose]();
  expect(told).toEqual([`${ANCHOR} begins`, 'ends', `${ANCHOR} begins`, 'ends']);
});
