// A field of a /v1 resource as one row, and the shapes that follow from rows: create, update and reply.
import { closed, closedOf, type Static, type TSchema, withoutDefault } from '../schema/define.ts';
import { type Checked, checked } from '../schema/validator.ts';

/**
 * `writable` may be sent on create and update; `create_only` on create, and on update only unchanged (the core compares);
 * `input_only` on create, never shown; `read_only` is shown, and ignored as input.
 */
type FieldUse = 'writable' | 'create_only' | 'input_only' | 'read_only';
/** On create: must be sent, is filled in by the schema's default, or may be absent. */
type Presence = 'required' | 'default' | 'optional';
/** In replies: always, only where one resource is shown (retrieve, create, update), or only to some or at times. */
type Shown = 'always' | 'single' | 'sometimes' | 'never';

export type Field<S extends TSchema = TSchema, U extends FieldUse = FieldUse, P extends Presence = Presence> = {
  readonly schema: S;
  readonly use: U;
  readonly presence: P;
  readonly shown: Shown;
  /** The schema in replies, where stored values are not bound by the rules for input. */
  readonly reply: TSchema;
};
export type Fields = Readonly<Record<string, Field>>;

type Options = { readonly shown?: Shown; readonly reply?: TSchema };

const row =
  <U extends FieldUse>(use: U) =>
  <P extends Presence, S extends TSchema>(presence: P, schema: S, options: Options = {}): Field<S, U, P> => ({
    schema,
    use,
    presence,
    shown: options.shown ?? (use === 'input_only' ? 'never' : 'always'),
    reply: options.reply ?? withoutDefault(schema),
  });

export const writable = row('writable');
export const createOnly = row('create_only');
export const inputOnly = row('input_only');
export const readOnly = <S extends TSchema>(schema: S, shown: Shown = 'always') =>
  row('read_only')('optional', schema, { shown });

type Value<F> = F extends Field<infer S> ? Static<S> : never;
type NamesWith<T extends Fields, U extends FieldUse, P extends Presence = Presence> = {
  [K in keyof T]: T[K]['use'] extends U ? (T[K]['presence'] extends P ? K : never) : never;
}[keyof T];
type Creatable = 'writable' | 'create_only' | 'input_only';

/** What create gives after validation: required and defaulted fields are there. */
export type CreateInput<T extends Fields> = {
  readonly [K in NamesWith<T, Creatable, 'required' | 'default'>]: Value<T[K]>;
} & { readonly [K in NamesWith<T, Creatable, 'optional'>]?: Value<T[K]> };
/** What update gives: only what the caller sent. */
export type UpdateInput<T extends Fields> = {
  readonly [K in NamesWith<T, 'writable' | 'create_only'>]?: Value<T[K]>;
};

const entriesWhere = (fields: Fields, holds: (field: Field) => boolean): readonly (readonly [string, Field])[] =>
  Object.entries(fields).filter(([, field]) => holds(field));

export const createShape = <T extends Fields>(fields: T) => {
  const rows = entriesWhere(fields, (field) => field.use !== 'read_only');
  return closedOf<CreateInput<T>>(
    Object.fromEntries(rows.map(([name, field]) => [name, field.schema])),
    rows.filter(([, field]) => field.presence === 'required').map(([name]) => name),
  );
};

/** Nothing is required and nothing is filled in: an update changes what it names. */
export const updateShape = <T extends Fields>(fields: T) => {
  const rows = entriesWhere(fields, (field) => field.use === 'writable' || field.use === 'create_only');
  return closedOf<UpdateInput<T>>(
    Object.fromEntries(rows.map(([name, field]) => [name, withoutDefault(field.schema)])),
    [],
  );
};

/** Every field that this representation has is present, null where there is no value. */
export const replyShape = (fields: Fields, representation: 'single' | 'list') => {
  const rows = entriesWhere(
    fields,
    (field) => field.shown !== 'never' && (field.shown !== 'single' || representation === 'single'),
  );
  return closedOf<Readonly<Record<string, unknown>>>(
    Object.fromEntries(rows.map(([name, field]) => [name, field.reply])),
    rows.filter(([, field]) => field.shown !== 'sometimes').map(([name]) => name),
  );
};

/** How a door reads `{directory: {...}}`: read-only fields drop out, then every problem is found at once. */
export function inputReader<const N extends string, T extends Fields>(wrapper: N, fields: T) {
  const ignored = new Set(entriesWhere(fields, (field) => field.use === 'read_only').map(([name]) => name));
  const reader = <V>(shape: TSchema) => {
    const body = closed({ [wrapper]: shape });
    return (input: unknown): Checked<V> => {
      const result = checked(body, withoutIgnored(input, wrapper, ignored));
      return result.ok ? { ok: true, value: (result.value as Record<string, V>)[wrapper] as V } : result;
    };
  };
  return {
    /** The read-only fields that a body may hold without effect. */
    ignored,
    create: reader<CreateInput<T>>(createShape(fields)),
    update: reader<UpdateInput<T>>(updateShape(fields)),
  };
}

/** A copy without the ignored members; what is not of the expected form is left for validation to name. */
function withoutIgnored(input: unknown, wrapper: string, ignored: ReadonlySet<string>): unknown {
  if (!isObject(input) || !Object.hasOwn(input, wrapper)) return input;
  const inner = input[wrapper];
  if (!isObject(inner)) return input;
  const kept = Object.fromEntries(Object.entries(inner).filter(([name]) => !ignored.has(name)));
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, name === wrapper ? kept : value]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
