// The derivations from a lifecycle table, and the six tables as section 5 of the architecture has them.
import { expect, test } from 'vitest';
import { acmeKeyLifecycle } from '../../../src/lifecycles/acme-key.ts';
import { authorizationLifecycle } from '../../../src/lifecycles/authorization.ts';
import { challengeLifecycle, challengeTypes } from '../../../src/lifecycles/challenge.ts';
import { issuedCertLifecycle } from '../../../src/lifecycles/issued-cert.ts';
import { defineLifecycle, isFinal, sourcesOf, statesOf, toMermaid } from '../../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../../src/lifecycles/order.ts';
import { signingCertLifecycle } from '../../../src/lifecycles/signing-cert.ts';

const door = defineLifecycle({ open: ['shut'], shut: ['open', 'walled'], walled: [] });

test('states come in the order of the table', () => {
  expect(statesOf(door)).toEqual(['open', 'shut', 'walled']);
});

test('sources of a state are the states whose rows name it', () => {
  expect(sourcesOf(door, 'open')).toEqual(['shut']);
  expect(sourcesOf(door, 'walled')).toEqual(['shut']);
  expect(sourcesOf(orderLifecycle, 'invalid')).toEqual(['pending', 'ready', 'processing']);
  expect(sourcesOf(orderLifecycle, 'pending')).toEqual([]);
});

test('a state is final when nothing may follow it', () => {
  expect(statesOf(door).filter((state) => isFinal(door, state))).toEqual(['walled']);
});

test('a lifecycle is drawn with its beginning, its moves and its ends', () => {
  expect(toMermaid(door)).toBe(
    'stateDiagram-v2\n' +
      '    [*] --> open\n    open --> shut\n    shut --> open\n    shut --> walled\n    walled --> [*]\n',
  );
});

test('a table that names a state without a row does not compile', () => {
  // @ts-expect-error: `gone` has no row.
  defineLifecycle({ here: ['gone'] });
});

test.each([
  [
    'order',
    orderLifecycle,
    'pending>ready pending>invalid ready>processing ready>invalid processing>valid processing>ready processing>invalid',
  ],
  [
    'authorization',
    authorizationLifecycle,
    'pending>valid pending>invalid pending>deactivated pending>expired valid>expired valid>deactivated valid>revoked',
  ],
  ['challenge', challengeLifecycle, 'pending>processing pending>valid processing>valid processing>invalid'],
  ['acme key', acmeKeyLifecycle, 'valid>deactivated valid>revoked'],
  ['issued cert', issuedCertLifecycle, 'valid>revoked'],
  ['signing cert', signingCertLifecycle, 'pending>active active>revoked'],
])('the moves of the %s lifecycle are the decided ones', (_name, lifecycle, moves) => {
  const table: Readonly<Record<string, readonly string[]>> = lifecycle;
  expect(
    Object.entries(table)
      .flatMap(([from, next]) => next.map((to) => `${from}>${to}`))
      .join(' '),
  ).toBe(moves);
});

test('an authorization is never `processing`, which nginx refuses to read (AUT-2)', () => {
  expect(statesOf(authorizationLifecycle)).not.toContain('processing');
});

test('DAC-1: dns-account-01 is the last challenge type on offer', () => {
  expect(challengeTypes.at(-1)).toBe('dns-account-01');
});
