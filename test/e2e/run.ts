// Runs a program of somebody else's: with a deadline, an environment of its own, and all its output in the error when it fails.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export type Command = {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly deadlineMs?: number;
  /** What it reads from its standard input. */
  readonly input?: string;
};

const DEADLINE_MS = 120_000;
const TAIL_LINES = 40;

/** What the program printed, on both channels. Throws when it fails or is late. */
export async function run({ deadlineMs = DEADLINE_MS, ...command }: Command): Promise<string> {
  const { child, output } = started(command);
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  const code = await codeOf(child).finally(() => clearTimeout(timer));
  if (code === 0) return output();
  throw new Error(`${commandLine(command)} ended with ${code ?? `a kill after ${deadlineMs} ms`}:\n${tail(output())}`);
}

export type Running = AsyncDisposable & {
  readonly output: () => string;
  /** Throws, with the output, once the program has ended. */
  readonly mustRun: () => void;
};

/** Starts a program that stays; disposing of it ends it. */
export function start(command: Command): Running {
  const { child, output } = started(command);
  const ended = codeOf(child);
  return {
    output,
    mustRun() {
      if (child.exitCode === null && child.signalCode === null) return;
      throw new Error(`${commandLine(command)} ended with ${child.exitCode}:\n${tail(output())}`);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended.finally(() => clearTimeout(timer));
    },
  };
}

function started({ program, args, env = {}, cwd, input = '' }: Command): { child: ChildProcess; output: () => string } {
  const { PATH, HOME } = process.env;
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH, HOME, LC_ALL: 'C', ...env },
    ...(cwd !== undefined && { cwd }),
  });
  let text = '';
  for (const channel of [child.stdout, child.stderr]) {
    channel?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  // A program that ends without reading is none of our business.
  child.stdin?.on('error', () => undefined).end(input);
  return { child, output: () => text };
}

async function codeOf(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'close');
  return code;
}

const commandLine = ({ program, args }: Command): string => [program, ...args].join(' ');

const tail = (text: string): string => text.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
