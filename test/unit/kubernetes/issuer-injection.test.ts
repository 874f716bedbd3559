// What of an Issuer stays in memory, however large its owner makes it.
import { expect, test } from 'vitest';
import { asIssuer } from '../../../src/kubernetes/issuer-injection.ts';
import { annotations } from '../../../src/resources/annotations.ts';

test('of an Issuer only what is asked for is kept', () => {
  const name = { name: 'ca', namespace: 'shop', uid: 'u', resourceVersion: '1' };
  const asking = { [annotations.injectFrom]: 'shop/web' };
  const managedFields = [{ manager: 'acmery-issuer-injection' }];
  const notes = { 'corp.example/notes': 'x'.repeat(1_000) };
  const issuer = asIssuer({
    kind: 'Issuer',
    metadata: { ...name, managedFields, annotations: { ...asking, ...notes }, labels: notes },
    spec: { acme: { server: 'https://ca.example' }, vault: notes },
    status: notes,
  });
  expect(issuer).toEqual({
    kind: 'Issuer',
    metadata: { ...name, annotations: asking },
    spec: { acme: { server: 'https://ca.example' } },
    isInjected: true,
  });
});
