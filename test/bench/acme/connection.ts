// One keep-alive HTTPS connection that asks one thing at a time. It speaks HTTP with its bare hands: what a load generator
// costs is taken from the server, since both share the machine.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';

export type Origin = {
  /** From an URL of the server: `https://localhost:8443`. It is reached on 127.0.0.1, whatever its name. */
  readonly url: URL;
  /** PEM of the anchor that the server's certificate is verified with. */
  readonly ca: string;
};

export type Answer = {
  readonly status: number;
  readonly nonce: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
};

type Waiting = {
  readonly hasBody: boolean;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
};

type Head = { readonly status: number; readonly lines: string; readonly end: number };

const DEADLINE_MS = 30_000;

export class Connection {
  readonly #origin: Origin;
  #socket: TLSSocket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  /** A JWS is posted; without one it is a GET, or what the method says. */
  async ask(url: string, jws?: string, method = 'GET'): Promise<Answer> {
    const { origin, pathname, search } = new URL(url);
    if (origin !== this.#origin.url.origin) throw new Error(`${url} is not on ${this.#origin.url.origin}.`);
    const head = [
      `${jws === undefined ? method : 'POST'} ${pathname}${search} HTTP/1.1`,
      `Host: ${this.#origin.url.host}`,
    ];
    head.push('User-Agent: acmery-bench');
    if (jws !== undefined) head.push('Content-Type: application/jose+json', `Content-Length: ${jws.length}`);
    const socket = this.#socket ?? (await this.#connect());
    return new Promise((resolve, reject) => {
      this.#waiting = { hasBody: method !== 'HEAD', resolve, reject };
      socket.write(`${head.join('\r\n')}\r\n\r\n${jws ?? ''}`, 'latin1');
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  async #connect(): Promise<TLSSocket> {
    const { url, ca } = this.#origin;
    const socket = connect({ host: '127.0.0.1', port: Number(url.port || 443), ca, servername: url.hostname });
    await once(socket, 'secureConnect');
    socket.setNoDelay(true);
    socket.setTimeout(DEADLINE_MS, () => this.#lose(socket, new Error(`No answer for ${DEADLINE_MS} ms.`)));
    socket.on('error', (error) => this.#lose(socket, error));
    socket.on('close', () => this.#lose(socket, new Error('The server closed the connection.')));
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#received = Buffer.alloc(0);
    this.#socket = socket;
    return socket;
  }

  #lose(socket: TLSSocket, error: Error): void {
    socket.destroy();
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const waiting = this.#waiting;
    const head = headOf(this.#received);
    if (waiting === undefined || head === undefined) return;
    const body = waiting.hasBody ? bodyOf(this.#received, head) : { text: '', end: head.end };
    if (body === undefined) return;
    this.#received = this.#received.subarray(body.end);
    this.#waiting = undefined;
    if (/\r\nconnection: close/i.test(head.lines)) this.#forget();
    const { status, lines } = head;
    waiting.resolve({ status, nonce: field(lines, replayNonce), location: field(lines, location), body: body.text });
  }

  /** The next question opens another. */
  #forget(): void {
    this.#socket?.end();
    this.#socket = undefined;
  }
}

const replayNonce = /\r\nreplay-nonce: *([\w-]+)/i;
const location = /\r\nlocation: *(\S+)/i;
const contentLength = /\r\ncontent-length: *(\d+)/i;
const chunked = /\r\ntransfer-encoding: *chunked/i;

const field = (lines: string, pattern: RegExp): string | undefined => pattern.exec(lines)?.[1];

function headOf(received: Buffer): Head | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const lines = received.toString('latin1', 0, end);
  return { status: Number(lines.slice(9, 12)), lines, end: end + 4 };
}

/** Undefined while some of it is missing. */
function bodyOf(received: Buffer, { status, lines, end }: Head): { text: string; end: number } | undefined {
  if (status === 204 || status === 304) return { text: '', end };
  if (chunked.test(lines)) return chunksOf(received, end);
  const length = Number(field(lines, contentLength) ?? 0);
  if (received.length < end + length) return undefined;
  return { text: received.toString('utf8', end, end + length), end: end + length };
}

function chunksOf(received: Buffer, begin: number): { text: string; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = begin; ; ) {
    const line = received.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const length = Number.parseInt(received.toString('latin1', at, line), 16);
    const end = line + 2 + length + 2;
    if (received.length < end) return undefined;
    if (length === 0) return { text: Buffer.concat(parts).toString('utf8'), end };
    parts.push(received.subarray(line + 2, end - 2));
    at = end;
  }
}
