// What a connection is given to send in one turn of the event loop goes out in one piece. The driver writes each message of
// a statement by itself, and a write costs more than what it carries: here, and where it wakes the server.
import type pg from 'pg';

declare module 'pg' {
  interface Connection {
    _send(message: Buffer): boolean;
  }
}

/** The order stays: all messages of a session go this way, but for the first and the last. */
export function sendTogether(connection: pg.Connection): void {
  let waiting: Buffer[] = [];
  const flush = (): void => {
    const messages = waiting;
    waiting = [];
    const { stream } = connection;
    if (stream.writable) stream.write(Buffer.concat(messages));
  };
  connection._send = (message) => {
    if (!connection.stream.writable) return false;
    if (waiting.length === 0) process.nextTick(flush);
    waiting.push(message);
    return true;
  };
}
