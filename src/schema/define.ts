// How schemas are written here: closed objects, enums that stay plain strings, null beside a type.
import { type Static, type TProperties, type TSchema, type TSchemaOptions, type TUnsafe, Type } from 'typebox';

export type { Static, TSchema };
export { Type };

/** A schema of values of this type. */
export type SchemaOf<T> = TUnsafe<T>;

/** An object that has these members and no others. */
export const closed = <const P extends TProperties>(properties: P, options: TSchemaOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

/** An enum of strings. A union of literals would become anyOf and const, which a CRD refuses. */
export const oneOf = <const T extends readonly string[]>(values: T, options: TSchemaOptions = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** A list always has a bound. */
export const listOf = <S extends TSchema>(items: S, maxItems: number, options: TSchemaOptions = {}) =>
  Type.Unsafe<readonly Static<S>[]>({ type: 'array', items, maxItems, ...options });

/** The list as a set: each item once, in any order. */
export const setOf = <S extends TSchema>(list: S) =>
  Type.Unsafe<Static<S>>({ ...list, 'x-kubernetes-list-type': 'set' });

/** The same value or null: an absent value is null in every reply, and a reply may be sent back. */
export function nullable<S extends TSchema>(schema: S) {
  const { type, enum: values } = schema as { type?: unknown; enum?: readonly unknown[] };
  if (typeof type !== 'string') throw new TypeError('nullable() needs a schema of one type');
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    type: [type, 'null'],
    ...(values === undefined ? {} : { enum: [...values, null] }),
  });
}

/** The schema with another description, default or bound. */
export const described = <S extends TSchema>(schema: S, description: string, options: TSchemaOptions = {}) =>
  Type.Unsafe<Static<S>>({ ...schema, description, ...options });

/** For updates, which must not fill in what the caller left out, and for replies, which leave out nothing. */
export const withoutDefault = <S extends TSchema>(schema: S) => {
  const { default: _, ...rest } = schema as S & { default?: unknown };
  return Type.Unsafe<Static<S>>(rest);
};

/** An object schema over rows chosen at run time, of which only those named are required. */
export const closedOf = <T>(properties: Readonly<Record<string, TSchema>>, required: readonly string[]) =>
  Type.Unsafe<T>({ type: 'object', additionalProperties: false, properties, required: [...required] });
