// The hops that proxies wrote down, nearest last: X-Forwarded-For, and Forwarded of RFC 7239.

const token = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Each `for` as written; undefined where an element has none or is not well-formed. */
export type Hops = readonly (string | undefined)[];

export const forwardedForHops = (header: string): Hops =>
  header.split(',').map((hop) => (hop.trim() === '' ? undefined : hop.trim()));

export function forwardedHops(header: string): Hops {
  const elements = splitOutsideQuotes(header, ',');
  // A quote without its end makes every border a guess.
  if (elements === undefined) return [undefined];
  return elements.map((element) => {
    const pairs = (splitOutsideQuotes(element, ';') ?? []).map(parsePair);
    const named = pairs.filter((pair) => pair?.name === 'for');
    return pairs.includes(undefined) || named.length !== 1 ? undefined : named[0]?.value;
  });
}

function parsePair(pair: string): { name: string; value: string } | undefined {
  const equals = pair.indexOf('=');
  const name = pair.slice(0, equals).trim().toLowerCase();
  const value = pair.slice(equals + 1).trim();
  if (equals === -1 || !token.test(name)) return undefined;
  if (token.test(value)) return { name, value };
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1];
  return quoted === undefined ? undefined : { name, value: quoted.replace(/\\(.)/g, '$1') };
}

function splitOutsideQuotes(text: string, separator: string): string[] | undefined {
  const parts = [''];
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') isQuoted = !isQuoted;
    if (character === separator && !isQuoted) {
      parts.push('');
      continue;
    }
    const taken = isQuoted && character === '\\' ? text.slice(at, at + 2) : character;
    at += taken.length - 1;
    parts[parts.length - 1] += taken;
  }
  return isQuoted ? undefined : parts;
}
