import { expect, test } from 'vitest';
import { annotationOf, annotations, CLASS_LABEL, isAnnotated } from '../../../src/resources/annotations.ts';

const annotated = (written: Readonly<Record<string, string>>) => ({
  metadata: {
    namespace: 'here',
    name: 'it',
    uid: 'u',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-03-01T12:00:00Z',
    annotations: written,
  },
});

test('annotations are found by their short name', () => {
  expect(annotations.reconcileRequestedAt).toBe('acmery.io/reconcile-requested-at');
  expect(CLASS_LABEL).toBe('acmery.io/class');
  expect(annotationOf(annotated({ 'acmery.io/renew': 'again' }), 'renew')).toBe('again');
});

test('an empty annotation is none', () => {
  expect(annotationOf(annotated({ 'acmery.io/renew': '' }), 'renew')).toBeUndefined();
  expect(annotationOf(annotated({}), 'renew')).toBeUndefined();
});

test('a long annotation is cut to what a status holds', () => {
  expect(annotationOf(annotated({ 'acmery.io/renew': 'x'.repeat(5_000) }), 'renew')).toHaveLength(1_024);
});

test('only "true" turns something on', () => {
  expect(isAnnotated(annotated({ 'acmery.io/paused': 'true' }), 'paused')).toBe(true);
  expect(isAnnotated(annotated({ 'acmery.io/paused': 'yes' }), 'paused')).toBe(false);
  expect(isAnnotated(annotated({}), 'paused')).toBe(false);
});
