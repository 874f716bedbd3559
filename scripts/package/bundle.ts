// The program as one file of JavaScript that can be read, with its source map; beside it a launcher, and what is not code.
import { chmod, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { manifest, projectFolder } from './tree.ts';

/**
 * Of Node. Bounds as in scripts/node.cjs, and wider ones, because the bundle needs 30 MB less than the sources: at those of
 * the sources an order costs 8 % more processor time, and without any the process grows by 50 MB. Half of the space for
 * young objects is there from the beginning, since it would grow to it by half a dozen collections while the program starts.
 */
export const nodeFlags = ['--max-semi-space-size=8', '--min-semi-space-size=4', '--heap-growing-percent=70'];

/** What Node's process stands in, as in scripts/node.cjs. */
export const environment = { MALLOC_ARENA_MAX: '1' };

const usual: BuildOptions = {
  absWorkingDir: projectFolder,
  platform: 'node',
  format: 'esm',
  target: 'node24.12',
  // One byte a character keeps the text in half the memory.
  charset: 'ascii',
  // They stand in a file of their own.
  legalComments: 'none',
  logLevel: 'warning',
};

// Packages in the older form of modules ask for those of Node by `require`.
const REQUIRE = `import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);`;

/**
 * An `import` of node:http makes Node look at each of its exports, and one of them loads a whole HTTP client that nobody
 * here uses: 12 MB. `require` looks at none.
 */
const httpByRequire: Plugin = {
  name: 'node:http by require',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'http', namespace: 'by-require' } : { path: 'node:http', external: true },
    );
    onLoad({ filter: /.*/, namespace: 'by-require' }, () => ({ contents: `module.exports = require('node:http');` }));
  },
};

/** Writes the bundle and returns the folders of all packages that are in it, below the project. */
export async function writeBundle(folder: string, options: { readonly interpreter: string }): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const { metafile, outputFiles } = await build({
    ...usual,
    entryPoints: ['src/main.ts'],
    // As if it lay in the project, so that the map calls the sources the same wherever the bundle goes.
    outfile: 'main.js',
    write: false,
    bundle: true,
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    // The native driver, which pg would use only if it were asked to.
    external: ['pg-native'],
    plugins: [httpByRequire],
    banner: { js: REQUIRE },
  });
  for (const { path, contents } of outputFiles) await writeFile(join(folder, basename(path)), contents);
  const launcher = join(folder, 'acmery.js');
  await build({
    ...usual,
    entryPoints: ['scripts/package/launcher.ts'],
    outfile: launcher,
    banner: { js: `#!${options.interpreter}` },
  });
  await chmod(launcher, 0o755);
  await copyOwnFiles(folder);
  await copyFile(join(projectFolder, 'LICENSE'), join(folder, 'LICENSE'));
  const { name, version } = manifest;
  await writeFile(join(folder, 'package.json'), `${JSON.stringify({ name, version, type: 'module' }, null, 2)}\n`);
  return packagesIn(metafile);
}

/** What src/program.ts reads. */
async function copyOwnFiles(folder: string): Promise<void> {
  const files = await readdir(join(projectFolder, 'src'), { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of files.filter((file) => file.isFile() && !file.name.endsWith('.ts'))) {
    const from = join(parentPath, name);
    const to = join(folder, from.slice(join(projectFolder, 'src').length));
    await mkdir(dirname(to), { recursive: true });
    await copyFile(from, to);
  }
}

/** The innermost package of each file; what adds no byte is not in it. */
function packagesIn({ outputs }: Metafile): string[] {
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort();
}
