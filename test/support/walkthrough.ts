// Commands of the documents: tests run them as they are written.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const repository = join(import.meta.dirname, '../..');

/** The block of that name in a Markdown text. */
export function blockOf(text: string, name: string): string {
  const commands = new RegExp(`<!-- walkthrough: ${name} -->\n\`\`\`sh\n(.*?)\`\`\``, 's').exec(text)?.[1];
  if (commands === undefined) throw new Error(`there are no commands for ${name}`);
  return commands;
}

export const blockOfFile = async (file: string, name: string): Promise<string> =>
  blockOf(await readFile(join(repository, file), 'utf8'), name);

/** Runs commands by bash in the checkout, or elsewhere, to the first that fails. */
export const runBlocks = (
  blocks: readonly string[],
  { cwd = repository, env = process.env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  promisify(execFile)('bash', ['-euo', 'pipefail', '-c', blocks.join('\n')], { cwd, env });

/** That `kubectl` of the blocks is this program, for the administrator of a cluster. */
export const kubectlAs = (program: string, kubeconfig: string): string => `
export KUBECONFIG="${kubeconfig}" KUBECACHEDIR="${kubeconfig}.cache"
kubectl() { "${program}" "$@"; }
`;
