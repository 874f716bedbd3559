// The load of a benchmark, in a process of its own: keep-alive connections, each asking as soon as it is answered.
// Reads what to do as JSON from its input, prints what came of it as JSON. It speaks HTTP with its bare hands, because what
// it costs is taken from the server: both share the machine.
import { connect as connectPlain, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import type { Load, LoadResult } from './run-load.ts';

const WARM_UP = 0.2;

const load: Load = JSON.parse(await text(process.stdin));
const { host, port, ca, token, connections, seconds, requests } = load;
const heads = requests.map(({ method, path, body = '' }) => {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}:${port}`];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
});

const begun = performance.now();
const end = begun + seconds * 1000;
const measuredFrom = begun + seconds * 1000 * WARM_UP;
const latencies: number[] = [];
const statuses = new Map<number, number>();
let next = 0;

await Promise.all(Array.from({ length: connections }, (_, index) => run(index)));

latencies.sort((a, b) => a - b);
const at = (part: number) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? Number.NaN;
const result: LoadResult = {
  perSecond: latencies.length / (seconds * (1 - WARM_UP)),
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  statuses: Object.fromEntries(statuses),
};
process.stdout.write(JSON.stringify(result));

async function run(index: number): Promise<void> {
  const address = { host: '127.0.0.1', port };
  const socket = ca === undefined ? connectPlain(address) : connect({ ...address, ca, servername: host });
  const connected = ca === undefined ? 'connect' : 'secureConnect';
  await new Promise<void>((resolve, reject) => socket.once(connected, resolve).once('error', reject));
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    converse(socket, index, resolve);
  });
  socket.destroy();
}

function converse(socket: Socket, index: number, done: () => void): void {
  let received: Buffer = Buffer.alloc(0);
  let sentAt = 0;
  const ask = (): void => {
    sentAt = performance.now();
    // Each connection goes its own way through the requests.
    if (sentAt < end) socket.write(heads[(index * 7919 + next++) % heads.length] ?? '');
    else done();
  };
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const head = received.indexOf('\r\n\r\n');
    if (head < 0) return;
    const lines = received.toString('latin1', 0, head);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(lines)?.[1] ?? 0);
    if (received.length < head + 4 + length) return;
    received = received.subarray(head + 4 + length);
    const now = performance.now();
    const status = Number(lines.slice(9, 12));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (sentAt >= measuredFrom) latencies.push(now - sentAt);
    ask();
  });
  ask();
}
