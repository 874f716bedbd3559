// zlint, from the Go module proxy: its lints of RFCs and of common sense, without those of browsers and their forum.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchGoModule } from '../fetch.ts';
import { run } from '../run.ts';
import type { Finding, Linter, SampleFile } from './linter.ts';

const FOLDER = join(import.meta.dirname, '../zlint');
const COMMAND = 'github.com/zmap/zlint/v3/cmd/zlint';
/** Rules for public CAs and their kinds of certificates. */
const publicSources = ['Apple', 'CABF_BR', 'CABF_CS_BR', 'CABF_EV', 'CABF_SMIME_BR', 'Chrome', 'ETSI_ESI', 'Mozilla'];
const accepted = ['pass', 'NA', 'NE', 'info'];

export const zlint: Linter = {
  name: 'zlint',
  source: 'Go module proxy',
  async fetch() {
    const program = await fetchGoModule({ folder: FOLDER, command: COMMAND, name: 'zlint' });
    const [, version = ''] = /zlint\/v3 v(\S+)/.exec(await readFile(join(FOLDER, 'go.mod'), 'utf8')) ?? [];
    return { version, lint: (files) => lint(program, files) };
  },
};

async function lint(program: string, all: readonly SampleFile[]): Promise<readonly Finding[]> {
  // It reads OCSP answers about one certificate alone.
  const files = all.filter(({ kind, statements = 1 }) => kind !== 'ocsp' || statements === 1);
  const args = ['-excludeSources', publicSources.join(','), ...files.map(({ file }) => file)];
  const lines = (await run({ program, args })).trimEnd().split('\n');
  if (lines.length !== files.length) throw new Error(`zlint said ${lines.length} things about ${files.length} files`);
  return files.flatMap(({ name }, index) => findingsOf(name, JSON.parse(lines[index] ?? '{}')));
}

type Results = Readonly<Record<string, { readonly result: string; readonly details?: string }>>;

const findingsOf = (sample: string, results: Results): readonly Finding[] =>
  Object.entries(results)
    .filter(([, { result }]) => !accepted.includes(result))
    .map(([id, { result, details = '' }]) => ({ sample, id, severity: result, details }));
