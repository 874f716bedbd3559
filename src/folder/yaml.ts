// YAML text to documents, read as Kubernetes reads it, with the line of each part.
import {
  boolYaml11Tag,
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  intCoreTag,
  intYaml11Tag,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  YAMLException,
} from 'js-yaml';
import type { ManifestProblem, ParsedDocument, Place } from '../resources/manifest.ts';

/** Each alias can multiply what is read: what people write stays far below. */
const ALIASES = 32;

/** The API server's parser knows the booleans and octal numbers of YAML 1.1, but no numbers to base 60. */
const KUBERNETES_SCHEMA = CORE_SCHEMA.withTags(mergeTag, boolYaml11Tag, {
  ...intYaml11Tag,
  resolve: (source, isExplicit, tagName) => {
    if (source.includes(':')) return NOT_RESOLVED;
    const value = intYaml11Tag.resolve(source, isExplicit, tagName);
    return value === NOT_RESOLVED ? intCoreTag.resolve(source, isExplicit, tagName) : value;
  },
});

/** The documents of a file; none of them, and the reason, where it is not YAML. */
export function parseYaml(
  file: string,
  text: string,
): { readonly documents: readonly ParsedDocument[]; readonly problems: readonly ManifestProblem[] } {
  try {
    const events = parseEvents(text, {});
    const values = constructFromEvents(events, { source: text, schema: KUBERNETES_SCHEMA, maxAliases: ALIASES });
    const places = placesOf(events, text);
    const documents = values.map((value, index) => ({ file, value, places: places[index] ?? [] }));
    return { documents, problems: [] };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = (error.mark?.line ?? 0) + 1;
    return { documents: [], problems: [{ file, line, message: `this is not YAML: ${error.reason}` }] };
  }
}

/** A collection that is open: at which member or item, and whether the next event is the name of a member. */
type Frame = { readonly isMapping: boolean; at: string | number; expectsName: boolean };

/** Per document. Offsets only grow, so that lines are counted in one pass. */
function placesOf(events: readonly Event[], text: string): readonly (readonly Place[])[] {
  const documents: Place[][] = [];
  const open: Frame[] = [];
  const lineAt = lineCounter(text);
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) {
      documents.push([]);
      open.push({ isMapping: false, at: -1, expectsName: false });
      continue;
    }
    if (event.type === EVENT_ID.POP) {
      open.pop();
      continue;
    }
    const frame = open.at(-1);
    if (frame?.isMapping && frame.expectsName) {
      frame.at = event.type === EVENT_ID.SCALAR ? getScalarValue(text, event) : '';
      frame.expectsName = false;
      const start = startOf(event);
      documents.at(-1)?.push({ path: pathOf(open), line: lineAt(start) });
    } else {
      if (frame !== undefined && !frame.isMapping) {
        frame.at = Number(frame.at) + 1;
        documents.at(-1)?.push({ path: pathOf(open), line: lineAt(startOf(event)) });
      } else if (frame !== undefined) frame.expectsName = true;
    }
    if (event.type === EVENT_ID.MAPPING) open.push({ isMapping: true, at: '', expectsName: true });
    if (event.type === EVENT_ID.SEQUENCE) open.push({ isMapping: false, at: -1, expectsName: false });
  }
  return documents;
}

/** Without the document itself, which is the first frame. */
const pathOf = (open: readonly Frame[]): Place['path'] => open.slice(1).map(({ at }) => at);

function startOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart;
  return event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE ? event.start : 0;
}

function lineCounter(text: string): (offset: number) => number {
  let line = 1;
  let counted = 0;
  return (offset) => {
    for (; counted < offset; counted++) if (text[counted] === '\n') line++;
    return line;
  };
}
