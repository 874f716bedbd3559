// openssl as a judge of what is published: its words about files that a test hands it.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

type Said = { readonly ok: boolean; readonly text: string };

/** Arguments that name one of the files get its path. */
export async function openssl(
  args: readonly string[],
  files: Readonly<Record<string, string | Buffer>> = {},
): Promise<Said> {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-openssl-'));
  try {
    for (const [name, contents] of Object.entries(files)) await writeFile(join(folder, name), contents);
    const paths = args.map((arg) => (Object.hasOwn(files, arg) ? join(folder, arg) : arg));
    const { stdout, stderr } = await run('openssl', paths, { maxBuffer: 512 * 1024 * 1024 });
    return { ok: true, text: stdout + stderr };
  } catch (error) {
    if (!(error instanceof Error) || !('stderr' in error)) throw error;
    return { ok: false, text: `${'stdout' in error ? error.stdout : ''}${error.stderr}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
