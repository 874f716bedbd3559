// The load generator, a process of its own: `load.ts URL CA_FILE` with {token, seconds, requests} on standard input, which
// it sends in turn over 32 kept connections; prints {perSecond, p50, p99, failures}.
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';

export type LoadRequest = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown };
export type LoadOrder = { readonly token: string; readonly seconds: number; readonly requests: readonly LoadRequest[] };
export type LoadResult = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that were no success. */
  readonly failures: number;
};

const CONNECTIONS = 32;

if (import.meta.main) {
  const [url = '', caFile = ''] = process.argv.slice(2);
  const order: LoadOrder = JSON.parse(await text(process.stdin));
  console.log(JSON.stringify(await load(url, readFileSync(caFile, 'utf8'), order)));
}

async function load(url: string, ca: string, { token, seconds, requests }: LoadOrder): Promise<LoadResult> {
  const pool = new Pool(url, { connections: CONNECTIONS, connect: { ca } });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const latencies: number[] = [];
  let failures = 0;
  let sent = 0;
  const begun = performance.now();
  const worker = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1_000) {
      const { method, path, body } = requests[sent++ % requests.length] ?? { method: 'GET', path: '/' };
      const from = performance.now();
      const reply = await pool.request({
        method,
        path,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      await reply.body.arrayBuffer();
      latencies.push(performance.now() - from);
      if (reply.statusCode >= 300) failures++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const elapsed = (performance.now() - begun) / 1_000;
  await pool.close();
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { perSecond: latencies.length / elapsed, p50Ms: at(0.5), p99Ms: at(0.99), failures };
}
