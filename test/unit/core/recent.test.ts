import { expect, test } from 'vitest';
import { Recent } from '../../../src/core/recent.ts';

test('of too many values the one used longest ago goes', () => {
  const recent = new Recent<number>(2);
  recent.set('a', 1);
  recent.set('b', 2);
  recent.get('a');
  recent.set('c', 3);
  expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([1, undefined, 3]);
});

test('a value set again replaces the old one and takes no more room', () => {
  const recent = new Recent<number>(2);
  for (const value of [1, 2, 3]) recent.set('a', value);
  recent.set('b', 4);
  expect([recent.get('a'), recent.get('b')]).toEqual([3, 4]);
});
