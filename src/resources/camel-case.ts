// The fields of /v1 as custom resources write them: camelCase, never null; bounds, default and sentence are the same.
import { type SchemaOf, type Static, type TSchema, Type } from '../schema/define.ts';
import type { Field, Fields } from './field.ts';

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** The same value with all names in camelCase. */
export type CamelCased<T> = T extends readonly (infer Item)[]
  ? readonly CamelCased<Item>[]
  : T extends object
    ? { readonly [Name in keyof T as CamelCase<Name & string>]: CamelCased<T[Name]> }
    : T;

/** What /v1 takes on create only, a spec holds for good. */
type TwinUse<Use> = Use extends 'input_only' ? 'create_only' : Use;
type Twin<F> =
  F extends Field<infer S, infer Use, infer Presence>
    ? Field<SchemaOf<CamelCased<NonNullable<Static<S>>>>, TwinUse<Use> & Field['use'], Presence>
    : never;
export type Twins<T extends Fields, Name extends keyof T & string> = {
  readonly [N in Name as CamelCase<N>]: Twin<T[N]>;
};

export const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The rows of a spec that are twins of these fields of /v1. */
export const camelCaseTwins = <T extends Fields, const Name extends keyof T & string>(
  fields: T,
  ...names: readonly Name[]
): Twins<T, Name> =>
  Object.fromEntries(
    names.map((name) => {
      const field = fields[name] as Field;
      const use = field.use === 'input_only' ? 'create_only' : field.use;
      const schema = twinSchema(field.schema);
      return [camelCase(name), { ...field, use, schema, reply: schema }];
    }),
  ) as Twins<T, Name>;

/** The schema of one field of /v1 for a custom resource. */
export const twinOf = <F extends Field>(field: F) =>
  twinSchema(field.schema) as SchemaOf<CamelCased<NonNullable<Static<F['schema']>>>>;

type Node = Readonly<Record<string, unknown>> & {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
};

const twinSchema = (schema: TSchema): TSchema => Type.Unsafe<unknown>(twinNode(schema as Node));

/**
 * In a custom resource null is the same as absent, so that no field takes it. A CRD has no uniqueItems: a kind says by a
 * rule, or by making the list a set, what /v1 says with it.
 */
function twinNode({ type, enum: values, items, properties, required, uniqueItems: _, ...rest }: Node): Node {
  return {
    ...rest,
    type: Array.isArray(type) ? type.find((name) => name !== 'null') : type,
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
    ...(items === undefined ? {} : { items: twinNode(items) }),
    ...(required === undefined ? {} : { required: required.map(camelCase) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, node]) => [camelCase(name), twinNode(node)]),
          ),
        }),
  };
}
