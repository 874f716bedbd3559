// How Argo CD reads our conditions, by the script of the examples.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { healthOf } from '../../support/lua.ts';

const folder = join(import.meta.dirname, '../../../examples/argocd');
const script = readFileSync(join(folder, 'health.lua'), 'utf8');

const condition = (type: string, status: 'True' | 'False', message = `${type} is ${status}.`) => ({
  type,
  status,
  message,
});
const object = (
  conditions: readonly object[],
  more: { deletionTimestamp?: string; observedGeneration?: number } = {},
) => {
  const { deletionTimestamp, observedGeneration = 2 } = more;
  return { metadata: { name: 'web', generation: 2, deletionTimestamp }, status: { observedGeneration, conditions } };
};

const ready = condition('Ready', 'True');
const notReady = condition('Ready', 'False');
const cases: readonly (readonly [what: string, seen: object, status: string, message: string | undefined])[] = [
  ['ready', object([ready]), 'Healthy', 'Ready is True.'],
  [
    'made just now',
    object([], { observedGeneration: -1 }),
    'Progressing',
    'It has not been looked at since it was changed.',
  ],
  [
    'without a status',
    { metadata: { name: 'web', generation: 1 } },
    'Progressing',
    'It has not been looked at since it was changed.',
  ],
  [
    'ready before it was changed',
    object([ready], { observedGeneration: 1 }),
    'Progressing',
    'It has not been looked at since it was changed.',
  ],
  ['waiting for another', object([notReady, condition('Reconciling', 'True')]), 'Progressing', 'Reconciling is True.'],
  ['stalled', object([notReady, condition('Stalled', 'True', 'Slug taken.')]), 'Degraded', 'Slug taken.'],
  ['paused', object([ready, condition('Paused', 'True')]), 'Suspended', 'Paused is True.'],
  ['not ready, and no word why', object([notReady]), 'Progressing', 'Ready is False.'],
  [
    'going',
    object([notReady, condition('Stalled', 'True')], { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    'Progressing',
    'Ready is False.',
  ],
  ['not visited', object([]), 'Progressing', 'It has not been looked at yet.'],
];

test.for(cases)('an object that is %s', ([, seen, status, message]) => {
  expect(healthOf(script, seen)).toEqual({ status, message });
});

test('the ConfigMap holds this script, for all of our kinds', () => {
  const { data } = Object(load(readFileSync(join(folder, 'argocd-cm.yaml'), 'utf8')));
  expect(load(data['resource.customizations'])).toEqual({ 'acmery.io/*': { 'health.lua': script } });
});
