import { expect, test } from 'vitest';
import { certificateValidity, type ValidityRequest } from '../../../src/core/validity.ts';
import { formatSeconds, parseTimestamp } from '../../../src/schema/timestamp.ts';

const at = (text: string): Date => {
  const date = parseTimestamp(text);
  if (date === undefined) throw new Error(text);
  return date;
};
const ORDERED = '2026-03-01T12:00:00Z';
type Dates = {
  notBefore?: string;
  notAfter?: string;
  now?: string;
  min?: number;
  max?: number;
  from?: string;
  until?: string;
};
const request = (dates: Dates): ValidityRequest => ({
  orderedAt: at(ORDERED),
  now: at(dates.now ?? ORDERED),
  notBefore: dates.notBefore === undefined ? undefined : at(dates.notBefore),
  notAfter: dates.notAfter === undefined ? undefined : at(dates.notAfter),
  directory: { name: 'web', certMinDays: dates.min ?? 2, certMaxDays: dates.max ?? 97 },
  issuer: {
    name: 'Issuing',
    notBefore: at(dates.from ?? '2026-01-01T00:00:00Z'),
    notAfter: at(dates.until ?? '2030-01-01T00:00:00Z'),
  },
});
const validity = (dates: Dates): string => {
  const result = certificateValidity(request(dates));
  return result.ok
    ? `${formatSeconds(result.value.notBefore)} ${formatSeconds(result.value.notAfter)}`
    : result.refusal;
};

test.each<[string, Dates, string]>([
  ['90 days, backdated by 5 minutes', {}, '2026-03-01T11:55:00Z 2026-05-30T11:59:59Z'],
  ['the maximum where it is below 90', { max: 30 }, '2026-03-01T11:55:00Z 2026-03-31T11:59:59Z'],
  ['the minimum where it is above 90', { min: 120, max: 200 }, '2026-03-01T11:55:00Z 2026-06-29T11:59:59Z'],
  ['one day where both are 1', { min: 1, max: 1 }, '2026-03-01T11:55:00Z 2026-03-02T11:59:59Z'],
  ['never before the issuer begins', { from: '2026-03-01T11:58:00Z' }, '2026-03-01T11:58:00Z 2026-05-30T11:59:59Z'],
  [
    'shortened to the end of the issuer',
    { until: '2026-03-10T00:00:00Z' },
    '2026-03-01T11:55:00Z 2026-03-10T00:00:00Z',
  ],
  ['shortened to exactly the minimum', { until: '2026-03-03T11:59:59Z' }, '2026-03-01T11:55:00Z 2026-03-03T11:59:59Z'],
  [
    'shortened to an hour where there is no minimum',
    { min: 0, until: '2026-03-01T13:00:00Z' },
    '2026-03-01T11:55:00Z 2026-03-01T13:00:00Z',
  ],
  [
    'counted from the order, also when it is finalized later',
    { now: '2026-03-02T11:00:00Z' },
    '2026-03-01T11:55:00Z 2026-05-30T11:59:59Z',
  ],
])('SEC-16, SEC-32: without dates it lives %s', (_, dates, expected) => {
  expect(validity(dates)).toBe(expected);
});

test('an order lies between seconds: its fraction is cut off', () => {
  const exact = request({});
  const result = certificateValidity({ ...exact, orderedAt: new Date(exact.orderedAt.getTime() + 999) });
  expect(result).toMatchObject({ ok: true, value: { notAfter: at('2026-05-30T11:59:59Z') } });
});

test.each<[string, Dates, string]>([
  [
    'exactly the maximum apart',
    { notBefore: ORDERED, notAfter: '2026-06-06T12:00:00Z' },
    '2026-03-01T12:00:00Z 2026-06-06T12:00:00Z',
  ],
  [
    'exactly the minimum apart',
    { notBefore: ORDERED, notAfter: '2026-03-03T12:00:00Z' },
    '2026-03-01T12:00:00Z 2026-03-03T12:00:00Z',
  ],
  [
    'an hour back',
    { notBefore: '2026-03-01T11:00:00Z', notAfter: '2026-03-11T11:00:00Z' },
    '2026-03-01T11:00:00Z 2026-03-11T11:00:00Z',
  ],
  [
    '24 hours ahead',
    { notBefore: '2026-03-02T12:00:00Z', notAfter: '2026-03-12T12:00:00Z' },
    '2026-03-02T12:00:00Z 2026-03-12T12:00:00Z',
  ],
  ['notBefore alone', { notBefore: '2026-03-02T00:00:00Z' }, '2026-03-02T00:00:00Z 2026-05-30T23:59:59Z'],
  [
    'notBefore alone near the end of the issuer',
    { notBefore: '2026-03-02T00:00:00Z', until: '2026-03-20T00:00:00Z' },
    '2026-03-02T00:00:00Z 2026-03-20T00:00:00Z',
  ],
  ['notAfter alone', { notAfter: '2026-03-20T00:00:00Z' }, '2026-03-01T11:55:00Z 2026-03-20T00:00:00Z'],
  ['notAfter alone, 5 minutes over', { notAfter: '2026-06-06T12:05:00Z' }, '2026-03-01T11:55:00Z 2026-06-06T12:05:00Z'],
  [
    'notAfter alone, 5 minutes under',
    { notAfter: '2026-03-03T11:55:00Z' },
    '2026-03-01T11:55:00Z 2026-03-03T11:55:00Z',
  ],
  [
    'notAfter at the end of the issuer',
    { notAfter: '2026-03-20T00:00:00Z', until: '2026-03-20T00:00:00Z' },
    '2026-03-01T11:55:00Z 2026-03-20T00:00:00Z',
  ],
  [
    'one second without a minimum',
    { min: 0, notBefore: ORDERED, notAfter: '2026-03-01T12:00:01Z' },
    '2026-03-01T12:00:00Z 2026-03-01T12:00:01Z',
  ],
])('ORD-14, ORD-16, ORD-17: dates are kept: %s', (_, dates, expected) => {
  expect(validity(dates)).toBe(expected);
});

