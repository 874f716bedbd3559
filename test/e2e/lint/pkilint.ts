// pkilint, from PyPI: its lints of RFC 5280 and RFC 6960.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchPythonPackages } from '../fetch.ts';
import { run } from '../run.ts';
import type { Finding, Linter, SampleFile } from './linter.ts';

const FOLDER = join(import.meta.dirname, '../pkilint');
const REQUIREMENTS = join(FOLDER, 'requirements.txt');

export const pkilint: Linter = {
  name: 'pkilint',
  source: 'PyPI',
  async fetch() {
    const commands = await fetchPythonPackages('pkilint', REQUIREMENTS);
    const [, version = ''] = /^pkilint==(\S+)/m.exec(await readFile(REQUIREMENTS, 'utf8')) ?? [];
    return { version, lint: (files) => lint(join(commands, 'python'), files) };
  },
};

async function lint(program: string, files: readonly SampleFile[]): Promise<readonly Finding[]> {
  const input = files.map(({ kind, file }) => `${kind} ${file}\n`).join('');
  const lines = (await run({ program, args: [join(FOLDER, 'lint.py')], input })).trimEnd().split('\n');
  if (lines.length !== files.length) throw new Error(`pkilint said ${lines.length} things about ${files.length} files`);
  return files.flatMap(({ name }, index) =>
    (JSON.parse(lines[index] ?? '[]') as readonly Omit<Finding, 'sample'>[]).map((found) => ({
      sample: name,
      ...found,
    })),
  );
}
