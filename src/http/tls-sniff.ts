// Tells plain HTTP on an HTTPS port from TLS by its first byte, so that the person behind it gets an answer to read.
import type { Server } from 'node:https';
import type { Socket } from 'node:net';

const TLS_HANDSHAKE = 0x16;

/**
 * Gives connections that do not begin with a TLS handshake to `plain`; all others go on as before. The result closes
 * those that have not sent anything yet.
 */
export function sniffPlainHttp(server: Server, firstByteMs: number, plain: (socket: Socket) => void): () => void {
  const silent = new Set<Socket>();
  const accept = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), firstByteMs);
    silent.add(socket);
    const heard = () => {
      clearTimeout(timer);
      silent.delete(socket);
    };
    socket.on('error', () => socket.destroy());
    socket.once('close', heard);
    socket.once('readable', () => {
      heard();
      const first: Buffer | null = socket.read();
      if (first === null) return void socket.destroy();
      socket.unshift(first);
      if (first[0] !== TLS_HANDSHAKE) return plain(socket);
      for (const listener of accept) listener.call(server, socket);
    });
  });
  return () => {
    for (const socket of silent) socket.destroy();
  };
}
