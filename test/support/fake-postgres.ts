// A program that listens where Postgres should: asks for the password in clear, or lets everybody in.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const AUTHENTICATION_OK = 0;
const CLEARTEXT_PASSWORD = 3;

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const answers = {
  'asks for the password in clear': message('R', int32(CLEARTEXT_PASSWORD)),
  'lets everybody in': Buffer.concat([message('R', int32(AUTHENTICATION_OK)), message('Z', Buffer.from('I'))]),
  'skips the login': message('Z', Buffer.from('I')),
};

export const kindsOfFakePostgres = Object.keys(answers) as readonly (keyof typeof answers)[];

export async function fakePostgres(kind: keyof typeof answers) {
  const sockets = new Set<Socket>();
  let received = '';
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(answers[kind]);
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1');
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** What came after the client's first message. */
    received: () => received,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
