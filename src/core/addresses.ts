// IP addresses and ranges: one text for each, compared by their bits. A mapped address is its IPv4 address or is refused.
import { isIP } from 'node:net';
import { quoted } from '../schema/field-problem.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

export type Address = {
  /** RFC 5952 text for IPv6, dotted quad for IPv4. */
  readonly text: string;
  /** 4 or 16 bytes, as a certificate holds them. */
  readonly bytes: Buffer;
};

export type AddressRange = {
  /** As it is shown: a single address without its length. */
  readonly text: string;
  readonly bytes: Buffer;
  readonly prefixBits: number;
};

/** Any valid spelling; no zone, no range. */
export function parseAddress(text: string): Parsed<Address> {
  const family = text.length > 45 || text.includes('%') ? 0 : isIP(text);
  if (family === 0) return refused(`${quoted(text, 60)} is not an IP address.`);
  const bytes = family === 4 ? v4Bytes(text) : v6Bytes(text);
  return parsed({ text: addressText(bytes), bytes });
}

/** The address of a peer as sockets and proxies write it: a mapped one is its IPv4 address, a zone falls away. */
export function parseClientAddress(text: string): Parsed<Address> {
  const address = parseAddress(text.replace(/%[^%]*$/, ''));
  if (!address.ok || !isMapped(address.value.bytes)) return address;
  const bytes = address.value.bytes.subarray(12);
  return parsed({ text: addressText(bytes), bytes });
}

/**
 * A range or a single address. Bits set below the prefix are refused, because nobody can tell whether the
 * address or the range was meant; so are ranges inside ::ffff:0:0/96, which no IPv4 address would ever match.
 */
export function parseAddressRange(text: string): Parsed<AddressRange> {
  const [addressPart = '', prefixPart, ...rest] = text.split('/');
  const address = parseAddress(addressPart);
  if (!address.ok || rest.length > 0) {
    return refused(`${quoted(text, 60)} is not an IP address or a range such as 10.0.0.0/8 or fd00::/8.`);
  }
  const { bytes } = address.value;
  const bits = bytes.length * 8;
  const prefixBits = prefixPart === undefined ? bits : Number(prefixPart);
  if (prefixPart !== undefined && (!/^(0|[1-9]\d{0,2})$/.test(prefixPart) || prefixBits > bits)) {
    return refused(`${quoted(text, 60)} is not a range: after "/" stands a number from 0 to ${bits}.`);
  }
  if (isMapped(bytes) && prefixBits >= 96) {
    const v4 = addressText(bytes.subarray(12));
    return refused(
      `${text} is an IPv4 range in IPv6 form; write ${v4}${prefixBits === 128 ? '' : `/${prefixBits - 96}`}.`,
    );
  }
  const network = masked(bytes, prefixBits);
  if (!network.equals(bytes)) {
    const range = `${addressText(network)}/${prefixBits}`;
    return refused(
      `${text} has bits set after its prefix; write ${range} for the range or ${address.value.text} for the address.`,
    );
  }
  return parsed({
    text: prefixBits === bits ? address.value.text : `${address.value.text}/${prefixBits}`,
    bytes,
    prefixBits,
  });
}

/** What limits count by: an IPv4 address, or the /64 in which an IPv6 client chooses its address freely. */
export function clientNetwork(clientAddress: string): string {
  const address = parseClientAddress(clientAddress);
  if (!address.ok) return clientAddress;
  if (address.value.bytes.length === 4) return address.value.text;
  return `${addressText(masked(address.value.bytes, 64))}/64`;
}

/** In ::ffff:0:0/96: an IPv4 address in IPv6 form. */
export const isMapped = (bytes: Buffer): boolean =>
  bytes.length === 16 && bytes.readUInt16BE(10) === 0xffff && bytes.subarray(0, 10).every((byte) => byte === 0);

export const rangeHolds = (range: AddressRange, address: Address): boolean =>
  masked(address.bytes, range.prefixBits).equals(range.bytes);

/** The first range that holds the address. */
export const rangeOf = (ranges: readonly AddressRange[], address: Address): AddressRange | undefined =>
  ranges.find((range) => rangeHolds(range, address));

function masked(bytes: Buffer, prefixBits: number): Buffer {
  const result = Buffer.alloc(bytes.length);
  for (const [index, byte] of bytes.entries()) {
    const kept = Math.max(0, Math.min(8, prefixBits - index * 8));
    result[index] = byte & (0xff00 >> kept);
  }
  return result;
}

const v4Bytes = (text: string): Buffer => Buffer.from(text.split('.').map(Number));

/** The text is valid IPv6: node:net has checked it. */
function v6Bytes(text: string): Buffer {
  const dotted = text.lastIndexOf(':') + 1;
  const hexadecimal = text.includes('.') ? text.slice(0, dotted) + v4Groups(text.slice(dotted)) : text;
  const [head = '', tail] = hexadecimal.split('::');
  const front = groupsOf(head);
  const back = groupsOf(tail ?? '');
  const gap = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => 0);
  const bytes = Buffer.alloc(16);
  for (const [index, group] of [...front, ...gap, ...back].entries()) bytes.writeUInt16BE(group, index * 2);
  return bytes;
}

const groupsOf = (text: string): readonly number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));

const v4Groups = (text: string): string => {
  const bytes = v4Bytes(text);
  return `${bytes.readUInt16BE(0).toString(16)}:${bytes.readUInt16BE(2).toString(16)}`;
};

/** RFC 5952 section 4: no leading zeros, lower case, the first longest run of two or more zero groups shortened. */
function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2));
  const run = longestZeroRun(groups);
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  return run.length < 2
    ? text(groups)
    : `${text(groups.slice(0, run.from))}::${text(groups.slice(run.from + run.length))}`;
}

function longestZeroRun(groups: readonly number[]): { readonly from: number; readonly length: number } {
  let longest = { from: 0, length: 0 };
  for (const from of groups.keys()) {
    const end = groups.findIndex((group, index) => index >= from && group !== 0);
    const length = (end === -1 ? groups.length : end) - from;
    if (length > longest.length) longest = { from, length };
  }
  return longest;
}
