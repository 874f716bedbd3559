// References: whom one may name, and who has to look again when that one changes.
import { describe, expect, test } from 'vitest';
import type { OperatorContext } from '../../../src/operator/reconciler.ts';
import { KeyIndex, ReferrerIndex, referee } from '../../../src/operator/references.ts';
import type { Resource, ResourceKey } from '../../../src/resources/resource.ts';

const READY = { type: 'Ready', status: 'True', reason: 'Succeeded', message: '', lastTransitionTime: '' } as const;

const anObject = (kind: Resource['kind'], namespace: string, name: string, more: Partial<Resource> = {}): Resource => ({
  apiVersion: 'acmery.io/v1',
  kind,
  metadata: { namespace, name, uid: name, generation: 1, resourceVersion: '1', creationTimestamp: '' },
  spec: {},
  status: { observedGeneration: 1, conditions: [{ ...READY, observedGeneration: 1 }] },
  ...more,
});
const aDirectory = (allowedNamespaces?: object, more: Partial<Resource> = {}) =>
  anObject('Directory', 'pki', 'web', { spec: { allowedNamespaces }, ...more }) as Resource<'Directory', object>;

/** What a binding in namespace `from` sees of pki/web. */
function seen(
  directory: Resource | undefined,
  from: string,
  labels?: Readonly<Record<string, string>>,
  { isNew = false } = {},
) {
  const source = {
    get: (key: ResourceKey) => (key.namespace === 'pki' && key.name === 'web' ? directory : undefined),
    namespace: (name: string) => (labels && name === from ? { labels, isTerminating: false } : undefined),
  };
  const operator = { source } as unknown as OperatorContext;
  const binding = anObject('ExternalBinding', from, 'b', isNew ? { status: { observedGeneration: -1 } } : {});
  const { found, outcome } = referee(operator, binding, 'Directory', { name: 'web', namespace: 'pki' });
  if (found !== undefined) return 'found';
  return outcome.outcome === 'wait' ? outcome.reason : outcome.outcome;
}

describe('who may refer', () => {
  const team = { matchLabels: { team: 'a' } };
  test.each([
    ['its own namespace, always', { from: 'Same' }, 'pki', {}, 'found'],
    ['another namespace', { from: 'Same' }, 'shop', {}, 'RefNotPermitted'],
    ['another namespace where nothing is said', undefined, 'shop', {}, 'RefNotPermitted'],
    ['any namespace', { from: 'All' }, 'shop', undefined, 'found'],
    ['a namespace with the label', { from: 'Selector', selector: team }, 'shop', { team: 'a' }, 'found'],
    ['a namespace with another value', { from: 'Selector', selector: team }, 'shop', { team: 'b' }, 'RefNotPermitted'],
    ['a namespace that is not known', { from: 'Selector', selector: team }, 'shop', undefined, 'RefNotPermitted'],
    ['every known namespace, by an empty selector', { from: 'Selector', selector: {} }, 'shop', {}, 'found'],
    ['nobody, without a selector', { from: 'Selector' }, 'shop', {}, 'RefNotPermitted'],
  ])('%s', (_who, allowed, from, labels, expected) => {
    expect(seen(aDirectory(allowed), from, labels)).toBe(expected);
  });

  test.each([
    ['In', ['a', 'b'], 'a', true],
    ['In', ['a', 'b'], undefined, false],
    ['NotIn', ['a'], 'b', true],
    ['NotIn', ['a'], undefined, true],
    ['NotIn', ['a'], 'a', false],
    ['Exists', undefined, '', true],
    ['Exists', undefined, undefined, false],
    ['DoesNotExist', undefined, undefined, true],
    ['DoesNotExist', undefined, 'a', false],
  ])('the expression %s %j over the value %j', (operator, values, value, isIn) => {
    const selector = { matchExpressions: [{ key: 'team', operator, ...(values && { values }) }] };
    const labels: Record<string, string> = value === undefined ? {} : { team: value };
    expect(seen(aDirectory({ from: 'Selector', selector }), 'shop', labels) === 'found').toBe(isIn);
  });

  test('what is not permitted looks like what does not exist', () => {
    expect(seen(undefined, 'shop', {})).toBe(seen(aDirectory({ from: 'Same' }), 'shop', {}));
  });
});

test.each([
  ['is not there yet', undefined, 'DependencyNotReady'],
  ['is not ready', aDirectory(undefined, { status: { observedGeneration: -1 } }), 'DependencyNotReady'],
  [
    'is going',
    aDirectory(undefined, { metadata: { ...aDirectory().metadata, deletionTimestamp: 'now' } }),
    'DependencyNotReady',
  ],
])('one that %s is waited for', (_how, directory, expected) => {
  expect(seen(directory, 'pki')).toBe(expected);
});

test('one that was ready before it changed is waited for by the new, and those who are ready go on', () => {
  const changed = aDirectory(undefined, { metadata: { ...aDirectory().metadata, generation: 2 } });
  expect(seen(changed, 'pki', undefined, { isNew: true })).toBe('DependencyNotReady');
  expect(seen(changed, 'pki')).toBe('found');
});

test('the index knows who refers to an object that may not be there yet, and follows changes', () => {
  const web: ResourceKey = { kind: 'Directory', namespace: 'pki', name: 'web' };
  const index = new ReferrerIndex((resource) => [{ ...web, name: String(resource.spec) }]);
  const one = anObject('ExternalBinding', 'a', 'one', { spec: 'web' });
  const two = anObject('ExternalBinding', 'b', 'two', { spec: 'web' });
  const names = () => index.to(web).map(({ namespace, name }) => `${namespace}/${name}`);

  index.change(undefined, one);
  index.change(undefined, two);
  index.change(one, one);
  expect(names()).toEqual(['b/two', 'a/one']);
  index.change(one, { ...one, spec: 'other' });
  expect(names()).toEqual(['b/two']);
  index.change(two, undefined);
  expect(names()).toEqual([]);
});

test('one name may have several holders', () => {
  const index = new KeyIndex();
  const key = (name: string): ResourceKey => ({ kind: 'Directory', namespace: 'pki', name });
  index.add('slug/web', key('a'));
  index.add('slug/web', key('b'));
  index.remove('slug/web', key('a'));
  index.remove('slug/other', key('b'));
  expect(index.get('slug/web')).toEqual([key('b')]);
});
