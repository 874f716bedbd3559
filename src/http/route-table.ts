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
  wildcard?: End;
  end?: End;
};
/** A segment such as `:name` or `:name.crl`. */
type Parameter = { readonly name: string; readonly suffix: string; readonly next: Place };
type End = {
  readonly pattern: string;
  /** Of the parameters, in their order. */
  readonly names: readonly string[];
  readonly rows: Rows;
};
type Match = { readonly end: End; readonly params: Params };

/** One look for a path. */
type Walk = {
  readonly method: string;
  readonly segments: readonly string[];
  /** Of the parameters on the way to where it stands. */
  readonly values: string[];
  /** Ends that it came to, and that have no row of the method. */
  readonly passed: Match[];
};

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
    const walk: Walk = { method, segments: path.split('/'), values: [], passed: [] };
    const found = search(walk, root, 1);
    const [first] = walk.passed;
    if (found !== undefined || first === undefined) return found;
    return { pattern: first.end.pattern, row: undefined, params: first.params, allow: allowedBy(walk.passed) };
  };
}

const newPlace = (): Place => ({ literals: new Map(), parameters: [] });

/** Where a path ends; made where it is new. */
function endOf(root: Place, pattern: string): End {
  const names = pattern.match(/(?<=\/[:*])\w+/g) ?? [];
  const made = (): End => ({ pattern, names, rows: new Map() });
  let place = root;
  for (const segment of pattern.split('/').slice(1)) {
    if (segment.startsWith('*')) {
      place.wildcard ??= made();
      return place.wildcard;
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

function search(walk: Walk, { literals, parameters, wildcard, end }: Place, index: number): Found | undefined {
  const { segments, values } = walk;
  const segment = segments[index];
  if (segment === undefined) return end && rowAt(walk, end);
  const literal = literals.get(segment);
  const found = literal && search(walk, literal, index + 1);
  if (found !== undefined) return found;
  for (const { suffix, next } of parameters) {
    if (segment.length <= suffix.length || !segment.endsWith(suffix)) continue;
    values.push(decoded(segment.slice(0, segment.length - suffix.length)));
    const below = search(walk, next, index + 1);
    if (below !== undefined) return below;
    values.pop();
  }
  const tail = wildcard === undefined ? '' : segments.slice(index).join('/');
  if (wildcard === undefined || tail === '') return undefined;
  values.push(decoded(tail));
  const last = rowAt(walk, wildcard);
  values.pop();
  return last;
}

function rowAt({ method, values, passed }: Walk, end: End): Found | undefined {
  const params: Record<string, string> = {};
  let position = 0;
  for (const name of end.names) params[name] = values[position++] ?? '';
  const row = end.rows.get(method) ?? (method === 'HEAD' ? end.rows.get('GET') : undefined);
  if (row !== undefined) return { pattern: end.pattern, row, params, allow: [] };
  passed.push({ end, params });
  return undefined;
}

const decoded = (text: string): string => (text.includes('%') ? decodeURIComponent(text) : text);

/** HEAD wherever GET is, and OPTIONS. */
function allowedBy(matches: readonly Match[]): readonly string[] {
  const methods = matches.flatMap(({ end: { rows } }) => [...rows.keys(), ...(rows.has('GET') ? ['HEAD'] : [])]);
  return [...new Set([...methods, 'OPTIONS'])];
}
