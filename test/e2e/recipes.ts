// The recipes of docs/acme.md, which are run as they stand there.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from './client.ts';

/** The block that stands below `<!-- recipe: NAME -->`. */
export async function recipeFor(name: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../../docs/acme.md'), 'utf8');
  const text = new RegExp(`<!-- recipe: ${name} -->\n\`\`\`\\w+\n(.*?)\`\`\``, 's').exec(page)?.[1];
  if (text === undefined) throw new Error(`docs/acme.md has no recipe for ${name}`);
  return text;
}

/** The names that all recipes use. */
export const recipeValues = ({ directoryUrl, caFile, eab }: Context) => ({
  DIRECTORY: directoryUrl,
  ANCHOR: caFile,
  KID: eab.kid,
  HMAC: eab.hmac,
});
