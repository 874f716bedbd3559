// `npm run build`: the npm package, in dist/package (or the folder that is given): `npm pack ./dist/package` makes the tarball.
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeNpmPackage } from './package/npm-package.ts';
import { projectFolder } from './package/tree.ts';

const folder = resolve(process.argv[2] ?? join(projectFolder, 'dist/package'));
await rm(folder, { recursive: true, force: true });
await writeNpmPackage(folder);
console.log(`${folder} written`);
