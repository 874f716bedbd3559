// Which addresses a validation may connect to: the built-in deny list, what the operator allows and denies, ourselves.
import { BlockList, isIP } from 'node:net';

export type AddressPolicyOptions = {
  /** Addresses or networks, contacted though the built-in list denies them. */
  readonly allow: readonly string[];
  /** Addresses or networks that are never contacted, whatever `allow` says. */
  readonly deny: readonly string[];
  /** Our own listeners as bound; 0.0.0.0 and :: stand for every address of this machine. */
  readonly ownListeners: readonly { readonly address: string; readonly port: number }[];
  /** The addresses of this machine, asked for at each check because they change. */
  readonly localAddresses: () => readonly string[];
};

/** Why an address may not be contacted, in words that may be shown to the ACME client; undefined when it may. */
export type AddressPolicy = (address: string, port: number) => string | undefined;

/** What is denied unless allowed (SEC-1). Private networks are not: a private CA validates there. */
const builtInDenials: Readonly<Record<string, readonly string[]>> = {
  'a loopback address': ['127.0.0.0/8', '::1'],
  'an unspecified address': ['0.0.0.0/8', '::'],
  // AWS, GCP, OCI and Scaleway over IPv6; Alibaba; OCI classic; Azure. The usual 169.254.169.254 is link-local too.
  'a cloud metadata address': [
    '169.254.169.254',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
  ],
  'a link-local address': ['169.254.0.0/16', 'fe80::/10'],
  // They hide the address that is contacted in their middle, where no list here looks.
  'an address of a tunnel (6to4, Teredo)': ['2002::/16', '2001::/32'],
  'a multicast or broadcast address': ['224.0.0.0/4', '255.255.255.255', 'ff00::/8'],
};

/** Forms of IPv6 that carry an IPv4 address in their last 32 bits; BlockList itself sees through ::ffff:0:0/96. */
const embeddings = ['::', '::ffff:0:', '64:ff9b::'];

export function createAddressPolicy({
  allow,
  deny,
  ownListeners,
  localAddresses,
}: AddressPolicyOptions): AddressPolicy {
  const allowed = listOf(allow);
  const denied = listOf(deny.flatMap(withEmbeddings));
  const builtIn = Object.entries(builtInDenials).map(([what, networks]) => ({
    what,
    list: listOf(networks.flatMap(withEmbeddings)),
  }));

  return (address, port) => {
    if (isIP(address) === 0) return `${address} is not an IP address.`;
    const ownAddresses = ownListeners
      .filter((listener) => listener.port === port)
      .flatMap((listener) => (isWildcard(listener.address) ? [...anyLoopback, ...localAddresses()] : listener.address));
    if (contains(listOf(ownAddresses.flatMap(withEmbeddings)), address))
      return `${address} port ${port} is the CA itself.`;
    if (contains(denied, address)) return `${address} is denied by this CA's configuration.`;
    if (contains(allowed, address)) return undefined;
    const denial = builtIn.find(({ list }) => contains(list, address));
    return denial && `${address} is ${denial.what}, which this CA does not contact.`;
  };
}

const anyLoopback = ['127.0.0.0/8', '::1', '0.0.0.0', '::'];

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';

function withEmbeddings(network: string): string[] {
  const [address = '', prefix = '32'] = network.split('/');
  if (isIP(address) !== 4) return [network];
  return [network, ...embeddings.map((before) => `${before}${address}/${96 + Number(prefix)}`)];
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

const contains = (list: BlockList, address: string): boolean => list.check(address, familyOf(address));

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6');
