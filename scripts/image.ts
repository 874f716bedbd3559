// `npm run image`: the image's root file system, in dist/image; the Dockerfile makes it by the same command.
// `npm run image -- build FOLDER` makes it elsewhere; `npm run image -- run [COMMAND...]` runs what lies in dist/image, without
// a container engine: as the image's user, with a root that cannot be written, and with the settings of this environment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeImageFiles } from './package/image-files.ts';
import { imageCommand, withoutNamespaces } from './package/image-process.ts';
import { projectFolder } from './package/tree.ts';

const SETTING = /^(ACMERY_.*|DATABASE_URL)$/;
const usual = join(projectFolder, 'dist/image');
const [verb = 'build', ...args] = process.argv.slice(2);
if (verb === 'build') await build(resolve(args[0] ?? usual));
else if (verb === 'run') await run();
else {
  console.error('There are `build [FOLDER]` and `run [COMMAND...]`.');
  process.exitCode = 2;
}

async function build(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeImageFiles(folder);
  console.log(`${folder} written`);
}

async function run(): Promise<void> {
  const reason = withoutNamespaces();
  if (reason !== undefined) throw new Error(reason);
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (SETTING.test(name) && value ? [[name, value]] : [])),
  );
  const [program = '', ...rest] = imageCommand({ root: usual, env, ...(args.length > 0 && { args }) });
  const child = spawn(program, rest, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
}
