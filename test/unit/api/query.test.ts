// Queries that no client of good will sends.
import { expect, test } from 'vitest';
import { readQuery } from '../../../src/api/query.ts';

test('a query of thousands of unknown names is refused as a whole', () => {
  const names = Array.from({ length: 4_000 }, (_, index) => `n${index}`);

  expect(() => readQuery({}, new URLSearchParams(names.join('&')))).toThrow('A query holds at most 50 parameters.');
});
