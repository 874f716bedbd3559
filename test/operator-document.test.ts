// docs/operator.md lists every condition, reason and event that the code can set, and no other.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..');
const document = readFileSync(join(repository, 'docs/operator.md'), 'utf8');

/** What else is written with capitals in quotes. */
const otherWords = [
  ...['SigningCert', 'Directory', 'ExternalBinding', 'AcmeKey', 'Secret', 'ConfigMap', 'SourceError'],
  ...['True', 'False', 'Unknown', 'Normal', 'Warning', 'Reconcile', 'Delete', 'Retain', 'RevokeAccount'],
  ...['Same', 'All', 'Selector', 'In', 'NotIn', 'Exists', 'DoesNotExist'],
];

function wordsOfCode(): ReadonlySet<string> {
  const folder = join(repository, 'src/operator');
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return new Set(files.flatMap((text) => [...text.matchAll(/'([A-Z][A-Za-z]+)'/g)].map(([, word = '']) => word)));
}

/** The words in the first column of the table that follows. */
function wordsOfTable(mark: string): readonly string[] {
  const table = document.split(mark)[1]?.split(/\n\n(?!\|)/)[0] ?? '';
  const words = [...table.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, word = '']) => word);
  expect(words.length).toBeGreaterThan(5);
  return words;
}

const conditions = wordsOfTable('Flux and Helm read the same.\n');
const reasons = wordsOfTable('<!-- reasons -->');
const events = wordsOfTable('<!-- events -->');

test('every condition, reason and event of the operator has a row in docs/operator.md', () => {
  const known = new Set([...conditions, ...reasons, ...events, ...otherWords]);
  expect([...wordsOfCode()].filter((word) => !known.has(word))).toEqual([]);
});

test.for([
  ['condition', conditions],
  ['reason', reasons],
  ['event', events],
] as const)('every %s of docs/operator.md is one of the operator, and has one row', ([, words]) => {
  const code = wordsOfCode();
  expect(words.filter((word) => !code.has(word))).toEqual([]);
  expect(new Set(words).size).toBe(words.length);
});

test('no other word is passed over for nothing', () => {
  const code = wordsOfCode();
  expect(otherWords.filter((word) => !code.has(word))).toEqual([]);
});
