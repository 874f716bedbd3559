// Hook programs that clients call for their challenges, written as their documents ask.
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Applicant } from './applicant.ts';

/** Start of a shell line that goes on with `present|cleanup NAME VALUE`. */
export const txtCommand = ({ txtUrl }: Applicant): string =>
  `'${process.execPath}' '${join(import.meta.dirname, 'txt-hook.ts')}' '${txtUrl}'`;

/** Writes a shell script that may be run, and returns its path. */
export async function writeScript(file: string, lines: readonly string[]): Promise<string> {
  await writeFile(file, ['#!/bin/sh', 'set -eu', ...lines, ''].join('\n'));
  await chmod(file, 0o755);
  return file;
}
