// Reads a body of a caller as JSON, strictly: what two parsers could understand differently is refused by its path.
import { type FieldProblem, fieldPath, type PathSegment } from './field-problem.ts';

export type JsonReading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: FieldProblem };

export type JsonLimits = { readonly depth: number; readonly values: number };

/** Far above every body that our interfaces know, far below what would keep a process busy (SEC-17). */
const jsonLimits: JsonLimits = { depth: 20, values: 10_000 };

/** Bytes must be UTF-8. The value holds no duplicate member, NUL, lone surrogate or number that loses its value. */
export function readJson(body: Uint8Array | string, limits: JsonLimits = jsonLimits): JsonReading {
  const text = typeof body === 'string' ? body : decode(body);
  if (text === undefined || !text.isWellFormed()) return refuse([], 'malformed_json', 'The body is not valid UTF-8');
  const problem = scan(text, limits);
  if (problem !== undefined) return { ok: false, problem };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    // The parser's own message quotes the body, which may hold a key.
    return refuse(
      [],
      'malformed_json',
      `The body is not JSON${wrongAt(text, error instanceof Error ? error.message : '')}`,
    );
  }
}

/** Where, as far as the parser says: counted from 1, as editors do. */
function wrongAt(text: string, message: string): string {
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? Number.NaN);
  if (position >= text.length || message.includes('end of JSON')) return ': it ends too early';
  if (Number.isNaN(position)) return '';
  const lines = text.slice(0, position).split('\n');
  return `: what stands at line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1} is not expected there`;
}

/** An object or array that is open: the names seen in it, and where the reader stands. */
type Frame = { readonly names: Set<string> | undefined; at: PathSegment; expectsName: boolean };

const NUMBER = /-?[0-9][0-9.eE+-]*/y;
const RISKY_ESCAPE = /\\u(?:0000|d[89a-f])/i;

/**
 * One pass over the structure, before anything is built. Text that is not JSON passes or fails here for any reason:
 * the parser that runs next has the word on that.
 */
function scan(text: string, limits: JsonLimits): FieldProblem | undefined {
  const open: Frame[] = [];
  let values = 1;
  let position = 0;
  const fail = (code: string, message: string) => problemAt(open, code, message);
  while (position < text.length) {
    const frame = open.at(-1);
    const character = text[position];
    if (character === '"') {
      const end = closingQuote(text, position + 1);
      if (end === undefined) return undefined;
      const raw = text.slice(position + 1, end);
      if (frame?.names !== undefined && frame.expectsName) {
        frame.at = raw.includes('\\') ? unescaped(raw) : raw;
        frame.expectsName = false;
        if (frame.names.has(frame.at)) return fail('duplicate_member', 'this member stands twice in its object');
        frame.names.add(frame.at);
      }
      if (RISKY_ESCAPE.test(raw)) {
        const content = unescaped(raw);
        if (content.includes('\0')) return fail('bad_text', 'text must not contain the NUL character');
        if (!content.isWellFormed()) return fail('bad_text', 'text must not contain half a surrogate pair');
      }
      position = end + 1;
      continue;
    }
    if (character === '{' || character === '[') {
      if (open.length >= limits.depth) return fail('too_deep', `nested deeper than ${limits.depth} levels`);
      const isObject = character === '{';
      open.push({ names: isObject ? new Set() : undefined, at: isObject ? '' : 0, expectsName: isObject });
      values++;
    } else if (character === '}' || character === ']') {
      open.pop();
    } else if (character === ',' && frame !== undefined) {
      values++;
      if (typeof frame.at === 'number') frame.at++;
      else frame.expectsName = true;
    } else if (character === '-' || isDigit(character)) {
      NUMBER.lastIndex = position;
      const token = NUMBER.exec(text)?.[0] ?? '-';
      // Beyond this a double is not the number that was written, and no field of ours goes so far.
      if (token.length > 32 || !(Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER)) {
        return fail('number_out_of_range', 'numbers may not go beyond 9007199254740991 nor have over 32 characters');
      }
      position += token.length;
      continue;
    }
    if (values > limits.values) return fail('too_many_values', `more than ${limits.values} values`);
    position++;
  }
  return undefined;
}

const problemAt = (open: readonly Frame[], code: string, message: string): FieldProblem => {
  const path = open.filter((frame) => frame.at !== '').map((frame) => frame.at);
  return refuse(path, code, message).problem;
};

const refuse = (path: readonly PathSegment[], code: string, message: string) =>
  ({ ok: false, problem: { field: fieldPath(path), code, message } }) as const;

const isDigit = (character: string | undefined): boolean =>
  character !== undefined && character >= '0' && character <= '9';

function closingQuote(text: string, from: number): number | undefined {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (end - backslashes > from && text[end - backslashes - 1] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return undefined;
}

function unescaped(raw: string): string {
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    return raw; // not JSON: the parser refuses the whole text
  }
}

const decode = (body: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
};
