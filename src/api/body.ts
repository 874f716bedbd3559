// Request bodies: their shape, the member that wraps the resource, and how each is read.
import { detailOf, invalid } from '../core/field-problems.ts';
import type { HttpRequest } from '../http/route.ts';
import {
  type CreateInput,
  createShape,
  type Fields,
  inputReader,
  type UpdateInput,
  updateShape,
} from '../resources/field.ts';
import { closedOf, type Static, type TSchema, Type } from '../schema/define.ts';
import { quoted } from '../schema/field-problem.ts';
import { readJson } from '../schema/json.ts';
import { type Checked, checked, type FieldProblem } from '../schema/validator.ts';
import { jsonSchemaOf } from './examples.ts';
import { ApiRefusal } from './problems.ts';

export type Body<T = unknown> = {
  readonly schema: TSchema;
  /** The member that holds the resource: refusals of the core name fields inside it. */
  readonly wrapper?: string;
  /** What an absent body stands for. Without it one has to be sent. */
  readonly whenAbsent?: unknown;
  read(json: unknown): Checked<T>;
};

/**
 * What is wrong with fields beyond their schemas. Asked where the schemas refuse a body, so that the caller hears of that
 * too at once; a body that fits its schemas goes to the core, which asks it all. `sound` are the fields that fit, `sent`
 * all that the resource knows.
 */
export type FieldRules = (sound: UnreadFields, sent: UnreadFields) => readonly FieldProblem[];
export type UnreadFields = Readonly<Record<string, unknown>>;

export type BodyOptions = {
  readonly rules?: FieldRules;
  /** Fields that work as they are, for documents; without them those that have to be sent. */
  readonly example?: UnreadFields;
};

/** `{directory: {...}}` on create: read-only fields are ignored, defaults filled in. The handler gets what is inside. */
export function createBody<T extends Fields>(
  wrapper: string,
  title: string,
  fields: T,
  { rules, example }: BodyOptions = {},
): Body<CreateInput<T>> {
  const shape = createShape(fields);
  const read = withRules(wrapper, shape, inputReader(wrapper, fields).create, rules);
  return { schema: wrapped(wrapper, `${title}Create`, shape, example), wrapper, read };
}

/** As createBody, for an update: the handler gets only what was sent. */
export function updateBody<T extends Fields>(
  wrapper: string,
  title: string,
  fields: T,
  { rules, example }: BodyOptions = {},
): Body<UpdateInput<T>> {
  const shape = updateShape(fields);
  const read = withRules(wrapper, shape, inputReader(wrapper, fields).update, rules);
  return { schema: wrapped(wrapper, `${title}Update`, shape, example), wrapper, read };
}

function withRules<V>(wrapper: string, shape: TSchema, read: Body<V>['read'], rules?: FieldRules): Body<V>['read'] {
  if (rules === undefined) return read;
  const known = new Set(Object.keys(jsonSchemaOf(shape).properties ?? {}));
  return (json) => {
    const result = read(json);
    if (result.ok) return result;
    const sent = Object.entries(membersOf(membersOf(json)[wrapper])).filter(([name]) => known.has(name));
    const faulty = new Set(result.problems.map(({ field }) => field.split(/[.[]/, 2).join('.')));
    const sound = sent.filter(([name]) => !faulty.has(`${wrapper}.${name}`));
    const further = rules(Object.fromEntries(sound), Object.fromEntries(sent))
      .map((problem) => ({ ...problem, field: `${wrapper}.${problem.field}` }))
      .filter(({ field }) => !faulty.has(field));
    return { ok: false, problems: [...result.problems, ...further] };
  };
}

/** None where it is no object. */
export const membersOf = (value: unknown): UnreadFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** Any other shape inside a wrapper. */
export function wrappedBody<S extends TSchema>(wrapper: string, title: string, shape: S): Body<Static<S>> {
  const schema = closedOf<Readonly<Record<string, Static<S>>>>({ [wrapper]: shape }, [wrapper]);
  return {
    schema: Type.Unsafe({ ...schema, title }),
    wrapper,
    read: (json) => {
      const result = checked(schema, json);
      return result.ok ? { ok: true, value: result.value[wrapper] as Static<S> } : result;
    },
  };
}

/** A body that wraps nothing. */
export const plainBody = <S extends TSchema>(title: string, shape: S): Body<Static<S>> => ({
  schema: Type.Unsafe({ ...shape, title }),
  read: (json) => checked(shape, json),
});

/** A body that may be left out, which means the same as an empty resource. */
export const optional = <T>(body: Body<T>): Body<T> => ({
  ...body,
  whenAbsent: body.wrapper === undefined ? {} : { [body.wrapper]: {} },
});

/** What the handler gets. Throws for another media type, what is not strict JSON, and all problems of its fields. */
export function readBody<T>(body: Body<T>, request: HttpRequest): T {
  const result = body.read(jsonOf(body, request));
  if (result.ok) return result.value;
  throw invalid(result.problems);
}

function jsonOf({ whenAbsent, wrapper }: Body, { body, headers }: HttpRequest): unknown {
  if (body.length === 0 && whenAbsent !== undefined) return structuredClone(whenAbsent);
  if (body.length === 0) {
    const example = wrapper === undefined ? '{...}' : `{"${wrapper}": {...}}`;
    throw new ApiRefusal('malformed_json', `A JSON body is expected, such as ${example}, and none came.`);
  }
  requireJson(headers['content-type'], headers['content-encoding']);
  const reading = readJson(body);
  if (reading.ok) return reading.value;
  const { problem } = reading;
  throw new ApiRefusal('malformed_json', detailOf([problem]), { problems: problem.field === '' ? [] : [problem] });
}

const JSON_TYPE = /^application\/json[\t ]*(;|$)/i;

function requireJson(type: string | undefined, encoding: string | undefined): void {
  if (type === undefined || !JSON_TYPE.test(type.trim())) {
    const came = type === undefined ? 'none came' : `${quoted(type, 60)} came`;
    throw new ApiRefusal('unsupported_media_type', `Content-Type: application/json is expected, and ${came}.`, {
      headers: { Accept: 'application/json' },
    });
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ApiRefusal('unsupported_media_type', 'The body must be sent without Content-Encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    });
}

function wrapped(wrapper: string, title: string, shape: TSchema, example?: UnreadFields): TSchema {
  const examples = example && { examples: [{ [wrapper]: example }] };
  return Type.Unsafe({ ...closedOf({ [wrapper]: shape }, [wrapper]), title, ...examples });
}
