// Conditions as kstatus, kubectl and people read them.
import { expect, test } from 'vitest';
import { conditionsAfter, conditionsPaused, isReady } from '../../../src/operator/conditions.ts';
import type { Condition, Resource } from '../../../src/resources/resource.ts';

const then = new Date('2026-03-01T00:00:00.500Z');
const now = new Date('2026-03-02T00:00:00.500Z');

const anObject = (conditions: readonly Condition[] = [], generation = 3): Resource => ({
  apiVersion: 'acmery.io/v1',
  kind: 'Directory',
  metadata: { namespace: 'shop', name: 'web', uid: 'u', generation, resourceVersion: '1', creationTimestamp: '' },
  spec: {},
  status: { observedGeneration: 2, conditions },
});
const none = new Map();
const told = (reason: string, isRetry = false) => ({ reason, message: 'Because.', isRetry });
const typesOf = (conditions: readonly Condition[]) => conditions.map(({ type, status }) => `${type}=${status}`);
const visit = (resource: Resource, outcome: 'done' | 'wait' | 'stalled', reason: string, isRetry = false) =>
  conditionsAfter(resource, { outcome, told: told(reason, isRetry), own: none, now });

test.each([
  ['done', 'Succeeded', false, ['Ready=True'], []],
  ['wait', 'DependencyNotReady', false, ['Ready=False', 'Reconciling=True'], ['Progressing']],
  ['wait', 'ProgressingWithRetry', true, ['Ready=False', 'Reconciling=True'], ['ProgressingWithRetry']],
  ['stalled', 'SlugConflict', false, ['Ready=False', 'Stalled=True'], ['SlugConflict']],
] as const)('%s (%s) reads as it should', (outcome, reason, isRetry, types, others) => {
  const conditions = visit(anObject(), outcome, reason, isRetry);
  expect(typesOf(conditions)).toEqual(types);
  expect(conditions.map((condition) => condition.reason)).toEqual([reason, ...others]);
  for (const condition of conditions) expect(condition.observedGeneration).toBe(3);
});

test('Reconciling and Stalled are there only while they are true', () => {
  const stalled = visit(anObject(), 'stalled', 'SlugConflict');
  expect(typesOf(visit(anObject(stalled), 'wait', 'DependencyNotReady'))).toEqual(['Ready=False', 'Reconciling=True']);
  expect(typesOf(visit(anObject(stalled), 'done', 'Succeeded'))).toEqual(['Ready=True']);
});

test('the time of a transition moves only when the status flips', () => {
  const first = conditionsAfter(anObject(), { outcome: 'wait', told: told('A'), own: none, now: then });
  const same = conditionsAfter(anObject(first), { outcome: 'wait', told: told('B'), own: none, now });
  const flipped = conditionsAfter(anObject(same), { outcome: 'done', told: told('Succeeded'), own: none, now });
  const readyOf = (conditions: readonly Condition[]) => conditions.find(({ type }) => type === 'Ready');
  expect(readyOf(same)).toMatchObject({ reason: 'B', lastTransitionTime: '2026-03-01T00:00:00Z' });
  expect(readyOf(flipped)).toMatchObject({ lastTransitionTime: '2026-03-02T00:00:00Z' });
});

test("conditions of the kind's own stay until a visit sets them", () => {
  const own = new Map([['Programmed', { status: 'True', reason: 'Succeeded', message: '' } as const]]);
  const set = conditionsAfter(anObject(), { outcome: 'done', told: told('Succeeded'), own, now });
  expect(typesOf(set)).toEqual(['Ready=True', 'Programmed=True']);
  expect(typesOf(visit(anObject(set), 'wait', 'X'))).toEqual(['Ready=False', 'Programmed=True', 'Reconciling=True']);
});

test('a paused object keeps what was said of it', () => {
  const ready = visit(anObject(), 'done', 'Succeeded');
  expect(typesOf(conditionsPaused(anObject(ready), now))).toEqual(['Ready=True', 'Paused=True']);
  expect(typesOf(conditionsPaused(anObject(), now))).toEqual(['Ready=Unknown', 'Paused=True']);
  expect(typesOf(visit(anObject(conditionsPaused(anObject(ready), now)), 'done', 'Succeeded'))).toEqual(['Ready=True']);
});

test('ready is who was found ready as it is now', () => {
  const ready = visit(anObject(), 'done', 'Succeeded');
  expect(isReady(anObject(ready))).toBe(true);
  expect(isReady(anObject(ready, 4))).toBe(false);
  expect(isReady(anObject())).toBe(false);
});
