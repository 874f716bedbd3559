import { expect, test } from 'vitest';
import { stateOf } from '../../../src/operator/signing-cert-state.ts';

const now = new Date('2026-05-17T12:00:00.000Z');
const DAY_MS = 86_400_000;
const inDays = (days: number): Date => new Date(now.getTime() + days * DAY_MS);
const until = (days: number) => ({ notAfter: inDays(days).toISOString() });

test('a certificate that holds long is looked at again 30 days before its end', () => {
  expect(stateOf(until(100), now)).toMatchObject({
    issued: { status: 'True', reason: 'Succeeded' },
    expiring: { status: 'False', reason: 'Current' },
    outcome: { outcome: 'done' },
    changesAt: inDays(70),
  });
});

test.each([30, 29.5, 0.001])('with %d days to go it is expiring, and looked at again at its end', (days) => {
  expect(stateOf(until(days), now)).toMatchObject({
    issued: { status: 'True' },
    expiring: { status: 'True', reason: 'EndsSoon', message: expect.stringContaining('Declare a new SigningCert') },
    outcome: { outcome: 'done' },
    changesAt: inDays(days),
  });
});

test('at its very end it has expired, and nothing more will change', () => {
  const { changesAt, ...state } = stateOf(until(0), now);
  expect(state).toMatchObject({ issued: { status: 'False' }, outcome: { outcome: 'stalled', reason: 'Expired' } });
  expect(changesAt).toBeUndefined();
});

test('a revoked one is revoked, also when it has ended', () => {
  for (const days of [100, -1]) {
    const state = stateOf({ ...until(days), revokedAt: now.toISOString() }, now);
    expect(state).toMatchObject({ issued: { status: 'False', reason: 'Revoked' }, outcome: { reason: 'Revoked' } });
  }
});

test('without a certificate the reader is told what to do with the CSR', () => {
  expect(stateOf({ csr: 'PEM' }, now)).toMatchObject({
    issued: { status: 'False', reason: 'AwaitingCertificate' },
    expiring: { status: 'False', reason: 'NoCertificate' },
    outcome: { outcome: 'wait', message: expect.stringMatching(/status\.csr signed .* spec\.publicCert/) },
  });
});
