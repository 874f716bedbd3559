// PEM text (RFC 7468): the blocks in it, read in one pass over its lines.
import { malformed } from './der.ts';
import { X509Error } from './x509-error.ts';

export type PemBlock = {
  readonly label: string;
  /** Lines like `Proc-Type: 4,ENCRYPTED` of the older form. */
  readonly headers: readonly string[];
  readonly der: Buffer;
};

const MAX_LENGTH = 262_144;
const MARKER = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]{0,40})-----$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export const toPem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replace(/(.{64})(?=.)/g, '$1\n')}\n-----END ${label}-----\n`;

/** All blocks, in their order. Text outside of blocks is allowed, as `openssl x509 -text` writes it. */
export function readPemBlocks(text: string, what: string, maxLength: number = MAX_LENGTH): readonly PemBlock[] {
  if (text.length > maxLength) {
    throw new X509Error('too_large', `${what} is ${text.length} characters long; at most ${maxLength} are read.`);
  }
  const blocks: PemBlock[] = [];
  let open: { readonly label: string; readonly lines: string[] } | undefined;
  for (const line of text.split('\n').map((untrimmed) => untrimmed.trim())) {
    const [, side, label = ''] = MARKER.exec(line) ?? [];
    if (side === undefined) {
      if (line.includes('-----BEGIN ') || line.includes('-----END ')) throw brokenMarker(what);
      open?.lines.push(line);
    } else if (side === 'BEGIN') {
      if (open !== undefined) throw malformed(what, `has a BEGIN line inside the block "${open.label}"`);
      open = { label, lines: [] };
    } else {
      if (open?.label !== label) throw malformed(what, `has the line "END ${label}" without its BEGIN line`);
      blocks.push(closeBlock(label, open.lines, what));
      open = undefined;
    }
  }
  if (open !== undefined) throw malformed(what, `is cut off: the line "END ${open.label}" is missing`);
  return blocks;
}

/** The DER of the only block. `hints` are sentences for labels that people confuse with the right one. */
export function readOnlyPem(
  text: string,
  what: string,
  labels: readonly string[],
  hints: Readonly<Record<string, string>>,
): PemBlock {
  const blocks = readPemBlocks(text, what);
  const [block, ...others] = blocks;
  const expected = labels.map((label) => `"BEGIN ${label}"`).join(' or ');
  if (block === undefined) {
    throw new X509Error('wrong_pem', `${what} must be PEM text with the line ${expected}; no PEM block was found.`);
  }
  if (others.length > 0) {
    const found = blocks.slice(0, 5).map(({ label }) => label);
    throw new X509Error(
      'wrong_pem',
      `${what} must be one PEM block ${expected}; found ${blocks.length}: ${found.join(', ')}.`,
    );
  }
  if (!labels.includes(block.label)) {
    const hint = hints[block.label] ?? '';
    throw new X509Error('wrong_pem', `${what} must be the PEM block ${expected}, not "${block.label}". ${hint}`.trim());
  }
  return block;
}

function closeBlock(label: string, lines: readonly string[], what: string): PemBlock {
  const headers = lines.filter((line) => line.includes(': '));
  const body = lines.filter((line) => !line.includes(': ')).join('');
  const der = Buffer.from(body, 'base64');
  if (!BASE64.test(body) || der.toString('base64') !== body) {
    throw malformed(what, `has a block "${label}" that is not valid base64`);
  }
  return { label, headers, der };
}

const brokenMarker = (what: string): X509Error =>
  malformed(what, 'has a BEGIN or END marker that is not alone on its line; keep the line breaks of the PEM text');
