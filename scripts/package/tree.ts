// The folder of this project, and what its package.json says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const projectFolder = join(import.meta.dirname, '../..');

export type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

export const manifest: Manifest = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8'));
