// Times as pages show them.
import { expect, test } from 'vitest';
import { caTone, ending, leafTone, passedOf } from '../../../src/ui/parts/life.ts';
import { absolute, relative, when } from '../../../src/ui/parts/times.ts';

const now = new Date('2026-05-17T12:00:00.000Z');
const at = (ms: number): Date => new Date(now.getTime() + ms);
const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

test.each([
  [0, 'just now'],
  [-59 * SECOND, 'just now'],
  [59 * SECOND, 'in less than a minute'],
  [MINUTE, 'in 1 minute'],
  [-119 * MINUTE, '1 hour ago'],
  [47.9 * HOUR, 'in 47 hours'],
  [2 * DAY, 'in 2 days'],
  [-59.9 * DAY, '59 days ago'],
  [90 * DAY, 'in 2 months'],
  [3650 * DAY, 'in 9 years'],
])('%d ms away is %s', (ms, text) => {
  expect(relative(at(ms), now)).toBe(text);
});

test('every time is told exactly too, in UTC, for people and programs', () => {
  expect(absolute(at(90_500))).toBe('2026-05-17 12:01 UTC');
  expect(when(at(90_500), now).html).toBe(
    '<time datetime="2026-05-17T12:01:30.500Z">in 1 minute <span class="exact">2026-05-17 12:01 UTC</span></time>',
  );
});

test('a life has passed from 0 to 1, whatever the clock says', () => {
  const span = { notBefore: at(0), notAfter: at(10 * DAY) };
  expect([-DAY, 0, 5 * DAY, 10 * DAY, 11 * DAY].map((ms) => passedOf(span, at(ms)))).toEqual([0, 0, 0.5, 1, 1]);
  expect(passedOf({ notBefore: at(0), notAfter: at(0) }, now)).toBe(1);
});

test('a leaf is due when a third is left, late when a tenth is, and nobody minds one that has ended', () => {
  const span = { notBefore: at(0), notAfter: at(90 * DAY) };
  expect([59, 61, 82, 91].map((days) => leafTone(span, at(days * DAY)))).toEqual(['good', 'wait', 'bad', 'off']);
});

test('a CA is near its end half a year before, and late in its last month', () => {
  const span = { notBefore: at(0), notAfter: at(3650 * DAY) };
  expect([3000, 3500, 3630].map((days) => caTone(span, at(days * DAY)))).toEqual(['good', 'wait', 'bad']);
});

test('the bar says in words what it shows', () => {
  const bar = ending({ notBefore: at(-DAY), notAfter: at(3 * DAY) }, now, 'good').html;
  expect(bar).toContain('role="img" aria-label="25 % of its life has passed"');
  expect(bar).toContain('<rect class="passed" width="25" height="3">');
  expect(bar).not.toContain('style=');
});
