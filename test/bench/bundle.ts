// The program as it is shipped, for what is measured of it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from '../support/acmery-process.ts';
import { runScript } from '../support/package-setup.ts';

/** Builds it below the folder. It runs as its first line says, under this Node. */
export async function builtBundle(folder: string): Promise<Program> {
  await runScript('build.ts', join(folder, 'package'));
  const launcher = join(folder, 'package/acmery.js');
  const interpreter = /^#!\/usr\/bin\/env -S (.*)$/m.exec(await readFile(launcher, 'utf8'))?.[1];
  if (interpreter === undefined) throw new Error(`${launcher} does not say what it runs under.`);
  const words = interpreter.split(' ').map((word) => (word === 'node' ? process.execPath : word));
  return (args) => ['/usr/bin/env', ...words, launcher, ...args];
}
