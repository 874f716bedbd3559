// IP addresses and networks between octets and their one canonical text (RFC 5952, without dotted endings).
import { isIP } from 'node:net';
import { X509Error } from './x509-error.ts';

/** 4 or 16 octets as text. */
export function formatAddress(octets: Buffer): string {
  if (octets.length === 4) return octets.join('.');
  const groups = Array.from({ length: 8 }, (_, group) => octets.readUInt16BE(group * 2).toString(16));
  const zeros = longestZeroRun(groups);
  if (zeros.length < 2) return groups.join(':');
  return `${groups.slice(0, zeros.start).join(':')}::${groups.slice(zeros.start + zeros.length).join(':')}`;
}

/** Text to 4 or 16 octets; throws `bad_name` for everything else, zones included. */
export function parseAddress(text: string): Buffer {
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 4) return Buffer.from(text.split('.').map(Number));
  if (version === 0) throw new X509Error('bad_name', `"${text.slice(0, 60)}" is not an IP address.`);
  const [head = '', tail] = withoutDots(text).split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const middle = Array.from({ length: 8 - front.length - back.length }, () => 0);
  const octets = Buffer.alloc(16);
  for (const [index, group] of [...front, ...middle, ...back].entries()) octets.writeUInt16BE(group, index * 2);
  return octets;
}

/** Address and mask, one after the other (RFC 5280 section 4.2.1.10), as `10.0.0.0/8`. */
export function formatNetwork(octets: Buffer, what: string): string {
  const size = octets.length / 2;
  if (size !== 4 && size !== 16)
    throw new X509Error('bad_extension', `${what} has an IP network of ${octets.length} octets.`);
  const address = octets.subarray(0, size);
  const mask = octets.subarray(size);
  const prefix = prefixLength(mask);
  if (prefix === undefined) throw new X509Error('bad_extension', `${what} has an IP mask with gaps.`);
  return `${formatAddress(Buffer.from(address.map((octet, index) => octet & (mask[index] ?? 0))))}/${prefix}`;
}

export function parseNetwork(text: string): Buffer {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const octets = parseAddress(address);
  const prefix = Number(digits);
  if (prefix > octets.length * 8) throw new X509Error('bad_name', `"${text}" has a prefix longer than its address.`);
  const mask = octets.map((_, index) => (0xff00 >> Math.min(8, Math.max(0, prefix - index * 8))) & 0xff);
  if (octets.some((octet, index) => (octet & ~(mask[index] ?? 0)) !== 0)) {
    throw new X509Error('bad_name', `"${text}" has bits after its prefix; give the network address.`);
  }
  return Buffer.concat([octets, mask]);
}

function prefixLength(mask: Buffer): number | undefined {
  const bits = [...mask].map((octet) => octet.toString(2).padStart(8, '0')).join('');
  const ones = bits.indexOf('0') === -1 ? bits.length : bits.indexOf('0');
  return bits.includes('1', ones) ? undefined : ones;
}

function longestZeroRun(groups: readonly string[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

const groupsOf = (text: string): readonly number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));

/** `::ffff:10.0.0.1` to `::ffff:a00:1`. */
function withoutDots(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  if (!text.includes('.', start)) return text;
  const octets = Buffer.from(text.slice(start).split('.').map(Number));
  return `${text.slice(0, start)}${octets.readUInt16BE(0).toString(16)}:${octets.readUInt16BE(2).toString(16)}`;
}
