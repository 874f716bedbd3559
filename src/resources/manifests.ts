// Parsed documents to checked objects: the verdict of an API server, with every problem at once.
import { fieldPath, quoted } from '../schema/field-problem.ts';
import { nearestName } from '../schema/problem-messages.ts';
import { check, type FieldProblem } from '../schema/validator.ts';
import { kinds } from './kinds.ts';
import type { ForeignManifest, Manifest, ManifestProblem, ParsedDocument } from './manifest.ts';
import { manifestSchemas } from './manifest-schema.ts';
import { API_GROUP, API_VERSION, type KindName, kindNames } from './resource.ts';
import { brokenRules } from './rules.ts';
import { withoutNulls } from './without-nulls.ts';

/** Characters of a text that is no name. */
const SHOWN = 60;

export type ReadManifests = {
  readonly manifests: readonly Manifest[];
  readonly foreign: readonly ForeignManifest[];
  readonly problems: readonly ManifestProblem[];
};

/** Unknown fields are refused; a `status` is ignored. What names no namespace is in `defaultNamespace`. */
export function readManifests(documents: readonly ParsedDocument[], defaultNamespace: string): ReadManifests {
  const manifests: Manifest[] = [];
  const declaredAt = new Map<string, string>();
  const foreign: ForeignManifest[] = [];
  const problems: ManifestProblem[] = [];
  for (const document of documents.flatMap(itemsOf)) {
    const read = readOne(document, defaultNamespace);
    problems.push(...read.problems);
    if (read.foreign !== undefined) foreign.push(read.foreign);
    if (read.manifest === undefined) continue;
    const object = nameOf(read.manifest);
    const first = declaredAt.get(object);
    if (first !== undefined)
      problems.push(problemOf(document, `this object is declared at ${first} already`, { object }));
    else manifests.push(read.manifest);
    declaredAt.set(object, first ?? `${document.file}:${lineOf(document, '')}`);
  }
  return { manifests, foreign, problems };
}

type Read = {
  readonly manifest?: Manifest;
  readonly foreign?: ForeignManifest;
  readonly problems: readonly ManifestProblem[];
};

function readOne(document: ParsedDocument, defaultNamespace: string): Read {
  const { value } = document;
  if (!isObject(value)) return refused(problemOf(document, 'expected an object with apiVersion and kind'));
  const { apiVersion, kind: kindName } = value;
  for (const field of ['apiVersion', 'kind'] as const)
    if (typeof value[field] !== 'string' || value[field] === '')
      return refused(problemOf(document, 'this field is required, as text', { field }));
  if (apiVersion !== API_GROUP && !String(apiVersion).startsWith(`${API_GROUP}/`))
    return { foreign: { apiVersion: String(apiVersion), kind: String(kindName), value }, problems: [] };
  if (apiVersion !== API_VERSION) {
    const message = `expected ${API_VERSION}, got ${quoted(String(apiVersion), SHOWN)}`;
    return refused(problemOf(document, message, { field: 'apiVersion' }));
  }
  if (!isKindName(kindName)) return refused(problemOf(document, unknownKind(String(kindName)), { field: 'kind' }));
  return readOurs(document, value, kindName, defaultNamespace);
}

function readOurs(document: ParsedDocument, value: object, kind: KindName, defaultNamespace: string): Read {
  const schema = manifestSchemas[kind];
  // A copy: the check fills in defaults.
  const object = withoutNulls(value, schema);
  const problems = check(schema, object).map(withQuotesHint);
  if (problems.length > 0) return refusedAs(subjectOf(kind, object, defaultNamespace), document, problems);
  const manifest = completed(object as Manifest, defaultNamespace);
  const broken = brokenRules(kinds[kind], manifest.spec).map(inSpec);
  return broken.length > 0 ? refusedAs(nameOf(manifest), document, broken) : { manifest, problems: [] };
}

