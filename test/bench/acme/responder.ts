// What stands behind the names that are asked for: a DNS server in which every name is 127.0.0.1, and an HTTP responder that
// answers the http-01 challenges that it was told of.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

export type Responder = AsyncDisposable & {
  /** Token to key authorization. */
  readonly answers: Map<string, string>;
};

export type ResponderPorts = { readonly http: number; readonly dns: number };

export async function openResponder(ports: ResponderPorts): Promise<Responder> {
  const answers = new Map<string, string>();
  const http = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (request: Buffer) => {
      const body = answers.get(challengePath.exec(request.toString('latin1'))?.[1] ?? '') ?? '';
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    });
  });
  http.listen(ports.http, '127.0.0.1');
  const dns = createSocket('udp4');
  dns.on('message', (query, { port, address }) => dns.send(answerTo(query), port, address));
  dns.bind(ports.dns, '127.0.0.1');
  await Promise.all([once(http, 'listening'), once(dns, 'listening')]);
  return {
    answers,
    async [Symbol.asyncDispose]() {
      http.close();
      dns.close();
      await once(dns, 'close');
    },
  };
}

const challengePath = /^GET \/\.well-known\/acme-challenge\/([\w-]+) /;

const HEADER = 12;
const TYPE_A = 1;
/** The name of the question, type A, class IN, a life of 0 s, 127.0.0.1. */
const loopback = Buffer.from('c00c000100010000000000047f000001', 'hex');

/** Types other than A have no data. Nothing but the question comes back: EDNS is not spoken here. */
function answerTo(query: Buffer): Buffer {
  let end = HEADER;
  for (let length = query[end] ?? 0; length > 0; length = query[end] ?? 0) end += length + 1;
  end += 5;
  const isAddress = query.readUInt16BE(end - 4) === TYPE_A;
  const header = Buffer.from(query.subarray(0, HEADER));
  // A response, recursion desired and available, no error.
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(isAddress ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(HEADER, end), ...(isAddress ? [loopback] : [])]);
}
