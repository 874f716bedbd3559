// Runs kubectl against a plane.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export type Kubectl = (
  args: readonly string[],
  options?: {
    /** What `-f -` reads. */
    readonly input?: string;
    /** Instead of the administrator's. */
    readonly kubeconfig?: string;
  },
) => Promise<{
  readonly stdout: string;
  /** Holds the warnings of the server. */
  readonly stderr: string;
}>;

const DEADLINE_MS = 60_000;

/** Rejects with the standard error when kubectl fails. */
export const kubectlOf =
  (program: string, adminKubeconfig: string): Kubectl =>
  async (args, { input = '', kubeconfig = adminKubeconfig } = {}) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      // It keeps a cache of what the server serves, under an address that the next plane may have.
      env: { PATH: process.env.PATH, KUBECONFIG: kubeconfig, KUBECACHEDIR: `${adminKubeconfig}.cache` },
      timeout: DEADLINE_MS,
    });
    const { promise: ended, resolve, reject } = Promise.withResolvers<number | null>();
    child.on('error', reject).on('close', resolve);
    // It may end without reading.
    child.stdin.on('error', () => undefined).end(input);
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}:\n${stderr}`);
    return { stdout, stderr };
  };
