// The DNS of the scenarios: every name is this machine, and TXT records are what the clients have put there.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import * as dns from 'dns-packet';

export type NameServer = AsyncDisposable & {
  /** `127.0.0.1:port` */
  readonly address: string;
  add(name: string, value: string): void;
  remove(name: string, value: string): void;
};

const ZONE = 'corp.example';

export async function openNameServer(): Promise<NameServer> {
  const records = new Map<string, ReadonlySet<string>>();
  const { udp, tcp, port } = await listen();
  const textOf = (name: string): ReadonlySet<string> => records.get(keyOf(name)) ?? new Set();
  udp.on('message', (message, { port: from, address }) => udp.send(answer(message, textOf), from, address));
  tcp.on('connection', (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      const reply = answer(data.subarray(2), textOf);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.end(Buffer.concat([length, reply]));
    });
  });
  return {
    address: `127.0.0.1:${port}`,
    add: (name, value) => void records.set(keyOf(name), new Set([...textOf(name), value])),
    remove: (name, value) => void records.set(keyOf(name), textOf(name).difference(new Set([value]))),
    async [Symbol.asyncDispose]() {
      udp.close();
      tcp.close();
      await Promise.all([once(udp, 'close'), once(tcp, 'close')]);
    },
  };
}

function answer(message: Buffer, textOf: (name: string) => ReadonlySet<string>): Buffer {
  const { id = 0, questions = [] } = dns.decode(message);
  const { name = '', type = '' } = questions[0] ?? {};
  const found = (data: unknown): dns.Answer => ({ type, name, ttl: 1, data });
  const answers: Readonly<Record<string, () => readonly dns.Answer[]>> = {
    A: () => [found('127.0.0.1')],
    TXT: () => [...textOf(name)].map((value) => found([value])),
    // Clients look for the zone that they are to write into.
    SOA: () => (keyOf(name) === ZONE ? [found({ mname: `ns.${ZONE}`, rname: `admin.${ZONE}`, serial: 1 })] : []),
    NS: () => (keyOf(name) === ZONE ? [found(`ns.${ZONE}`)] : []),
  };
  const flags = dns.RECURSION_DESIRED | dns.RECURSION_AVAILABLE;
  return dns.encode({ type: 'response', id, flags, questions, answers: [...(answers[type]?.() ?? [])] });
}

const keyOf = (name: string): string => name.toLowerCase().replace(/\.$/, '');

async function listen(): Promise<{ udp: UdpSocket; tcp: ReturnType<typeof createServer>; port: number }> {
  for (;;) {
    const tcp = createServer().listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const address = tcp.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const udp = createSocket('udp4').bind(port, '127.0.0.1');
    try {
      await once(udp, 'listening');
      return { udp, tcp, port };
    } catch {
      // The UDP port of this number is taken: another number.
      tcp.close();
    }
  }
}
