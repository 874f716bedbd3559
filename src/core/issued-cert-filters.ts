// What callers look for issued certs by, as certificates have it.
import { parseAddress } from './addresses.ts';
import { parseIdentifier } from './identifiers.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

/** A DNS name, wildcards included, or an IP address in any spelling: the text that stands in `subjects`. */
export function parseSubject(text: string): Parsed<string> {
  const address = parseAddress(text);
  if (address.ok) return parsed(address.value.text);
  const name = parseIdentifier({ type: 'dns', value: text });
  return name.ok ? parsed(name.identifier.value) : refused(name.refusal.detail);
}

/** Hex in any case, with leading zeros and colons as other programs write it; big-endian octets without leading zero. */
export function parseSerial(text: string): Buffer {
  const digits = text.replaceAll(':', '').replace(/^0+/, '');
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}
