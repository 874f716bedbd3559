// `acmery manifests`: prints the CustomResourceDefinitions, and checks manifests without a cluster.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isManifest } from '../folder/manifest-files.ts';
import { parseYaml } from '../folder/yaml.ts';
import { type ForeignManifest, type ManifestProblem, problemLine } from '../resources/manifest.ts';
import { readManifests } from '../resources/manifests.ts';
import { crdFiles } from './crd-files.ts';

/** What kubectl takes where neither a manifest nor its context names one. */
const DEFAULT_NAMESPACE = 'default';
const STANDARD_INPUT = '-';

export function printCrdsCommand(): number {
  console.log(
    crdFiles()
      .map(({ text }) => text)
      .join('---\n')
      .trimEnd(),
  );
  return 0;
}

/** Files, folders with all that is below them, and `-` for the standard input. One line per problem. */
export function checkManifestsCommand(paths: readonly string[]): number {
  const problems: ManifestProblem[] = [];
  const reading = <T>(path: string, read: () => readonly T[]): readonly T[] => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      problems.push({ file: path, message: `cannot be read: ${error.message}` });
      return [];
    }
  };
  const files = paths.flatMap((path) => reading(path, () => filesOf(path)));
  const documents = files.flatMap((file) =>
    reading(file, () => {
      const parsed = parseYaml(file, readFileSync(file === STANDARD_INPUT ? 0 : file, 'utf8'));
      problems.push(...parsed.problems);
      return parsed.documents;
    }),
  );
  const read = readManifests(documents, DEFAULT_NAMESPACE);
  for (const problem of [...problems, ...read.problems]) console.error(problemLine(problem));
  const found = problems.length + read.problems.length;
  const skipped = skippedWords(read.foreign);
  if (found > 0) console.error(`${counted(found, 'problem')}.${skipped}`);
  else console.log(`${counted(read.manifests.length, 'manifest')} checked, no problem.${skipped}`);
  return found > 0 ? 1 : 0;
}

function filesOf(path: string): readonly string[] {
  if (path === STANDARD_INPUT || !statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => isManifest(entry, path))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

const skippedWords = (foreign: readonly ForeignManifest[]): string => {
  const names = [...new Set(foreign.map(({ kind }) => kind))].sort().join(', ');
  return foreign.length === 0
    ? ''
    : ` Not looked into: ${counted(foreign.length, 'manifest')} of other kinds (${names}).`;
};

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