/** With its namespace, and without what a cluster adds. */
function completed({ apiVersion, kind, metadata, spec }: Manifest, defaultNamespace: string): Manifest {
  const { name, namespace = defaultNamespace, labels, annotations } = metadata;
  const kept = { namespace, name, ...(labels && { labels }), ...(annotations && { annotations }) };
  return { apiVersion, kind, metadata: kept, spec } as Manifest;
}

const refusedAs = (object: string, document: ParsedDocument, problems: readonly FieldProblem[]): Read => ({
  problems: problems.map(({ field, message }) => problemOf(document, message, { object, field })),
});

/** `kind: List` holds others; an empty document, as behind a last `---`, holds nothing. */
function itemsOf(document: ParsedDocument): readonly ParsedDocument[] {
  const { value, places } = document;
  if (value === null || value === undefined) return [];
  if (!isObject(value) || value.apiVersion !== 'v1' || value.kind !== 'List' || !Array.isArray(value.items))
    return [document];
  return value.items.flatMap((item: unknown, index) =>
    itemsOf({
      ...document,
      value: item,
      places: places
        .filter(({ path }) => path[0] === 'items' && path[1] === index)
        .map(({ path, line }) => ({ path: path.slice(2), line })),
    }),
  );
}

const problemOf = (
  document: ParsedDocument,
  message: string,
  about: Pick<ManifestProblem, 'object' | 'field'> = {},
): ManifestProblem => ({ file: document.file, line: lineOf(document, about.field ?? ''), ...about, message });

/** A field that is missing is missing where its parent stands. */
function lineOf({ places }: ParsedDocument, field: string): number {
  const lines = new Map(places.map(({ path, line }) => [fieldPath(path), line]));
  let at = field;
  while (at !== '' && !lines.has(at)) at = at.replace(/(^|\.)[^.[\]]*$|\[[^[]*\]$/, '');
  return lines.get(at) ?? 1;
}

const withQuotesHint = (problem: FieldProblem): FieldProblem => ({
  ...problem,
  message: problem.message + quotesHint(problem),
});

/** YAML 1.1, which Kubernetes reads, has more booleans than people expect. */
function quotesHint({ code, message }: FieldProblem): string {
  if (code !== 'wrong_type' || /^expected (a list|an object|an integer)/.test(message)) return '';
  if (/, got (true|false)$/.test(message))
    return '; put it in quotes: y, n, yes, no, on and off without them are booleans in the YAML of Kubernetes';
  return /, got -?[0-9.e+-]+$/.test(message) ? '; put it in quotes' : '';
}

const inSpec = (problem: FieldProblem): FieldProblem => ({ ...problem, field: `spec.${problem.field}` });

const refused = (problem: ManifestProblem): Read => ({ problems: [problem] });

function unknownKind(name: string): string {
  const nearest = nearestKind(name);
  return `${API_VERSION} has no kind ${quoted(name, SHOWN)}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
}

const nearestKind = (name: string): string | undefined => {
  const lower = new Map(kindNames.map((kind) => [kind.toLowerCase(), kind]));
  return lower.get(nearestName(name.toLowerCase(), [...lower.keys()]) ?? '');
};

const nameOf = ({ kind, metadata: { namespace, name } }: Manifest): string => `${kind} ${namespace}/${name}`;

function subjectOf(kind: KindName, object: unknown, defaultNamespace: string): string {
  const meta = isObject(object) && isObject(object.metadata) ? object.metadata : {};
  const { name, namespace = defaultNamespace } = meta;
  return typeof name === 'string' && typeof namespace === 'string'
    ? `${kind} ${shownName(namespace)}/${shownName(name)}`
    : kind;
}

/** A name that is none is shown in quotes. */
const shownName = (name: string): string => (/^[a-z0-9.-]{1,253}$/.test(name) ? name : quoted(name, SHOWN));

const isKindName = (name: unknown): name is KindName => kindNames.some((kind) => kind === name);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
