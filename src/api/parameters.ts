// Query parameters: what each accepts as a schema, and what the handler gets for its text.
import { parseId } from '../core/ids.ts';
import { type ObjectKind, objectKinds, parseAnyId } from '../core/object-kinds.ts';
import { described, oneOf, type TSchema, Type } from '../schema/define.ts';
import { resourceId, timestamp } from '../schema/fragments.ts';
import { parseTimestamp } from '../schema/timestamp.ts';

const EXAMPLE = 'dir_01k5w3v8q2e7rbs9x4m6tfhz0j';

export type Parameter<T = unknown> = {
  /** Its description is that of the parameter. */
  readonly schema: TSchema;
  readonly isRequired: boolean;
  /** What it means not to send it, for documents. */
  readonly default?: string | number;
  /** Turns text that fits the schema into what the handler gets. Undefined: it was not sent. */
  read(text: string | undefined): T;
};

export type Parameters = Readonly<Record<string, Parameter>>;

export type ValuesOf<P extends Parameters> = { readonly [N in keyof P]: P[N] extends Parameter<infer T> ? T : never };

/** Any text, compared as it is. */
export const textParameter = (description: string, maxLength = 300): Parameter<string | undefined> => ({
  schema: Type.String({ minLength: 1, maxLength, description }),
  isRequired: false,
  read: (text) => text,
});

export function enumParameter<const V extends readonly string[]>(
  values: V,
  description: string,
): Parameter<V[number] | undefined> {
  const schema = oneOf(values, { description });
  return { schema, isRequired: false, read: (text) => values.find((value) => value === text) };
}

/** The id of a resource; the handler gets its uuid. */
export const idParameter = (kind: ObjectKind, description: string): Parameter<string | undefined> => ({
  schema: described(resourceId(objectKinds[kind].prefix), description),
  isRequired: false,
  read: (text) => (text === undefined ? undefined : parseId(objectKinds[kind].prefix, text)),
});

/** As idParameter, and an empty value stands for "none": the handler gets ''. */
export function idOrNoneParameter(kind: ObjectKind, description: string): Parameter<string | undefined> {
  const { schema, read } = idParameter(kind, description);
  const pattern = 'pattern' in schema ? `^$|${String(schema.pattern)}` : '';
  return {
    schema: Type.Unsafe<string>({ ...schema, pattern }),
    isRequired: false,
    read: (text) => (text === '' ? '' : read(text)),
  };
}

/** The id of a resource of any kind. */
export function anyIdParameter(description: string): Parameter<string | undefined> {
  const prefixes = Object.values(objectKinds).map(({ prefix }) => prefix);
  return {
    schema: described(resourceId(`(${prefixes.join('|')})`), description, { examples: [EXAMPLE] }),
    isRequired: false,
    read: (text) => (text === undefined ? undefined : parseAnyId(text)),
  };
}

export const timeParameter = (description: string): Parameter<Date | undefined> => ({
  schema: described(timestamp, description),
  isRequired: false,
  read: (text) => (text === undefined ? undefined : parseTimestamp(text)),
});

export const integerParameter = (
  { default: usual, ...bounds }: { readonly minimum: number; readonly maximum: number; readonly default: number },
  description: string,
): Parameter<number> => ({
  schema: Type.Integer({ ...bounds, description }),
  isRequired: false,
  default: usual,
  read: (text) => (text === undefined ? usual : Number(text)),
});

/** A parameter that stands for a value when it is not sent. */
export const withDefault = <T>(parameter: Parameter<T | undefined>, value: T & string): Parameter<T> => ({
  schema: parameter.schema,
  isRequired: false,
  default: value,
  read: (text) => parameter.read(text) ?? value,
});

export const required = <T>(parameter: Parameter<T | undefined>): Parameter<T> => ({
  schema: parameter.schema,
  isRequired: true,
  read: (text) => {
    const value = parameter.read(text);
    if (value === undefined) throw new Error('A required parameter was read before the query was checked.');
    return value;
  },
});
