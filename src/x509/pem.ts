// PEM text (RFC 7468): the blocks in it, read in one pass.
import { malformed, X509Error } from './x509-error.ts';

export type PemBlock = {
  readonly label: string;
  /** Lines like `Proc-Type: 4,ENCRYPTED` of the older form. */
  readonly headers: readonly string[];
  readonly der: Buffer;
};

const MAX_LENGTH = 262_144;
const MARKER = /^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]{0,40})-----$/;
const DASHES = '-----';
const LINE = 64;

export function toPem(label: string, der: Buffer): string {
  const base64 = der.toString('base64');
  let text = `-----BEGIN ${label}-----\n`;
  for (let from = 0; from < base64.length; from += LINE) text += `${base64.slice(from, from + LINE)}\n`;
  return `${text}-----END ${label}-----\n`;
}

/** All blocks, in their order. Text outside of blocks is allowed, as `openssl x509 -text` writes it. */
export function readPemBlocks(text: string, what: string, maxLength: number = MAX_LENGTH): readonly PemBlock[] {
  if (text.length > maxLength) {
    throw new X509Error('too_large', `${what} is ${text.length} characters long; at most ${maxLength} are read.`);
  }
  const blocks: PemBlock[] = [];
  let open: { readonly label: string; readonly from: number } | undefined;
  for (const { line, start, end } of linesWithDashes(text)) {
    const [, side, label = ''] = MARKER.exec(line) ?? [];
    if (side === undefined) {
      if (line.includes('-----BEGIN ') || line.includes('-----END ')) throw brokenMarker(what);
    } else if (side === 'BEGIN') {
      if (open !== undefined) throw malformed(what, `has a BEGIN line inside the block "${open.label}"`);
      open = { label, from: end };
    } else {
      if (open?.label !== label) throw malformed(what, `has the line "END ${label}" without its BEGIN line`);
      blocks.push(readBlock(label, text.slice(open.from, start), what));
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
  maxLength: number = MAX_LENGTH,
): PemBlock {
  const blocks = readPemBlocks(text, what, maxLength);
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

/** Only lines that may be markers: the others are never taken one by one, for lists of many megabytes. */
function* linesWithDashes(text: string): Generator<{ line: string; start: number; end: number }> {
  for (let at = text.indexOf(DASHES); at !== -1; ) {
    const start = text.lastIndexOf('\n', at) + 1;
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    yield { line: text.slice(start, end).trim(), start, end };
    at = text.indexOf(DASHES, end);
  }
}

function readBlock(label: string, content: string, what: string): PemBlock {
  const lines = content.includes(': ') ? content.split('\n').map((line) => line.trim()) : [];
  const headers = lines.filter((line) => line.includes(': '));
  const body = lines.length === 0 ? content : lines.filter((line) => !line.includes(': ')).join('');
  const base64 = body.replace(/\s+/g, '');
  const der = Buffer.from(base64, 'base64');
  // Buffer.from passes over what is not base64; what was skipped is missing when it is written again.
  if (der.length === 0 || der.toString('base64') !== base64) {
    throw malformed(what, `has a block "${label}" that is not valid base64`);
  }
  return { label, headers, der };
}

const brokenMarker = (what: string): X509Error =>
  malformed(what, 'has a BEGIN or END marker that is not alone on its line; keep the line breaks of the PEM text');
