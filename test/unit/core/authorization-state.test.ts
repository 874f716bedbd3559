import { describe, expect, test } from 'vitest';
import { authorizationState, shownChallenges } from '../../../src/core/authorization-state.ts';
import { orderState } from '../../../src/core/order-state.ts';
import { authorizationLifecycle } from '../../../src/lifecycles/authorization.ts';
import { type ChallengeState, challengeLifecycle } from '../../../src/lifecycles/challenge.ts';
import { statesOf } from '../../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../../src/lifecycles/order.ts';

const END = new Date('2026-05-18T12:00:00Z');
const before = new Date(END.getTime() - 1);

test.each(statesOf(orderLifecycle))('ORD-19, ORD-26: an order that is %s', (state) => {
  const row = { state, expires_at: END };
  expect(orderState(row, before)).toBe(state);
  expect(orderState(row, END)).toBe(state === 'pending' || state === 'ready' ? 'invalid' : state);
});

test.each(statesOf(authorizationLifecycle))('AUT-2: an authorization that is %s', (state) => {
  const row = { state, expires_at: END };
  expect(authorizationState(row, before)).toBe(state);
  expect(authorizationState(row, END)).toBe(state === 'pending' || state === 'valid' ? 'expired' : state);
});

describe('AUT-3: the challenges shown of one in each state', () => {
  const all = statesOf(challengeLifecycle).map((state) => ({ state }));
  const shown = (
    state: Parameters<typeof shownChallenges>[0],
    challenges: readonly { state: ChallengeState }[] = all,
  ) => shownChallenges(state, challenges).map((challenge) => challenge.state);

  test.each([
    ['pending', ['pending', 'processing']],
    ['valid', ['valid']],
    ['invalid', ['invalid']],
    ['deactivated', ['valid', 'invalid']],
    ['expired', ['valid']],
    ['revoked', ['valid']],
  ] as const)('%s', (state, expected) => expect(shown(state)).toEqual(expected));

  test.each(statesOf(authorizationLifecycle))('never none: %s', (state) => {
    expect(shown(state, [{ state: 'pending' }])).toEqual(['pending']);
  });
});
