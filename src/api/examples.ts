// An example value for every schema, so that documents and the page of them show what is meant.
import type { TSchema } from '../schema/define.ts';
import type { FormatName } from '../schema/formats.ts';

/** A schema as the JSON that it is. */
export type JsonSchema = {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly writeOnly?: boolean;
};

/** Without the marks that typebox leaves on its objects. */
export const jsonSchemaOf = (schema: TSchema): JsonSchema => JSON.parse(JSON.stringify(schema));

/** `reply`: every field. `request`: what has to be sent, or the first field where nothing has to. */
export type ExampleOf = 'request' | 'reply';

export function exampleOf(schema: JsonSchema, use: ExampleOf): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum.find((value) => value !== null) ?? null;
  const type = [schema.type ?? 'string'].flat().find((name) => name !== 'null');
  switch (type) {
    case 'object':
      return objectExample(schema, use);
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(schema.items, use)];
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'boolean':
      return false;
    default:
      return isFormat(schema.format) ? formatExamples[schema.format] : 'text';
  }
}

function objectExample({ properties = {}, required = [] }: JsonSchema, use: ExampleOf): object {
  const all = Object.entries(properties);
  const needed = all.filter(([name]) => required.includes(name));
  const shown = use === 'reply' ? all : needed.length > 0 ? needed : all.slice(0, 1);
  return Object.fromEntries(shown.map(([name, schema]) => [name, exampleOf(schema, use)]));
}

const isFormat = (format: string | undefined): format is FormatName =>
  format !== undefined && Object.hasOwn(formatExamples, format);

const formatExamples: Readonly<Record<FormatName, string>> = {
  'object-name': 'Corp Issuing',
  slug: 'web',
  'key-id': 'shop',
  'dns-name': 'ca.corp.example',
  'dns-subtree': 'corp.example',
  'dns-pattern': '**.corp.example',
  'address-range': '10.0.0.0/8',
  'date-time': '2026-03-01T12:00:00Z',
  'ip-address': '10.1.2.3',
  'serial-number': '7f01',
  'http-url': 'https://corp.example/terms',
  uri: 'mailto:ops@corp.example',
  'country-code': 'DE',
  date: '2026-03-01',
  pem: '-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----\n',
};
