import { expect, test } from 'vitest';
import { BackOff } from '../../../src/kubernetes/back-off.ts';

test('waits double from 0.8 s to 30 s', () => {
  const backOff = new BackOff({ random: () => 0 });
  expect(Array.from({ length: 8 }, () => backOff.failed(0))).toEqual([
    800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
  ]);
});

test('chance makes a wait up to half as long again, and never more than 30 s', () => {
  const backOff = new BackOff({ random: () => 1 });
  expect(Array.from({ length: 6 }, () => backOff.failed(0))).toEqual([1_200, 2_400, 4_800, 9_600, 19_200, 30_000]);
});

test('a wait is at least as long as it was asked for', () => {
  const backOff = new BackOff({ random: () => 0 });
  expect([backOff.failed(0, 5_000), backOff.failed(0, 5_000), backOff.failed(0, 500)]).toEqual([5_000, 5_000, 3_200]);
});

test('after two minutes without a failure, its wait not counted, it begins anew', () => {
  const backOff = new BackOff({ random: () => 0 });
  for (let failure = 0; failure < 5; failure++) backOff.failed(0);
  expect(backOff.failed(12_800 + 120_000)).toBe(25_600);
  expect(backOff.failures).toBe(6);
  expect(backOff.failed(12_800 + 120_000 + 25_600 + 120_001)).toBe(800);
  expect(backOff.failures).toBe(1);
});
