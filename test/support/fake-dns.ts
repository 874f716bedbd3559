// A scriptable recursive DNS server on loopback, UDP and TCP on one port: names and how it answers for them are data.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import * as dns from 'dns-packet';

export type CaaData = { readonly flags: number; readonly tag: string; readonly value: string };

/** Response codes by the name a script gives them; names that no script mentions do not exist. */
const responseCodes = { nodata: 0, formerr: 1, servfail: 2, nxdomain: 3, notimp: 4, refused: 5 } as const;

type Records = {
  readonly caa?: readonly CaaData[];
  /** Each text is a record; a list is one record of several strings. */
  readonly txt?: readonly (string | readonly string[])[];
  readonly a?: readonly string[];
  readonly aaaa?: readonly string[];
  /** The name is an alias: the answer carries the chain and what stands at its end. */
  readonly cname?: string;
  /** Only the alias is told, as by a server that does not resolve for others. */
  readonly aliasOnly?: boolean;
  /** Over UDP only an empty answer that says "ask again over TCP". */
  readonly truncated?: boolean;
};

/** `silent`: no answer at all. `malformed`: an answer that breaks off in the middle. A function is asked at each query. */
type Fixed = keyof typeof responseCodes | 'silent' | 'malformed' | Records;
export type Script = Fixed | ((type: string) => Fixed);

/** By name in lower case; `*` stands for every name that has no row. */
export type Zone = Readonly<Record<string, Script>>;

const MOST_LINKS = 20;

type Query = { readonly name: string; readonly type: string; readonly transport: 'udp' | 'tcp' };

export type FakeDns = AsyncDisposable & {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Everything that was asked, in the order of arrival. */
  readonly queries: readonly Query[];
  /** How many queries at most waited for their answers at the same time. */
  readonly mostAtOnce: number;
};

type Options = {
  /** Answers are held back until this many queries wait; then all that wait are answered, and so on. */
  readonly holdUntil?: number;
};

export async function fakeDns(zone: Zone, options: Options = {}): Promise<FakeDns> {
  const queries: Query[] = [];
  const connections = new Set<Socket>();
  let held: (() => void)[] = [];
  let mostAtOnce = 0;
  let isClosed = false;

  const receive = (message: Buffer, transport: Query['transport'], send: (answer: Buffer) => void): void => {
    const { name = '', type = '' } = dns.decode(message).questions?.[0] ?? {};
    queries.push({ name, type, transport });
    const answer = answerTo(message, zone, transport);
    if (answer !== undefined) held.push(() => send(answer));
    mostAtOnce = Math.max(mostAtOnce, held.length);
    if (held.length < (options.holdUntil ?? 1)) return;
    // One turn later, so that queries that are already here count as waiting too.
    setImmediate(() => {
      const due = held;
      held = [];
      if (!isClosed) for (const release of due) release();
    });
  };

  const { tcp, udp, port } = await listen();
  udp.on('message', (message, { port: from, address }) =>
    receive(message, 'udp', (answer) => udp.send(answer, from, address)),
  );
  tcp.on('connection', (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    readMessages(socket, (message) =>
      receive(message, 'tcp', (answer) => socket.write(Buffer.concat([lengthOf(answer), answer]))),
    );
  });

  return {
    address: `127.0.0.1:${port}`,
    queries,
    get mostAtOnce() {
      return mostAtOnce;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const socket of connections) socket.destroy();
      udp.close();
      tcp.close();
      await Promise.all([once(udp, 'close'), once(tcp, 'close')]);
    },
  };
}

function answerTo(message: Buffer, zone: Zone, transport: Query['transport']): Buffer | undefined {
  const { id = 0, questions = [] } = dns.decode(message);
  const { name = '', type = '' } = questions[0] ?? {};
  const flags = dns.RECURSION_DESIRED | dns.RECURSION_AVAILABLE;
  const reply = (extraFlags: number, answers: readonly dns.Answer[]): Buffer =>
    dns.encode({ type: 'response', id, flags: flags | extraFlags, questions, answers });

  const answers: dns.Answer[] = [];
  let owner = name;
  // A chain that does not end is cut, as resolvers do.
  for (let links = 0; links <= MOST_LINKS; links += 1) {
    const row = zone[owner.toLowerCase()] ?? zone['*'] ?? 'nxdomain';
    const script = typeof row === 'function' ? row(type) : row;
    if (script === 'silent') return undefined;
    // The header promises one answer, and the message ends before it.
    if (script === 'malformed') return withAnswerCount(reply(0, []), 1);
    if (typeof script === 'string') return reply(responseCodes[script], answers);
    if (script.truncated === true && transport === 'udp') return reply(dns.TRUNCATED_RESPONSE, []);
    for (const data of recordsOf(script, type)) answers.push({ type, name: owner, ttl: 300, data });
    if (script.cname === undefined) return reply(0, answers);
    answers.push({ type: 'CNAME', name: owner, ttl: 300, data: script.cname });
    if (type === 'CNAME' || script.aliasOnly === true) return reply(0, answers);
    owner = script.cname;
  }
  return reply(0, answers);
}

function recordsOf({ caa = [], txt = [], a = [], aaaa = [] }: Records, type: string): readonly unknown[] {
  return { CAA: caa, TXT: txt, A: a, AAAA: aaaa }[type] ?? [];
}

function withAnswerCount(message: Buffer, count: number): Buffer {
  message.writeUInt16BE(count, 6);
  return message;
}

async function listen(): Promise<{ tcp: Server; udp: UdpSocket; port: number }> {
  for (;;) {
    const tcp = createServer();
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const address = tcp.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const udp = createSocket('udp4');
    udp.bind(port, '127.0.0.1');
    try {
      await once(udp, 'listening');
      return { tcp, udp, port };
    } catch {
      // The UDP port of this number is taken: another number.
      tcp.close();
    }
  }
}

function readMessages(socket: Socket, onMessage: (message: Buffer) => void): void {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      onMessage(received.subarray(2, end));
      received = received.subarray(end);
    }
  });
}

function lengthOf(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return length;
}
