// The string types of ASN.1 in names, as text.
import { contentsOf, type DerNode, malformed, tagOf } from './der.ts';

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
};

const BMP_STRING = 30;

/** DirectoryString and its relatives. Refuses control characters and broken encodings. */
export function readText(node: DerNode, what: string): string {
  const tag = tagOf(node);
  // Forge has decoded BMPString to 16-bit characters already.
  if (tag === BMP_STRING && typeof node.value === 'string') return withoutControls(node.value, what);
  const decoder = decoders[tag];
  if (decoder === undefined) throw malformed(what, `is not text: it has the tag 0x${tag.toString(16)}`);
  return withoutControls(decoder(contentsOf(node, tag, what)), what);
}

function withoutControls(text: string | undefined, what: string): string {
  if (text === undefined || !text.isWellFormed())
    throw malformed(what, 'holds octets that are not characters of its string type');
  if (CONTROL.test(text)) throw malformed(what, 'holds control characters');
  return text;
}
