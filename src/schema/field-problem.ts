// What is wrong with one field, and how a field is written in a message: as the caller wrote it, never longer than a line.

export type FieldProblem = { readonly field: string; readonly code: string; readonly message: string };

export type PathSegment = string | number;

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const NAME_SHOWN = 60;

/** `directory.allowed_dns_identifiers[3]`; a name that is not plain is quoted, so that it cannot pass for a path. */
export const fieldPath = (segments: readonly PathSegment[]): string =>
  segments.reduce<string>((path, segment) => {
    if (typeof segment === 'number') return `${path}[${segment}]`;
    if (!PLAIN_NAME.test(segment) || segment.length > NAME_SHOWN) return `${path}[${quoted(segment, NAME_SHOWN)}]`;
    return path === '' ? segment : `${path}.${segment}`;
  }, '');

/** Text of a caller in a message: quoted, control and look-alike invisible characters escaped, cut at `shown` characters. */
export function quoted(text: string, shown: number): string {
  const cut = text.length > shown ? `${text.slice(0, shown).toWellFormed()}...` : text.toWellFormed();
  return JSON.stringify(cut).replace(/[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, escaped);
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
