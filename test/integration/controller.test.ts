// A controller over objects of a cluster: steps, conditions, finalizers, pauses, and no write where nothing changes.
import { expect, test } from 'vitest';
import { CaError } from '../../src/core/errors.ts';
import { done, type Outcome } from '../../src/operator/reconciler.ts';
import { keyOf } from '../../src/resources/resource.ts';
import { eventually } from '../support/eventually.ts';
import { aController, doing, key, stalled } from '../support/given-controller.ts';

const wait: Outcome = { outcome: 'wait', reason: 'DependencyNotReady', message: 'Not yet.' };

test('steps run in order, and what they set stands in one status', async () => {
  const order: string[] = [];
  await using one = await aController({
    steps: [
      async (_operator, visit) => {
        order.push('first');
        visit.condition('Accepted', { status: 'True', reason: 'Succeeded', message: '' });
        return done;
      },
      async (_operator, visit) => {
        order.push('second');
        visit.status.seen = visit.resource.spec.text ?? '';
        return done;
      },
    ],
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded', Accepted: 'True Succeeded' });
  expect(order.slice(0, 2)).toEqual(['first', 'second']);
  expect(one.objects.read(key)?.status).toMatchObject({ observedGeneration: 1, seen: 'a' });
  expect(one.objects.requests).toEqual(['patch Directory/status shop/web']);
});

test('a second visit writes nothing, also before the copy has caught up', async () => {
  let visits = 0;
  await using one = await aController({ steps: [doing(() => visits++)] });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  const before = visits;
  using held = one.objects.holdCopy();
  one.controller.enqueue(key);
  await eventually('it was visited again', () => visits > before);
  held[Symbol.dispose]();
  one.controller.enqueue(key);
  await eventually('and again', () => visits > before + 1);
  expect(one.objects.requests).toEqual(['patch Directory/status shop/web']);
});

test.each([
  ['waits', wait, { Ready: 'False DependencyNotReady', Reconciling: 'True Progressing' }, 'Normal'],
  ['stalls', stalled, { Ready: 'False SlugConflict', Stalled: 'True SlugConflict' }, 'Warning'],
] as const)('a step that %s ends the visit, and one event says so', async (_how, outcome, conditions, type) => {
  let isBlocked = true;
  const later: string[] = [];
  await using one = await aController({
    steps: [async () => (isBlocked ? outcome : done), doing(() => later.push('ran'))],
  });
  one.apply();
  await one.told(conditions);
  one.controller.enqueue(key);
  isBlocked = false;
  one.controller.enqueue(key);
  await one.told({ Ready: 'True Succeeded' });
  expect(one.objects.recorded.filter(({ reason }) => reason === outcome.reason)).toMatchObject([{ type }]);
  expect(later.length).toBeGreaterThan(0);
  expect(one.conditions()).not.toHaveProperty('Stalled');
});

test('a refusal of the core is an outcome, with fields by their names in the spec', async () => {
  const problems = [{ field: 'cert_max_days', code: 'out_of_range', message: 'expected at most 3650' }];
  await using one = await aController({
    steps: [async () => Promise.reject(new CaError('invalid', 'x', { problems }))],
  });
  one.apply();
  await one.told({ Stalled: 'True InvalidSpec' });
  const ready = one.objects.read(key)?.status?.conditions?.find(({ type }) => type === 'Ready');
  expect(ready?.message).toBe('certMaxDays: expected at most 3650.');
});

test('what passes is tried again by itself, and a new object is told that it waits', async () => {
  let failures = 2;
  await using one = await aController({
    steps: [async () => (failures-- > 0 ? Promise.reject(new CaError('unavailable', 'The database is away.')) : done)],
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  expect(failures).toBeLessThan(0);
  expect(one.objects.recorded.map(({ reason }) => reason)).toContain('ProgressingWithRetry');
});

test('a trouble of seconds leaves a ready object ready', async () => {
  let failures = 0;
  let visits = 0;
  await using one = await aController({
    steps: [
      async () => {
        visits++;
        return failures-- > 0 ? Promise.reject(new CaError('unavailable', 'The database is away.')) : done;
      },
    ],
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  failures = 2;
  const before = visits;
  one.controller.enqueue(key);
  await eventually('it has failed twice and gone well', () => visits >= before + 3);
  expect(one.objects.requests).toEqual(['patch Directory/status shop/web']);
});

test('a bug is logged, counted and tried again, and ends nothing', async () => {
  let failures = 1;
  await using one = await aController({
    steps: [async () => (failures-- > 0 ? Promise.reject(new Error('a bug')) : done)],
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  expect(one.logLines.join('')).toContain('a bug');
  expect(await one.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="Directory"} 1');
});

test('a finalizer comes before the first step, and goes only when everything was undone', async () => {
  const seen: (readonly string[] | undefined)[] = [];
  let isUsed = true;
  await using one = await aController({
    needsFinalizer: () => true,
    steps: [doing(() => seen.push(one.objects.read(key)?.metadata.finalizers))],
    deletion: [async () => (isUsed ? { ...wait, reason: 'DeletionBlocked' } : done)],
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  expect(seen[0]).toEqual(['acmery.io/finalizer']);
  one.objects.delete(key);
  await one.told({ Ready: 'False DeletionBlocked' });
  isUsed = false;
  one.controller.enqueue(key);
  await eventually('it is gone', () => one.objects.read(key) === undefined);
});

test('by annotation an object goes whatever holds it', async () => {
  await using one = await aController({ needsFinalizer: () => true, deletion: [async () => wait] });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  one.objects.delete(key);
  await one.told({ Ready: 'False DependencyNotReady' });
  one.objects.annotate(key, { 'acmery.io/force-delete': 'true' });
  await eventually('it is gone', () => one.objects.read(key) === undefined);
});

test('a paused object is left alone, deletion included, and goes on afterwards', async () => {
  let visits = 0;
  await using one = await aController({ needsFinalizer: () => true, steps: [doing(() => visits++)] });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  one.objects.annotate(key, { 'acmery.io/paused': 'true' });
  await one.told({ Ready: 'True Succeeded', Paused: 'True Suspended' });
  const before = visits;
  one.apply('b');
  one.objects.delete(key);
  one.controller.enqueue(key);
  await one.objects.caughtUp();
  expect(visits).toBe(before);
  expect(one.objects.read(key)).toBeDefined();
  expect(one.objects.recorded.map(({ reason }) => reason)).toEqual(['ReconciliationPaused']);
  one.objects.annotate(key, { 'acmery.io/paused': undefined });
  await eventually('it is gone', () => one.objects.read(key) === undefined);
});

test('a request for a visit is answered', async () => {
  await using one = await aController({});
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  one.objects.annotate(key, { 'acmery.io/reconcile-requested-at': 'now' });
  await eventually('it is answered', () => one.objects.read(key)?.status?.lastHandledReconcileAt === 'now');
});

test('an object that had no finalizer is settled when it is gone', async () => {
  const gone: string[] = [];
  await using one = await aController({
    gone: async (_operator, { namespace, name }) => void gone.push(`${namespace}/${name}`),
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  one.objects.delete(key);
  await eventually('it is settled', () => gone.length > 0);
  expect(gone).toEqual(['shop/web']);
});

test('an object that is only out of sight is not settled', async () => {
  const gone: string[] = [];
  await using one = await aController({ gone: async (_operator, { name }) => void gone.push(name) });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  one.objects.hide(key);
  await one.objects.caughtUp();
  one.apply('b');
  await eventually('it is seen again', () => one.objects.read(key)?.status?.observedGeneration === 2);
  expect(gone).toEqual([]);
});

test('at a restart visits are not thorough; those after a change are', async () => {
  const thorough: boolean[] = [];
  await using one = await aController({
    steps: [doing((_operator, { isThorough }) => thorough.push(isThorough))],
  });
  one.objects.source.follow({ changed: () => undefined, namespaceChanged: () => undefined });
  const resource = one.apply();
  await one.objects.caughtUp();
  one.controller.enqueue(keyOf(resource), 'glance');
  await eventually('it was visited', () => thorough.length === 1);
  one.controller.enqueue(keyOf(resource));
  await eventually('it was visited again', () => thorough.length === 2);
  expect(thorough).toEqual([false, true]);
});
