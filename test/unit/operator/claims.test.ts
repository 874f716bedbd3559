// Claims: of several objects that want one name, who came first.
import { expect, test } from 'vitest';
import { ClaimIndex, earlierClaimant } from '../../../src/operator/claims.ts';
import { keyText, type Resource, type ResourceKey } from '../../../src/resources/resource.ts';

type Named = Resource<'Directory', { readonly slug: string }>;

const anObject = (name: string, creationTimestamp: string, slug = 'web', more: object = {}): Named => ({
  apiVersion: 'acmery.io/v1',
  kind: 'Directory',
  metadata: { namespace: 'pki', name, uid: name, generation: 1, resourceVersion: '1', creationTimestamp, ...more },
  spec: { slug },
});

function given(...objects: readonly Named[]) {
  const claimants = new ClaimIndex((resource) => [(resource as Named).spec.slug]);
  for (const object of objects) claimants.change(undefined, object);
  const known = new Map(objects.map((object) => [`Directory/pki/${object.metadata.name}`, object]));
  return { claimants, source: { get: (key: ResourceKey) => known.get(keyText(key)) } };
}

const first = anObject('first', '2026-01-01T00:00:00Z');
const second = anObject('second', '2026-01-01T00:00:01Z');

test.each([
  ['who came later has an earlier one', [first, second], second, first],
  ['the first has none', [first, second], first, undefined],
  ['of the same second the name decides', [anObject('a', 'then'), anObject('b', 'then')], anObject('b', 'then'), 'a'],
  ['another name is no rival', [anObject('first', 'then', 'api'), second], second, undefined],
  [
    'one that is going is none',
    [anObject('first', 'then', 'web', { deletionTimestamp: 'now' }), second],
    second,
    undefined,
  ],
])('%s', (_rule, objects, asking, expected) => {
  const found = earlierClaimant(given(...objects), asking, 'web', () => true);
  expect(found?.metadata.name).toBe(typeof expected === 'string' ? expected : expected?.metadata.name);
});

test.each([
  ['one that can have it goes before an earlier one that cannot', ['second'], undefined],
  ['while neither can, the earlier one has the claim', [], 'first'],
  ['where only the earlier one can, it has the claim', ['first'], 'first'],
])('%s', (_rule, able, expected) => {
  const canHaveIt = ({ metadata: { name } }: Resource): boolean => able.includes(name);
  expect(earlierClaimant(given(first, second), second, 'web', canHaveIt)?.metadata.name).toBe(expected);
});

test('a change says what was let go, and nothing where the name stays', () => {
  const { claimants } = given(first);
  const status = { observedGeneration: 1 };
  expect(claimants.change(first, { ...first, status })).toEqual([]);
  expect(claimants.of('web')).toHaveLength(1);
  expect(claimants.change(first, anObject('first', 'then', 'api'))).toEqual(['web']);
  expect(claimants.of('web')).toEqual([]);
  expect(claimants.of('api')).toHaveLength(1);
  expect(claimants.change(anObject('first', 'then', 'api'), undefined)).toEqual(['api']);
  expect(claimants.of('api')).toEqual([]);
});
