// Has every linter look at everything that a fresh server makes, and says what came of each group of it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAcmery } from '../servers/acmery-server.ts';
import { type Explained, explained, explains } from './explained.ts';
import type { Finding, LintTool, SampleFile } from './linter.ts';
import { makeSamples } from './samples.ts';

export type Fetched = { readonly name: string; readonly tool: LintTool };
type Verdict = { readonly scenario: string; readonly seconds: number; readonly error?: string };
type Tell = (fetched: Fetched, verdict: Verdict) => void;

type FileGroup = { readonly name: string; readonly files: readonly SampleFile[] };

/** Calls `tell` with what each tool makes of each group, as it comes. Throws where there is nothing to look at. */
export async function lintEverything(tools: readonly Fetched[], tell: Tell): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'acmery-lint-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const groups = await groupsIn(folder);
  for (const fetched of tools) {
    const unused = new Set(explained.filter(({ linter }) => linter === fetched.name));
    for (const group of groups) tell(fetched, await timed(() => look(fetched, group, unused), describe(group)));
    if (unused.size > 0) tell(fetched, { scenario: 'finds what is explained', seconds: 0, error: neverFound(unused) });
  }
}

async function groupsIn(folder: string): Promise<readonly FileGroup[]> {
  const serverFolder = join(folder, 'server');
  await mkdir(serverFolder);
  await using server = await runAcmery(serverFolder, { ACMERY_HTTP_URL: 'http://pki.corp.example' });
  const groups: FileGroup[] = [];
  for (const [place, { name, samples }] of (await makeSamples(server)).entries()) {
    const groupFolder = join(folder, String(place));
    await mkdir(groupFolder);
    const files = samples.map((sample, index) => ({ ...sample, file: join(groupFolder, `${index}.der`) }));
    for (const { file, der } of files) await writeFile(file, der);
    groups.push({ name, files });
  }
  return groups;
}

const describe = ({ name, files }: FileGroup): string => `accepts ${files.length} things of ${name}`;

async function timed(act: () => Promise<string | undefined>, scenario: string): Promise<Verdict> {
  const begun = performance.now();
  const error = await act().catch(String);
  const seconds = (performance.now() - begun) / 1_000;
  return { scenario, seconds, ...(error !== undefined && { error }) };
}

/** What is wrong; explained findings are taken out of `unused`. */
async function look(
  { name, tool }: Fetched,
  { files }: FileGroup,
  unused: Set<Explained>,
): Promise<string | undefined> {
  const unexplained = (await tool.lint(files)).filter((finding) => {
    const row = explained.find((candidate) => explains(candidate, name, finding));
    if (row !== undefined) unused.delete(row);
    return row === undefined;
  });
  return unexplained.length === 0 ? undefined : unexplained.map(sentence).join('\n');
}

const sentence = ({ sample, id, severity, details }: Finding): string => `${sample}: ${severity} ${id} ${details}`;

const neverFound = (rows: ReadonlySet<Explained>): string =>
  [...rows].map(({ id, sample }) => `${id} of ${sample} is explained and was not found`).join('\n');
