import { expect, test } from 'vitest';
import { compiledPolicy, versionCache } from '../../../src/core/policy-cache.ts';
import { exampleRows } from '../../support/rows.ts';

/** A cache that notes what it had to derive. */
function noting(most: number) {
  const derived: string[] = [];
  const read = versionCache(most, ({ id, version }: { readonly id: string; readonly version: number }) => {
    derived.push(`${id}${version}`);
    return `${id}${version}`;
  });
  const ask = (...rows: readonly string[]) =>
    rows.map((row) => read({ id: row.charAt(0), version: Number(row.slice(1)) }));
  return { derived, ask };
}

test('what was derived from a version is kept, and another version never sees it', () => {
  const { ask, derived } = noting(10);
  expect(ask('a1', 'a1', 'a2', 'a2', 'b2')).toEqual(['a1', 'a1', 'a2', 'a2', 'b2']);
  expect(derived).toEqual(['a1', 'a2', 'b2']);
});

test('a reader of an older version gets that one', () => {
  const { ask } = noting(10);
  expect(ask('a2', 'a1', 'a2')).toEqual(['a2', 'a1', 'a2']);
});

test('of too many the one asked for longest ago goes', () => {
  const { ask, derived } = noting(2);
  ask('a1', 'b1', 'a1', 'c1');
  ask('a1', 'c1');
  expect(derived).toEqual(['a1', 'b1', 'c1']);
  ask('b1');
  expect(derived).toEqual(['a1', 'b1', 'c1', 'b1']);
});

test('versions of one id take the place of one', () => {
  const { ask, derived } = noting(2);
  ask('a1', 'b1', 'b2', 'b3', 'a1');
  expect(derived).toEqual(['a1', 'b1', 'b2', 'b3']);
});

test('a row compiles to its rules under its slug, the first profile staying the first', () => {
  const { directories } = exampleRows();
  const row = {
    ...directories,
    origin_namespace: null,
    origin_name: null,
    origin_uid: null,
    origin_generation: null,
    former_signing_certs: [],
    orphaned_at: null,
    version: 1,
    deleted_at: null,
    rollover_at: null,
    terms_of_service: null,
    website: null,
    name: 'Web',
    profiles: ['mtls', 'client'],
    allowed_key_types: ['ed25519', 'ec_256'],
    created_at: new Date(0),
    remote_ip_whitelist: ['10.0.0.0/8'],
  };
  expect(compiledPolicy(row)).toMatchObject({
    name: row.slug,
    deleted: false,
    certMinDays: 2,
    certMaxDays: 97,
    profiles: ['mtls', 'client'],
    allowedKeyTypes: ['ed25519', 'ec_256'],
    remoteIps: [{ text: '10.0.0.0/8' }],
  });
  expect(compiledPolicy(row)).toBe(compiledPolicy(row));
});
