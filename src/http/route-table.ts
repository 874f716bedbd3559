// Which row answers a request: the paths of a door as one tree of their segments, walked once.
import type { HttpRoute } from './route.ts';

type Found = {
  /** The path as the table has it. */
  readonly pattern: string;
  /** Undefined where the path does not take the method. */
  readonly row: HttpRoute | undefined;
  /** Decoded; a `*wildcard` takes the rest of the path, slashes included. */
  readonly params: Params;
  /** Where there is no row: what all rows take that match the path. */
  readonly allow: readonly string[];
};

type Params = Readonly<Record<string, string>>;
type Rows = Map<string, HttpRoute>;

/** What may follow after a beginning of paths. */
type Place = {
  readonly literals: Map<string, Place>;
  readonly parameters: Parameter[];
  wildcard?: { readonly name: string; readonly end: End };
  end?: End;
};
/** A segment such as `:name` or `:name.crl`. */
type Parameter = { readonly name: string; readonly suffix: string; readonly next: Place };
type End = { readonly pattern: string; readonly rows: Rows };
type Match = { readonly end: End; readonly params: Params };

type FindRoute = (method: string, path: string) => Found | undefined;

/**
 * Looks for a path as it was sent, whose escapes must be well-formed. Exact in case and trailing slash; a literal segment
 * comes before a parameter, which comes in where the row of the literal has another method.
 */
export function routeTable(routes: readonly HttpRoute[]): FindRoute {
  const root = newPlace();
  for (const route of routes) {
    const { rows } = endOf(root, route.path);
    if (rows.has(route.method)) throw new Error(`Two rows of the route table say ${route.method} ${route.path}.`);
    rows.set(route.method, route);
  }
  return (method, path) => {
    const matches: Match[] = [];
    collect(matches, root, path.split('/'), 1, {});
    const [first] = matches;
    if (first === undefined) return undefined;
    for (const { end, params } of matches) {
      const row = end.rows.get(method) ?? (method === 'HEAD' ? end.rows.get('GET') : undefined);
      if (row !== undefined) return { pattern: end.pattern, row, params, allow: [] };
    }
    return { pattern: first.end.pattern, row: undefined, params: first.params, allow: allowedBy(matches) };
  };
}

const newPlace = (): Place => ({ literals: new Map(), parameters: [] });

/** Where a path ends; made where it is new. */
function endOf(root: Place, pattern: string): End {
  const made = (): End => ({ pattern, rows: new Map() });
  let place = root;
  for (const segment of pattern.split('/').slice(1)) {
    if (segment.startsWith('*')) {
      place.wildcard ??= { name: segment.slice(1), end: made() };
      return place.wildcard.end;
    }
    place = placeAfter(place, segment);
  }
  place.end ??= made();
  return place.end;
}

function placeAfter({ literals, parameters }: Place, segment: string): Place {
  const [, name, suffix = ''] = /^:(\w+)(.*)$/.exec(segment) ?? [];
  const known =
    name === undefined
      ? literals.get(segment)
      : parameters.find((parameter) => parameter.name === name && parameter.suffix === suffix)?.next;
  if (known !== undefined) return known;
  const next = newPlace();
  if (name === undefined) literals.set(segment, next);
  else parameters.push({ name, suffix, next });
  return next;
}

function collect(matches: Match[], place: Place, segments: readonly string[], index: number, params: Params): void {
  const { literals, parameters, wildcard, end } = place;
  const segment = segments[index];
  if (segment === undefined) {
    if (end !== undefined) matches.push({ end, params });
    return;
  }
  const literal = literals.get(segment);
  if (literal !== undefined) collect(matches, literal, segments, index + 1, params);
  for (const { name, suffix, next } of parameters) {
    if (segment.length <= suffix.length || !segment.endsWith(suffix)) continue;
    const value = decoded(segment.slice(0, segment.length - suffix.length));
    collect(matches, next, segments, index + 1, { ...params, [name]: value });
  }
  const tail = wildcard === undefined ? '' : segments.slice(index).join('/');
  if (wildcard !== undefined && tail !== '')
    matches.push({ end: wildcard.end, params: { ...params, [wildcard.name]: decoded(tail) } });
}

const decoded = (text: string): string => (text.includes('%') ? decodeURIComponent(text) : text);

/** HEAD wherever GET is, and OPTIONS. */
function allowedBy(matches: readonly Match[]): readonly string[] {
  const methods = matches.flatMap(({ end: { rows } }) => [...rows.keys(), ...(rows.has('GET') ? ['HEAD'] : [])]);
  return [...new Set([...methods, 'OPTIONS'])];
}
