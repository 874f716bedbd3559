// When certificates are to be renewed, by what is stored of them.
import { describe, expect, test } from 'vitest';
import { renewalWindow } from '../../../src/core/renewal-info.ts';
import { formatSeconds } from '../../../src/schema/timestamp.ts';
import type { RenewableCert } from '../../../src/store/renewal-info.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const issued = new Date('2026-05-17T12:00:00Z');
const later = (ms: number) => new Date(issued.getTime() + ms);

const directory = { id: 'dir', slug: 'web', signing_cert_id: 'ca', rollover_days: 7, rollover_at: null };

const cert = (lifeMs: number, more: Partial<RenewableCert> = {}): RenewableCert => ({
  id: 'cert',
  acme_key_id: 'account',
  signing_cert_id: 'ca',
  serial: Buffer.from('010203', 'hex'),
  subjects: [],
  not_before: issued,
  not_after: later(lifeMs - 1_000),
  revoked_at: null,
  issuer_revoked_at: null,
  is_replaced: false,
  ...more,
});

const shown = ({ start, end }: { start: Date; end: Date }) => [formatSeconds(start), formatSeconds(end)];

describe('ARI-3', () => {
  test('a certificate of 90 days is renewed after 60, within 2% of its life', () => {
    expect(shown(renewalWindow(cert(90 * DAY_MS), directory))).toEqual([
      formatSeconds(later(60 * DAY_MS - 0.9 * DAY_MS - 1_000)),
      formatSeconds(later(60 * DAY_MS + 0.9 * DAY_MS - 1_000)),
    ]);
  });

  test('ten days count as long, less is renewed after half', () => {
    const middleOf = (lifeMs: number) => {
      const { start, end } = renewalWindow(cert(lifeMs), directory);
      return Math.round((start.getTime() + end.getTime()) / 2 - issued.getTime()) / lifeMs;
    };
    expect(middleOf(10 * DAY_MS)).toBeCloseTo(2 / 3, 4);
    expect(middleOf(10 * DAY_MS - 1_000)).toBeCloseTo(1 / 2, 4);
    expect(middleOf(HOUR_MS)).toBeCloseTo(1 / 2, 3);
  });

  test.each([1_000, 2_000, 30_000, 300_000, HOUR_MS, DAY_MS, 3_650 * DAY_MS])(
    'the start lies before the end and both within the life of %d ms',
    (lifeMs) => {
      const { start, end } = renewalWindow(cert(lifeMs), directory);
      expect(start.getTime()).toBeLessThan(end.getTime());
      expect(start.getTime() % 1_000).toBe(0);
      if (lifeMs >= 30_000) expect(end.getTime()).toBeLessThan(issued.getTime() + lifeMs);
    },
  );
});

describe('ARI-4', () => {
  test('of a revoked certificate the window is in the past at once', () => {
    const revoked_at = later(HOUR_MS);
    const { start, end } = renewalWindow(cert(90 * DAY_MS, { revoked_at }), directory);
    expect(start < end && end < revoked_at).toBe(true);
  });

  const starts = (more: Partial<RenewableCert>, changed: Partial<Parameters<typeof renewalWindow>[1]> = {}) =>
    Array.from({ length: 200 }, (_, n) => {
      const serial = Buffer.from(`0a${n.toString(16).padStart(6, '0')}`, 'hex');
      return renewalWindow(cert(90 * DAY_MS, { ...more, serial }), { ...directory, ...changed }).start.getTime();
    });

  test('when the directory has another issuer, its certificates are renewed over rollover_days from then', () => {
    const rollover_at = later(DAY_MS);
    const spread = starts({}, { signing_cert_id: 'other', rollover_at });
    expect(Math.min(...spread)).toBeGreaterThanOrEqual(rollover_at.getTime());
    expect(Math.max(...spread)).toBeLessThan(rollover_at.getTime() + 7 * DAY_MS);
    for (let day = 0; day < 7; day++) {
      const from = rollover_at.getTime() + day * DAY_MS;
      expect(spread.filter((start) => start >= from && start < from + DAY_MS).length).toBeGreaterThan(200 / 7 / 3);
    }
  });

  test('a revoked issuer counts from its revocation; of two changes the first', () => {
    const issuer_revoked_at = later(2 * DAY_MS);
    const [first] = starts({ issuer_revoked_at });
    expect(first).toBeGreaterThanOrEqual(issuer_revoked_at.getTime());
    expect(starts({ issuer_revoked_at }, { signing_cert_id: 'other', rollover_at: later(3 * DAY_MS) })[0]).toBe(first);
    const [earlier] = starts({ issuer_revoked_at }, { signing_cert_id: 'other', rollover_at: later(DAY_MS) });
    expect((first ?? 0) - (earlier ?? 0)).toBe(DAY_MS);
  });

  test('rollover_days of 0: a change of issuer moves nothing, and a revoked one is at once', () => {
    const changed = { signing_cert_id: 'other', rollover_at: later(DAY_MS), rollover_days: 0 };
    expect(starts({}, changed)).toEqual(starts({}));
    const issuer_revoked_at = later(2 * DAY_MS);
    expect(new Set(starts({ issuer_revoked_at }, changed))).toEqual(new Set([issuer_revoked_at.getTime()]));
  });

  test('a change does not put off what was to be renewed before', () => {
    const rollover_at = later(80 * DAY_MS);
    const usual = renewalWindow(cert(90 * DAY_MS), directory);
    expect(renewalWindow(cert(90 * DAY_MS), { ...directory, signing_cert_id: 'other', rollover_at })).toEqual(usual);
  });

  test('a change of issuer long ago is none of what came from the present one', () => {
    const usual = renewalWindow(cert(90 * DAY_MS), directory);
    expect(renewalWindow(cert(90 * DAY_MS), { ...directory, rollover_at: later(0) })).toEqual(usual);
  });
});
