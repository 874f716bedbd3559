// Links between the documents lead somewhere: to a file that is there, and to a heading in it.
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..');
const isMarkdown = (name: string): boolean => name.endsWith('.md');
const documents = [
  ...(await readdir(repository)).filter(isMarkdown),
  ...(await readdir(join(repository, 'docs'))).filter(isMarkdown).map((name) => join('docs', name)),
];
const texts = new Map(
  await Promise.all(documents.map(async (path) => [path, await readFile(join(repository, path), 'utf8')] as const)),
);

/** What a link in one document leads to, where that is one of ours. */
function targetsOf(document: string, text: string): readonly { readonly path: string; readonly heading: string }[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [file = '', heading = ''] = link.split('#');
      return { path: file === '' ? document : relative('.', join(dirname(document), file)), heading };
    });
}

/** As GitHub names the anchors of headings. */
const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test.each(documents)('%s: its links lead somewhere', async (document) => {
  const lost: string[] = [];
  for (const { path, heading } of targetsOf(document, texts.get(document) ?? '')) {
    const text = texts.get(path);
    if (text === undefined) {
      const isThere = await stat(join(repository, path)).then(Boolean, () => false);
      if (!isThere) lost.push(path);
    } else if (heading !== '' && !anchorsOf(text).includes(heading)) lost.push(`${path}#${heading}`);
  }
  expect(lost).toEqual([]);
});

test('tests that the documents name are there', async () => {
  const entries = await readdir(join(repository, 'test'), { recursive: true });
  const known = new Set(entries.map((name) => basename(name)));
  const named = [...texts.values()].flatMap((text) => text.match(/(?<=`)[\w/-]+\.test\.ts(?=`)/g) ?? []);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !known.has(basename(name)))).toEqual([]);
});

test('a file that is not there, and a heading that is not there, are seen', () => {
  expect(targetsOf('docs/a.md', '[b](b.md#c) [d](../d) [e](#e) [f](https://x.example/)')).toEqual([
    { path: 'docs/b.md', heading: 'c' },
    { path: 'd', heading: '' },
    { path: 'docs/a.md', heading: 'e' },
  ]);
  expect(anchorsOf('## Calling /v1 from the cluster\n### `a` & b')).toEqual(['calling-v1-from-the-cluster', 'a--b']);
});
