import { expect, test } from 'vitest';
import { parseYaml } from '../../../src/folder/yaml.ts';

const valuesOf = (text: string) => parseYaml('it.yaml', text).documents.map(({ value }) => value);
const linesOf = (text: string) =>
  Object.fromEntries(
    (parseYaml('it.yaml', text).documents[0]?.places ?? []).map(({ path, line }) => [path.join('/'), line]),
  );

test('a file holds documents, of which some are empty', () => {
  expect(valuesOf('a: 1\n---\n---\nb: 2\n---\n# nothing\n')).toEqual([{ a: 1 }, null, { b: 2 }, null]);
  expect(valuesOf('')).toEqual([]);
});

test('words are booleans, and numbers octal, as in YAML 1.1', () => {
  expect(valuesOf('[y, NO, on, "no", 010, 0o10, 1_000, 1:30]')).toEqual([
    [true, false, true, 'no', 8, 8, 1000, '1:30'],
  ]);
});

test('every member and item has the line on which it begins', () => {
  const text = `# a comment
a: 1
b:
  c:
    - x
    - y: |
        long
        text
      z: 2
  d: {e: 1,
    f: [2,
      3]}
`;
  expect(linesOf(text)).toEqual({
    '': 2,
    a: 2,
    b: 3,
    'b/c': 4,
    'b/c/0': 5,
    'b/c/1': 6,
    'b/c/1/y': 6,
    'b/c/1/z': 9,
    'b/d': 10,
    'b/d/e': 10,
    'b/d/f': 11,
    'b/d/f/0': 11,
    'b/d/f/1': 12,
  });
});

test('lines count from the beginning of the file in every document', () => {
  const { documents } = parseYaml('it.yaml', 'a: 1\n---\nb: 2\n---\n\nc: 3\n');
  expect(documents.map(({ places }) => places.map(({ line }) => line))).toEqual([
    [1, 1],
    [3, 3],
    [6, 6],
  ]);
});

test('an alias stands where it is written, and what it stands for is read', () => {
  const { documents } = parseYaml('it.yaml', 'a: &x [1]\nb: *x\nc:\n  - *x\n');
  expect(documents[0]?.value).toEqual({ a: [1], b: [1], c: [[1]] });
  expect(linesOf('a: &x [1]\nb: *x\nc:\n  - *x\n')).toMatchObject({ b: 2, 'c/0': 4 });
});

test.each([
  ['a: 1\nb: [', 2, 'YAML'],
  ['a: 1\na: 2\n', 2, 'duplicated'],
  ['a: 1\nb: *nobody\n', 2, 'nobody'],
  ['a: !!js/function x\n', 1, 'tag'],
])('%j is not YAML, and nothing of it is read', (text, line, words) => {
  const { documents, problems } = parseYaml('it.yaml', text);
  expect(documents).toEqual([]);
  expect(problems).toEqual([{ file: 'it.yaml', line, message: expect.stringContaining(words) }]);
});

test('aliases that multiply are refused before they are followed', () => {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(10)}]\n`).join('');
  expect(parseYaml('bomb.yaml', `l0: &l0 [x]\n${levels}`).problems).toHaveLength(1);
});
