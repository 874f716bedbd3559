// The network that tests break: what a silenced connection does, and a cut one.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { TcpProxy } from '../support/tcp-proxy.ts';

test('a silenced connection stays open and carries nothing, also after mending, when new ones work', async () => {
  await using echo = await echoServer();
  await using proxy = await TcpProxy.to(echo);
  await proxy.mend();
  const old = connect(proxy.port, '127.0.0.1');
  expect(await answerOf(old, 'before')).toBe('before');
  const heard: string[] = [];
  old.on('data', (data) => heard.push(String(data)));

  proxy.silence();
  old.write('lost');
  const duringSilence = connect(proxy.port, '127.0.0.1');
  await once(duringSilence, 'connect');
  duringSilence.on('data', (data) => heard.push(String(data)));
  duringSilence.write('lost too');
  await proxy.mend();

  const fresh = connect(proxy.port, '127.0.0.1');
  expect(await answerOf(fresh, 'after')).toBe('after');
  expect(heard).toEqual([]);
  expect([old.destroyed, duringSilence.destroyed]).toEqual([false, false]);
  expect(proxy.connections).toBe(3);
});

test('cutting closes connections and refuses new ones', async () => {
  await using echo = await echoServer();
  await using proxy = await TcpProxy.to(echo);
  await proxy.mend();
  const socket = connect(proxy.port, '127.0.0.1');
  expect(await answerOf(socket, 'before')).toBe('before');
  const closed = once(socket, 'close');
  await proxy.cut();
  await closed;
  await expect(once(connect(proxy.port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

async function answerOf(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [data] = await once(socket, 'data');
  return String(data);
}

async function echoServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return {
    host: '127.0.0.1',
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
