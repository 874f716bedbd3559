// An address of this machine that is no loopback: what a public URL needs where there is a cluster.
import { networkInterfaces } from 'node:os';

/** IPv4; undefined where there is none. */
export function ownAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}
