// The one ajv instance: a schema and a value in, every problem of the value out, each at the field the caller wrote.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Static, TSchema } from './define.ts';
import { type FieldProblem, fieldPath, type PathSegment, quoted } from './field-problem.ts';
import { formats } from './formats.ts';
import { mismatch, nearestName, type SchemaFacts } from './problem-messages.ts';

export type { FieldProblem };

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** More problems than this help nobody. */
const PROBLEMS_SHOWN = 50;

const ajv = new Ajv2020({
  strict: true,
  allErrors: true,
  verbose: true,
  messages: false,
  useDefaults: true,
  formats: Object.fromEntries(Object.entries(formats).map(([name, { accepts }]) => [name, accepts])),
});
// Annotations for Kubernetes, which ajv only has to know by name.
ajv.addVocabulary(['x-kubernetes-validations', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type']);
/** A set takes each item once, as an API server has it. */
ajv.addKeyword({
  keyword: 'x-kubernetes-list-type',
  type: 'array',
  errors: false,
  validate: (listType: unknown, items: readonly unknown[]) =>
    listType !== 'set' || new Set(items).size === items.length,
});

const compiled = new WeakMap<TSchema, ValidateFunction>();

/** All problems of the value, none when it fits. Fills the schema's defaults into the value. */
export function check(schema: TSchema, value: unknown): readonly FieldProblem[] {
  const validate = compiled.get(schema) ?? compile(schema);
  return validate(value) ? [] : problemsOf(validate.errors ?? [], value);
}

/** The value with its type, or its problems. */
export function checked<S extends TSchema>(schema: S, value: unknown): Checked<Static<S>> {
  const problems = check(schema, value);
  return problems.length === 0 ? { ok: true, value: value as Static<S> } : { ok: false, problems };
}

/** Compiled on first use: a process needs few of all schemas, and each costs milliseconds. */
function compile(schema: TSchema): ValidateFunction {
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
}

type Explained = { readonly code: string; readonly message: (error: ErrorObject) => string };

const expected = (error: ErrorObject): string => mismatch(factsOf(error), error.data);

/** One row per keyword. */
const explained: Readonly<Record<string, Explained>> = {
  additionalProperties: { code: 'unknown_field', message: unknownField },
  required: { code: 'required', message: () => 'this field is required' },
  type: { code: 'wrong_type', message: expected },
  enum: { code: 'not_allowed', message: expected },
  maxLength: { code: 'bad_length', message: expected },
  minLength: { code: 'bad_length', message: expected },
  pattern: { code: 'bad_format', message: expected },
  format: { code: 'bad_format', message: expected },
  minimum: { code: 'out_of_range', message: expected },
  maximum: { code: 'out_of_range', message: expected },
  minItems: { code: 'bad_count', message: expected },
  maxItems: { code: 'bad_count', message: expected },
  'x-kubernetes-list-type': { code: 'duplicate', message: () => 'the same item stands twice in this list' },
  uniqueItems: { code: 'duplicate', message: () => 'the same item stands twice in this list' },
};

/** Of several problems of one field only the first is reported: a text that is too long need not hear of its form. */
function problemsOf(errors: readonly ErrorObject[], root: unknown): readonly FieldProblem[] {
  const byField = new Map<string, ErrorObject>();
  for (const error of errors) {
    const field = fieldPath(segmentsOf(error, root));
    if (!byField.has(field)) byField.set(field, error);
    if (byField.size === PROBLEMS_SHOWN) break;
  }
  return [...byField].map(([field, error]) => {
    const row = explained[error.keyword];
    return { field, code: row?.code ?? 'invalid', message: row?.message(error) ?? `breaks the rule ${error.keyword}` };
  });
}

function segmentsOf(error: ErrorObject, root: unknown): readonly PathSegment[] {
  const path: PathSegment[] = [];
  let at = root;
  for (const part of error.instancePath.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(name) : name);
    at = (at as Record<string, unknown> | undefined)?.[name];
  }
  const child: unknown = error.params.additionalProperty ?? error.params.missingProperty;
  return typeof child === 'string' ? [...path, child] : path;
}

function unknownField(error: ErrorObject): string {
  const nearest = nearestName(String(error.params.additionalProperty), Object.keys(factsOf(error).properties ?? {}));
  const name = quoted(String(error.params.additionalProperty), 60);
  return `there is no field ${name} here${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`;
}

const factsOf = (error: ErrorObject): SchemaFacts => (error.parentSchema ?? {}) as SchemaFacts;
