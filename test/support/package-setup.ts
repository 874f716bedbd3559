// Vitest global setup of the tests of what is shipped: the npm package and the root file system of the image, made in
// dist/ by the commands of the README.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { manifest, projectFolder } from '../../scripts/package/tree.ts';
import { blockOfFile, runBlocks } from './walkthrough.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the npm package. */
    readonly npmPackage: string;
    readonly tarball: string;
    /** Root of the image. */
    readonly image: string;
  }
}

export async function setup(project: TestProject): Promise<void> {
  await runBlocks([await blockOfFile('README.md', 'npm-package'), await blockOfFile('README.md', 'image')]);
  const dist = join(projectFolder, 'dist');
  project.provide('npmPackage', join(dist, 'package'));
  project.provide('tarball', join(dist, `acmery-${manifest.version}.tgz`));
  project.provide('image', join(dist, 'image'));
}

/** As npm runs it. */
export async function runScript(script: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [join(projectFolder, 'scripts', script), ...args], {
    cwd: projectFolder,
  });
}
