import { expect, test } from 'vitest';
import { type DeclaredKind, type Owned, requireChangeable } from '../../../src/core/origin.ts';

const declared: Owned = {
  origin: 'kubernetes',
  origin_namespace: 'acmery-system',
  origin_name: 'web',
  orphaned_at: null,
};

test.each<[DeclaredKind, string]>([
  ['signing_cert', 'This CA cert belongs to the custom resource SigningCert acmery-system/web; change it there.'],
  ['directory', 'This directory belongs to the custom resource Directory acmery-system/web; change it there.'],
  [
    'external_binding',
    'This EAB token belongs to the custom resource ExternalBinding acmery-system/web; change it there.',
  ],
  ['acme_key', 'This account key belongs to the custom resource AcmeKey acmery-system/web; change it there.'],
])('a %s of a custom resource is changed only there', (kind, message) => {
  expect(() => requireChangeable(kind, declared)).toThrow(
    expect.objectContaining({ kind: 'managed_by_kubernetes', message }),
  );
});

test.each<[string, Owned]>([
  ['made by a /v1 caller', { origin: 'api', origin_namespace: null, origin_name: null, orphaned_at: null }],
  ['made by an ACME client', { origin: 'acme', origin_namespace: null, origin_name: null, orphaned_at: null }],
  ['that its custom resource left behind', { ...declared, orphaned_at: new Date(0) }],
])('a row %s may be changed', (_which, row) => {
  expect(() => requireChangeable('directory', row)).not.toThrow();
});
