// docs/profiles.md tells readers what linters find and why it is so: the table that the linters are held against.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { explained } from './e2e/lint/explained.ts';

test('docs/profiles.md explains just the findings that are explained to the linters', () => {
  const text = readFileSync('docs/profiles.md', 'utf8');
  const rows = explained.map(({ linter, id, sample, reason }) => `| ${linter} | \`${id}\` | ${sample} | ${reason} |`);
  expect(text.split('\n').filter((line) => / \| `[a-z]+[._][\w.]+` \| /.test(line))).toEqual(rows);
});
