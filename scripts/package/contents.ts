// The packages that are in the bundle, as their package.json and the lockfile describe them.
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFolder } from './tree.ts';

export type BundledPackage = {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** As in the lockfile: `sha512-` and base64. */
  readonly integrity: string | undefined;
  /** Names of packages that it asks for. */
  readonly needs: readonly string[];
  /** Whole files, in the order of their names. */
  readonly licenceTexts: readonly string[];
};

type Entry = { readonly integrity?: string; readonly dependencies?: Readonly<Record<string, string>> };

const lockfile: { readonly packages: Readonly<Record<string, Entry>> } = JSON.parse(
  readFileSync(join(projectFolder, 'package-lock.json'), 'utf8'),
);

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

export const contentsOf = (folders: readonly string[]): Promise<readonly BundledPackage[]> =>
  Promise.all(folders.map(contentOf));

async function contentOf(folder: string): Promise<BundledPackage> {
  const path = join(projectFolder, folder);
  const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'));
  if (typeof license !== 'string') throw new Error(`${folder} does not say its licence in package.json.`);
  const { integrity, dependencies = {} } = lockfile.packages[folder] ?? {};
  const files = (await readdir(path)).filter((file) => LICENCE_FILE.test(file)).sort();
  const licenceTexts = await Promise.all(files.map((file) => readFile(join(path, file), 'utf8')));
  return { name, version, license, integrity, needs: Object.keys(dependencies), licenceTexts };
}

/** What the licences ask those to hand on who hand on the bundle. */
export const licencesText = (packages: readonly BundledPackage[]): string =>
  packages
    .map(({ name, version, license, licenceTexts }) =>
      [`${name} ${version}: ${license}`, '='.repeat(78), ...licenceTexts.map((text) => text.trim()), ''].join('\n'),
    )
    .join('\n');
