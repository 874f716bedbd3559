// Ports of this machine that nothing listens on, and that no outgoing connection will take while a server restarts.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range from which Linux, macOS and Windows give ports to outgoing connections. */
const range = { from: 15_000, to: 32_000 };
const MAX_ATTEMPTS = 100;

export async function freePorts<Name extends string>(names: readonly Name[]): Promise<Readonly<Record<Name, number>>> {
  const ports = new Map<Name, number>();
  for (let attempt = 0; ports.size < names.length; attempt++) {
    if (attempt === MAX_ATTEMPTS)
      throw new Error(`${MAX_ATTEMPTS} ports between ${range.from} and ${range.to} are in use.`);
    const port = randomInt(range.from, range.to);
    const name = names[ports.size];
    if (name !== undefined && ![...ports.values()].includes(port) && (await isFree(port))) ports.set(name, port);
  }
  return Object.fromEntries(ports) as Record<Name, number>;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
