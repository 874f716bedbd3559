// Asks a Postgres server whether it takes logins, by the first message of its protocol, and finds a port to run one on.
import { connect, createServer } from 'node:net';
import { roleName } from './initialise.ts';

const PROTOCOL_3 = 196_608;
const ANSWER_MS = 2_000;

/** True once the server wants a password, or refuses for another reason than that it is still starting. */
export function takesLogins(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_MS });
    const settle = (ready: boolean) => {
      resolve(ready);
      socket.destroy();
    };
    socket.on('connect', () => socket.write(startupMessage()));
    socket.on('data', (answer) => settle(!answer.includes('57P03')));
    socket.on('timeout', () => settle(false));
    socket.on('error', () => settle(false));
    socket.on('close', () => settle(false));
  });
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

function startupMessage(): Buffer {
  const body = Buffer.from(`user\0${roleName}\0database\0postgres\0\0`);
  const message = Buffer.alloc(8 + body.length);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(PROTOCOL_3, 4);
  body.copy(message, 8);
  return message;
}
