// Sentences for validation problems: what was expected, what came. A secret is never repeated.
import { quoted } from './field-problem.ts';
import { formatNamed } from './formats.ts';

/** The parts of a schema that a message speaks of. */
export type SchemaFacts = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, unknown>>;
};

const SHOWN = 60;

/** `expected an integer from 0 to 3650, got "90"`. */
export function mismatch(facts: SchemaFacts, value: unknown): string {
  const hint =
    typeof value === 'string' && !isSecret(facts, value) ? formatNamed(facts.format)?.hint?.(value) : undefined;
  return `expected ${expectation(facts)}, got ${shown(facts, value)}${hint === undefined ? '' : `; ${hint}`}`;
}

/** The closest of the known names, if one is close enough to be meant. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > 40) return undefined;
  const wanted = snakeCase(name);
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, snakeCase(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

function expectation(facts: SchemaFacts): string {
  const types = typeof facts.type === 'string' ? [facts.type] : (facts.type ?? []);
  const words = facts.enum === undefined ? [] : [listed(facts.enum.filter((value) => value !== null).map(String))];
  for (const type of facts.enum === undefined ? types : []) if (type !== 'null') words.push(typeWords(type, facts));
  if (types.includes('null')) words.push('null');
  return words.join(' or ');
}

function typeWords(type: string, facts: SchemaFacts): string {
  switch (type) {
    case 'integer':
    case 'number':
      return `${type === 'integer' ? 'an integer' : 'a number'}${range(facts.minimum, facts.maximum)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${range(facts.minItems ?? 0, facts.maxItems, ' items')}`;
    case 'object':
      return 'an object';
    default:
      return stringWords(facts);
  }
}

const stringWords = (facts: SchemaFacts): string => {
  const format = formatNamed(facts.format)?.expected;
  if (facts.format === 'pem') return `PEM text${range(undefined, facts.maxLength, ' characters')}`;
  if (format !== undefined) return format;
  if (facts.examples?.[0] !== undefined) return `a string such as ${String(facts.examples[0])}`;
  return `a string${range(facts.minLength, facts.maxLength, ' characters')}`;
};

const range = (from: number | undefined, to: number | undefined, unit = ''): string => {
  if (from !== undefined && to !== undefined) return `${unit === '' ? ' from' : ' of'} ${from} to ${to}${unit}`;
  if (to !== undefined) return ` of at most ${to}${unit}`;
  return from === undefined ? '' : ` of at least ${from}${unit}`;
};

const listed = (values: readonly string[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;

function shown(facts: SchemaFacts, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length} ${value.length === 1 ? 'item' : 'items'}`;
  if (typeof value === 'object') return 'an object';
  if (isSecret(facts, value)) return 'a value that is not shown here';
  if (typeof value !== 'string') return String(value);
  if (value === '') return 'an empty string';
  if (facts.maxLength !== undefined && value.length > facts.maxLength) return `${value.length} characters`;
  return quoted(value, SHOWN);
}

/** PEM is never repeated: people paste a private key where a certificate belongs. */
const isSecret = (facts: SchemaFacts, value: unknown): boolean =>
  facts.writeOnly === true || (typeof value === 'string' && (facts.format === 'pem' || value.includes('-----BEGIN')));

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/-/g, '_');

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