test.each<[string, Dates, string]>([
  [
    'a second over the maximum',
    { notBefore: ORDERED, notAfter: '2026-06-06T12:00:01Z' },
    'notAfter 2026-06-06T12:00:01Z is outside the allowed window from 2026-03-03T12:00:00Z to 2026-06-06T12:00:00Z (directory web allows 2 to 97 days).',
  ],
  [
    'a second under the minimum',
    { notBefore: ORDERED, notAfter: '2026-03-03T11:59:59Z' },
    'notAfter 2026-03-03T11:59:59Z is outside',
  ],
  [
    'notAfter alone, beyond the tolerance',
    { notAfter: '2026-06-06T12:05:01Z' },
    'notAfter 2026-06-06T12:05:01Z is outside',
  ],
  [
    'notAfter alone, below the tolerance',
    { notAfter: '2026-03-03T11:54:59Z' },
    'notAfter 2026-03-03T11:54:59Z is outside',
  ],
  [
    'over an hour back',
    { notBefore: '2026-03-01T10:59:59Z' },
    'notBefore 2026-03-01T10:59:59Z is outside the allowed window from 2026-03-01T11:00:00Z to 2026-03-02T12:00:00Z.',
  ],
  ['over 24 hours ahead', { notBefore: '2026-03-02T12:00:01Z' }, 'notBefore 2026-03-02T12:00:01Z is outside'],
  [
    'before the issuer begins',
    { notBefore: '2026-03-01T11:30:00Z', from: '2026-03-01T11:45:00Z' },
    'window from 2026-03-01T11:45:00Z to',
  ],
  [
    'past the end of the issuer',
    { notAfter: '2026-03-20T00:00:01Z', until: '2026-03-20T00:00:00Z' },
    'to 2026-03-20T00:00:00Z (directory web allows 2 to 97 days, and CA cert Issuing ends then).',
  ],
  [
    'year 1',
    { notBefore: '0001-01-01T00:00:00Z', notAfter: '0001-01-01T00:00:00Z' },
    'notBefore 0001-01-01T00:00:00Z is outside',
  ],
  ['year 1 as the end', { notAfter: '0001-01-01T00:00:00Z' }, 'notAfter 0001-01-01T00:00:00Z is outside'],
  ['year 9999', { notAfter: '9999-12-31T23:59:59Z' }, 'notAfter 9999-12-31T23:59:59Z is outside'],
  ['the end at the begin', { min: 0, notBefore: ORDERED, notAfter: ORDERED }, 'window from 2026-03-01T12:00:01Z to'],
  [
    'the end before the begin',
    { min: 0, notBefore: ORDERED, notAfter: '2026-03-01T11:59:00Z' },
    'is outside the allowed window',
  ],
  [
    'an end in the past within the tolerance',
    { min: 0, notAfter: '2026-03-01T11:58:00Z' },
    'is outside the allowed window',
  ],
])('ORD-15: refused with the window: %s', (_, dates, expected) => {
  expect(validity(dates)).toContain(expected);
});

test.each<[string, Dates]>([
  ['by default', { until: '2026-03-03T11:59:58Z' }],
  ['with notAfter', { notAfter: '2026-03-03T11:58:00Z', until: '2026-03-03T11:57:00Z' }],
])('an issuer that ends before the minimum is named, %s', (_, dates) => {
  expect(validity(dates)).toMatch(
    /^CA cert Issuing ends on 2026-03-03T11:5\d:\d\dZ, before the 2 days that directory web demands/,
  );
});

test('a certificate that would have ended by now is refused', () => {
  expect(validity({ min: 0, notAfter: '2026-03-01T13:00:00Z', now: '2026-03-01T13:00:00Z' })).toContain(
    'would have ended on 2026-03-01T13:00:00Z',
  );
  expect(validity({ min: 0, until: '2026-03-01T11:00:00Z' })).toContain('before the certificate would begin');
});

test('a directory of at most 0 days gives nothing', () => {
  expect(validity({ min: 0, max: 0 })).toContain('cert_max_days is 0');
  expect(validity({ min: 0, max: 0, notAfter: '2026-03-02T00:00:00Z' })).toContain('is outside the allowed window');
});

test('a stricter directory binds an open order: its dates are refused, its default shrinks', () => {
  expect(validity({ max: 10, notAfter: '2026-03-20T00:00:00Z', now: '2026-03-01T13:00:00Z' })).toContain(
    'allows 2 to 10 days',
  );
  expect(validity({ max: 10, now: '2026-03-01T13:00:00Z' })).toBe('2026-03-01T11:55:00Z 2026-03-11T11:59:59Z');
});
