// Our schemas as the structural schemas that a CustomResourceDefinition takes.
import type { TSchema } from './define.ts';
import { anything, formatNamed } from './formats.ts';

/** A node of a structural schema, as it stands in a CRD. */
export type Structural = Readonly<Record<string, unknown>>;

type Node = Readonly<Record<string, unknown>>;

const TYPES = ['string', 'integer', 'number', 'boolean', 'array', 'object'];

/** What a CRD takes as it is. */
const KEPT = new Set([
  'description',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'pattern',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
]);
/** What only our own validator and documents need. */
const DROPPED = new Set(['examples', 'writeOnly']);
/** Formats of Kubernetes that say the width of a number, and nothing that ajv would have to know. */
const WIDTHS = ['int32', 'int64'];
/** What JavaScript's patterns have, and RE2 has not, or reads otherwise: look-around, back references, \u, sticky sets. */
const NOT_RE2 = /\(\?(?!:)|\\[1-9]|\\[kuc]|\\[pP](?!\{)|\[\^?\]|\[[^\]]*&&/;

/** Throws on what a CRD refuses, and on strings, lists and maps without a bound, which make CEL rules too costly. */
export function toStructural(schema: TSchema): Structural {
  return structural(schema as Node, '');
}

function structural(node: Node, path: string): Structural {
  const fail = (what: string): never => {
    throw new TypeError(`${path === '' ? 'the schema' : path}: ${what}`);
  };
  const { type } = node;
  if (typeof type !== 'string' || !TYPES.includes(type)) return fail('a CRD needs exactly one type per node');
  requireBound(node, type, fail);
  const result: Record<string, unknown> = { type };
  for (const [keyword, value] of Object.entries(node)) {
    const convert = Object.hasOwn(converted, keyword) ? converted[keyword] : undefined;
    if (keyword === 'type' || DROPPED.has(keyword)) continue;
    if (keyword === 'pattern' && NOT_RE2.test(String(value))) fail(`the pattern ${value} is not one of RE2`);
    if (convert !== undefined) Object.assign(result, convert(value, node, path, fail));
    else if (KEPT.has(keyword)) result[keyword] = value;
    else fail(`a CRD does not take ${keyword}`);
  }
  return result;
}

type Convert = (value: unknown, node: Node, path: string, fail: (what: string) => never) => Structural;

const converted: Readonly<Record<string, Convert>> = {
  properties: (value, _node, path) => ({
    properties: Object.fromEntries(
      Object.entries(value as Readonly<Record<string, Node>>).map(([name, child]) => [
        name,
        structural(child, path === '' ? name : `${path}.${name}`),
      ]),
    ),
  }),
  items: (value, _node, path, fail) =>
    Array.isArray(value)
      ? fail('a CRD takes one schema for all items')
      : { items: structural(value as Node, `${path}[]`) },
  // An API server drops or refuses unknown fields by itself.
  additionalProperties: (value, { properties }, path, fail) => {
    if (value === false) return {};
    if (value === true || properties !== undefined) return fail('a CRD takes no additional properties beside others');
    return { additionalProperties: structural(value as Node, `${path}{}`) };
  },
  required: (value) => ((value as readonly string[]).length === 0 ? {} : { required: value }),
  format: (value, node, _path, fail) => {
    if (node.type === 'integer' && WIDTHS.includes(String(value))) return { format: value };
    const format = formatNamed(value);
    if (format === undefined) return fail(`the format ${value} is unknown`);
    if (format.accepts === anything) return {};
    if (format.inCrd === undefined) return fail(`the format ${value} has no form for CRDs`);
    if (!('rule' in format.inCrd)) return format.inCrd;
    if (node['x-kubernetes-validations'] !== undefined) return fail(`the format ${value} has a rule of its own`);
    return { 'x-kubernetes-validations': [{ rule: format.inCrd.rule, message: `expected ${format.expected}` }] };
  },
};

function requireBound(node: Node, type: string, fail: (what: string) => never): void {
  const isBounded =
    (type === 'string' && (node.maxLength !== undefined || node.enum !== undefined)) ||
    (type === 'array' && node.maxItems !== undefined && node.items !== undefined) ||
    (type === 'object' && (node.properties !== undefined || node.maxProperties !== undefined)) ||
    ['integer', 'number', 'boolean'].includes(type);
  if (!isBounded) fail(`${type === 'array' ? 'a list needs items and maxItems' : `a ${type} needs a bound`}`);
}
