// Who the client is: the peer of the connection, or, behind proxies that the operator trusts, the hop they vouch for.
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, type Socket, SocketAddress } from 'node:net';
import { forwardedForHops, forwardedHops, type Hops } from './forwarded.ts';

export type TrustedProxies = {
  has(address: string): boolean;
};

/** Takes CIDRs and plain addresses; throws on anything else. */
export function trustedProxies(ranges: readonly string[]): TrustedProxies {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix, ...rest] = range.split('/');
    const family = familyOf(address);
    const longest = family === 'ipv4' ? 32 : 128;
    const bits = prefix === undefined ? longest : Number(prefix);
    if (family === undefined || rest.length > 0 || !/^\d{1,3}$/.test(prefix ?? '0') || bits > longest)
      throw new RangeError(`"${range}" is neither an IP address nor a CIDR such as 10.0.0.0/8.`);
    list.addSubnet(address, bits, family);
  }
  return {
    has: (address) => {
      const family = familyOf(address);
      return family !== undefined && list.check(address, family);
    },
  };
}

/** The other end of a connection. */
export type Peer = { readonly address: string; readonly isTrusted: boolean };

/** Looks at each connection once: its peer stays. */
export function peersOf(trusted: TrustedProxies): (socket: Socket) => Peer {
  const known = new WeakMap<Socket, Peer>();
  return (socket) => {
    const peer = known.get(socket) ?? peerAt(socket.remoteAddress ?? '', trusted);
    known.set(socket, peer);
    return peer;
  };
}

export function peerAt(remoteAddress: string, trusted: TrustedProxies): Peer {
  const address = canonicalAddress(remoteAddress) ?? remoteAddress;
  return { address, isTrusted: trusted.has(address) };
}

/**
 * The rightmost hop that is no trusted proxy. Headers of an untrusted peer are not looked at; a hop that is no address
 * gives the peer. Where both headers are there and name different clients the answer is undefined: a proxy sets one of
 * them and passes the other on as the client sent it, and from here nobody can tell which.
 */
export function clientAddress(
  { address: peer, isTrusted }: Peer,
  headers: IncomingHttpHeaders,
  trusted: TrustedProxies,
): string | undefined {
  if (!isTrusted) return peer;
  const named = [hopsIn(headers['x-forwarded-for'], forwardedForHops), hopsIn(headers.forwarded, forwardedHops)].filter(
    (hops) => hops !== undefined,
  );
  const [first = peer, second = first] = named.map((hops) => vouchedFor(hops, peer, trusted));
  return first === second ? first : undefined;
}

const hopsIn = (header: string | readonly string[] | undefined, parse: (text: string) => Hops) =>
  header === undefined ? undefined : parse(typeof header === 'string' ? header : header.join(','));

function vouchedFor(hops: Hops, peer: string, trusted: TrustedProxies): string {
  let farthest = peer;
  for (const hop of hops.toReversed()) {
    const address = hop === undefined ? undefined : canonicalAddress(withoutPort(hop));
    if (address === undefined) return peer;
    if (!trusted.has(address)) return address;
    farthest = address;
  }
  return farthest;
}

/** What limits count by: an IPv4 address, or the /64 in which an IPv6 client chooses its address freely. */
export function clientNetwork(clientAddress: string): string {
  if (familyOf(clientAddress) !== 'ipv6') return clientAddress;
  const [head = '', tail] = clientAddress.split('::');
  const front = groupsOf(head);
  const back = groupsOf(tail ?? '');
  const gap = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array.from({ length: gap }, () => '0'), ...back].slice(0, 4);
  const { address } = new SocketAddress({ address: `${groups.join(':')}::`, family: 'ipv6' });
  return `${address}/64`;
}

const groupsOf = (text: string) => (text === '' ? [] : text.split(':'));

// `192.0.2.1:4711`, `[2001:db8::1]` and `[2001:db8::1]:4711`; a bare IPv6 address has no port.
const withoutPort = (hop: string) =>
  /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop;

// One text per address: lower case, shortest form, IPv4-mapped IPv6 as IPv4, no zone.
function canonicalAddress(text: string): string | undefined {
  const address = text.replace(/%[\w.-]+$/, '');
  const family = familyOf(address);
  if (family !== 'ipv6') return family === undefined ? undefined : address;
  return new SocketAddress({ address, family }).address.replace(/^::ffff:(?=\d+\.)/, '');
}

const families: Readonly<Record<number, 'ipv4' | 'ipv6'>> = { 4: 'ipv4', 6: 'ipv6' };
const familyOf = (address: string) => families[isIP(address)];
