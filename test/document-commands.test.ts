// Every command of the documents is run by a test or a script, or says why it cannot be run.
import { access, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { shellBlocks } from './support/shell-blocks.ts';

const repository = join(import.meta.dirname, '..');
const SHORTEST_REASON = 20;

const read = (path: string): Promise<string> => readFile(join(repository, path), 'utf8');

async function filesBelow(folder: string, ending: string): Promise<readonly string[]> {
  const entries = await readdir(join(repository, folder), { recursive: true });
  return entries.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
}

const documents = [...(await readdir(repository)), ...(await filesBelow('docs', '.md'))].filter((name) =>
  name.endsWith('.md'),
);
const tests = await Promise.all(
  (await filesBelow('test', '.ts'))
    .filter((path) => basename(path) !== basename(import.meta.filename))
    .map(async (path) => ({ path, text: await read(path) })),
);

/** A test that names both the document and the block; recipes are all of one document. */
const isRun = (document: string, kind: 'walkthrough' | 'recipe', name: string): boolean =>
  kind === 'recipe'
    ? tests.some(({ text }) => text.includes(`recipeFor('${name}')`))
    : tests.some(({ text }) => text.includes(basename(document)) && text.includes(`'${name}'`));

test.each(documents)('%s: each block of commands is run, or says why not', async (document) => {
  const problems: string[] = [];
  for (const { line, mark } of shellBlocks(await read(document))) {
    const at = `${document}:${line}`;
    if (mark === undefined) problems.push(`${at} has no mark: walkthrough, recipe, run by, or not run`);
    else if (mark.kind === 'not run') {
      if (mark.text.length < SHORTEST_REASON) problems.push(`${at} does not say why it is not run`);
    } else if (mark.kind === 'run by') {
      for (const file of mark.text.split(', '))
        await access(join(repository, file)).catch(() => problems.push(`${at}: there is no ${file}`));
    } else if (!isRun(document, mark.kind, mark.text)) problems.push(`${at}: no test runs ${mark.kind} ${mark.text}`);
  }
  expect(problems).toEqual([]);
});

test('a block without a mark, one that nothing runs, and one without a reason are found', () => {
  const text = [
    '<!-- walkthrough: a -->',
    '```sh',
    'true',
    '```',
    '',
    '```bash',
    'true',
    '```',
    '  ```console',
    '  <!-- not run: x -->',
    '  ```',
    '<!-- not run: needs a cloud -->',
    '```sh',
    '```',
    '```yaml',
    '```',
  ].join('\n');
  expect(shellBlocks(text)).toEqual([
    { line: 2, mark: { kind: 'walkthrough', text: 'a' } },
    { line: 6, mark: undefined },
    { line: 9, mark: undefined },
    { line: 13, mark: { kind: 'not run', text: 'needs a cloud' } },
  ]);
  expect(isRun('README.md', 'walkthrough', 'no such block')).toBe(false);
  expect(isRun('docs/acme.md', 'recipe', 'certbot')).toBe(true);
});
