import { expect, test } from 'vitest';
import { refusedChanges, refusedFields } from '../../support/manifest-of.ts';
import { specCases, updateCases } from '../../support/spec-table.ts';

const accepted = specCases.filter(({ refused }) => refused === undefined);
const refused = specCases.filter((row) => row.refused !== undefined);

test.each(accepted)('$kind is accepted: $about', ({ kind, spec }) => {
  expect(refusedFields(kind, spec)).toEqual([]);
});

test.each(refused)('$kind is refused at $refused: $about', ({ kind, spec, refused: field }) => {
  expect(refusedFields(kind, spec)).toEqual([field]);
});

test.each(updateCases)('$kind changes: $about', ({ kind, before, spec, refused: field }) => {
  expect(refusedChanges(kind, before, spec)).toEqual(field === undefined ? [] : [field]);
});
