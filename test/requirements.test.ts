import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { idsIn, idsInNames, requirementIds } from './support/requirement-ids.ts';

const here = import.meta.dirname;

const named = new Set(
  readdirSync(here, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && path !== 'requirements.test.ts')
    .flatMap((path) => idsInNames(readFileSync(join(here, path), 'utf8'))),
);

test('every rule for ACME is named by a test, or marked in docs/acme.md as a difference', () => {
  const differences = idsIn(readFileSync(join(here, '../docs/acme.md'), 'utf8'));
  const known = new Set([...named, ...differences]);
  expect(requirementIds.filter((id) => !known.has(id))).toEqual([]);
});

test('no test names a rule that there is not', () => {
  expect([...named].filter((id) => !requirementIds.includes(id))).toEqual([]);
});

test('an id in a comment is no name', () => {
  const source = "// DIR-1: a head\ntest('DIR-2, DIR-3: a name', () => {\n  f(x); // DIR-4\n});\n";
  expect(idsInNames(source)).toEqual(['DIR-2', 'DIR-3']);
});
