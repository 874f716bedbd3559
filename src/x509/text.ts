// The string types of ASN.1 in names, as text.
import type { DerNode } from './der.ts';
import { malformed } from './x509-error.ts';

const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ASCII = /^[\x20-\x7e]*$/;
// Control characters deceive readers of logs and end C strings (SEC-24).
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

const asciiText = (bytes: Buffer): string | undefined => {
  const text = bytes.toString('latin1');
  return ASCII.test(text) ? text : undefined;
};

/** By identifier octet; undefined where the octets are none of the type's characters. */
const decoders: Readonly<Record<number, (bytes: Buffer) => string | undefined>> = {
  12: (bytes) => {
    try {
      return utf8Decoder.decode(bytes);
    } catch {
      return undefined;
    }
  },
  18: asciiText,
  19: asciiText,
  20: (bytes) => bytes.toString('latin1'),
  22: asciiText,
  26: asciiText,
  30: (bytes) => Buffer.from(bytes).swap16().toString('utf16le'),
};

/** DirectoryString and its relatives. Refuses control characters and broken encodings. */
export const readText = ({ tag, source, start, end }: DerNode, what: string): string =>
  textOf(tag, source.subarray(start, end), what);

/** The text of contents that stand behind this identifier octet. */
export function textOf(tag: number, contents: Buffer, what: string): string {
  const decoder = decoders[tag];
  if (decoder === undefined) throw malformed(what, `is not text: it has the tag 0x${tag.toString(16)}`);
  return withoutControls(decoder(contents), what);
}

function withoutControls(text: string | undefined, what: string): string {
  if (text === undefined || !text.isWellFormed())
    throw malformed(what, 'holds octets that are not characters of its string type');
  if (CONTROL.test(text)) throw malformed(what, 'holds control characters');
  return text;
}
