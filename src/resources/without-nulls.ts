// Null in a custom resource: an API server takes it for absent, wherever a field may stand.
import type { TSchema } from '../schema/define.ts';

type Node = {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: unknown;
  readonly items?: Node;
};

/** A copy without the fields that are null. One that the schema does not know stays, for validation to name. */
export const withoutNulls = (value: unknown, schema: TSchema): unknown => pruned(value, schema as Node);

function pruned(value: unknown, schema: Node | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => pruned(item, schema?.items));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, member, memberSchema(schema, name)] as const)
      .filter(([, member, known]) => member !== null || known === undefined)
      .map(([name, member, known]) => [name, pruned(member, known)]),
  );
}

function memberSchema(schema: Node | undefined, name: string): Node | undefined {
  if (schema?.properties !== undefined && Object.hasOwn(schema.properties, name)) return schema.properties[name];
  const others = schema?.additionalProperties;
  return typeof others === 'object' && others !== null ? (others as Node) : undefined;
}
