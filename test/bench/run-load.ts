// Starts the load of a benchmark and waits for what came of it.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

type LoadRequest = { readonly method: string; readonly path: string; readonly body?: string };

export type Load = {
  readonly host: string;
  readonly port: number;
  /** PEM of the anchor that the server's certificate is verified with; plain HTTP without it. */
  readonly ca?: string;
  readonly token?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Sent one after the other, over and over. */
  readonly requests: readonly LoadRequest[];
};

export type LoadResult = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly statuses: Readonly<Record<string, number>>;
};

const PROGRAM = join(import.meta.dirname, 'load.ts');

/** Throws when an answer has another status than the expected one: what is refused is fast. */
export async function runLoad(load: Load, expected: number): Promise<LoadResult> {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(load));
  const output = await text(child.stdout);
  if (output === '') throw new Error('The load ended without a result.');
  const result: LoadResult = JSON.parse(output);
  const others = Object.keys(result.statuses).filter((status) => Number(status) !== expected);
  if (others.length > 0) throw new Error(`Answers of status ${others.join(', ')}: ${JSON.stringify(result.statuses)}`);
  return result;
}
