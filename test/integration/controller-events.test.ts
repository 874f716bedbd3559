// Which events a controller tells where a status cannot be written: each thing once, and no state that was not reported.
import { expect, test } from 'vitest';
import { CaError } from '../../src/core/errors.ts';
import { done, type Step } from '../../src/operator/reconciler.ts';
import type { News } from '../../src/operator/untold.ts';
import { eventually } from '../support/eventually.ts';
import { aController, doing, key, type Sample, stalled } from '../support/given-controller.ts';

/** A step that finds its work done when it comes again. */
const doingOnce = (event: News): Step<Sample> => {
  let isDone = false;
  return doing((_operator, visit) => {
    if (!isDone) visit.event(event);
    isDone = true;
  });
};
const made: News = { type: 'Normal', reason: 'BindingCreated', note: 'Made the token.' };
/** Told by the status alone. */
const used: News = { ...made, reason: 'BindingUsed' };

test('what has happened is told once, though the status that goes with it is written at the third try', async () => {
  await using one = await aController({
    steps: [
      doingOnce(made),
      doing((_operator, { resource, status, event }) => {
        if (resource.status?.seen === undefined) event(used);
        status.seen = 'used';
      }),
    ],
  });
  let refused = 0;
  one.objects.refuse(() => (refused++ < 2 ? 'conflict' : undefined));
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  await eventually('it is told', () => one.objects.recorded.length > 1);
  expect(one.objects.requests).toHaveLength(3);
  expect(one.objects.recorded.map(({ reason }) => reason)).toEqual(['BindingCreated', 'BindingUsed']);
});

test('what has happened is told though a later step fails for a while, with no status to be written', async () => {
  let failures = 0;
  let isToldOf = false;
  await using one = await aController({
    steps: [
      doing((_operator, visit) => isToldOf && visit.event(made)),
      async () => {
        isToldOf = false;
        return failures-- > 0 ? Promise.reject(new CaError('unavailable', 'The database is away.')) : done;
      },
    ],
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  [failures, isToldOf] = [1, true];
  one.controller.enqueue(key);
  await eventually('it is told', () => one.objects.recorded.length > 0);
  expect(one.objects.recorded).toMatchObject([made]);
});

test('of a state that was reported, though the answer was lost, one event tells', async () => {
  await using one = await aController({ steps: [async () => stalled] });
  one.objects.refuse(() => {
    one.objects.refuse(undefined);
    const common = { message: 'Choose another slug.', observedGeneration: 1, lastTransitionTime: '' };
    one.objects.setStatus(key, {
      observedGeneration: 1,
      conditions: [
        { type: 'Ready', status: 'False', reason: 'SlugConflict', ...common },
        { type: 'Stalled', status: 'True', reason: 'SlugConflict', ...common },
      ],
    });
    return 'unavailable';
  });
  one.apply();
  await eventually('it is told', () => one.objects.recorded.length > 0);
  one.objects.annotate(key, { 'acmery.io/reconcile-requested-at': 'now' });
  await eventually('it was visited', () => one.objects.read(key)?.status?.lastHandledReconcileAt === 'now');
  await one.objects.caughtUp();
  expect(one.objects.recorded.map(({ reason }) => reason)).toEqual(['SlugConflict']);
});

test('a state that was never reported is told by no event', async () => {
  let isBlocked = true;
  await using one = await aController({ steps: [async () => (isBlocked ? stalled : done)] });
  one.objects.refuse(() => {
    one.objects.refuse(undefined);
    isBlocked = false;
    return 'conflict';
  });
  one.apply();
  await one.told({ Ready: 'True Succeeded' });
  await one.objects.caughtUp();
  expect(one.objects.recorded).toEqual([]);
});

test('what happened to an object is not told of another one that has its name', async () => {
  await using one = await aController({ steps: [doingOnce(made)] });
  one.objects.refuse(() => 'conflict');
  one.apply();
  await eventually('its status was to be written', () => one.objects.requests.length > 0);
  one.objects.restore(key);
  one.objects.refuse(undefined);
  await one.told({ Ready: 'True Succeeded' });
  await one.objects.caughtUp();
  expect(one.objects.recorded).toEqual([]);
});
