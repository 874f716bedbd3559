// Reads a query string: everything wrong with it at once, each by the name of its parameter.
import { detailOf } from '../core/field-problems.ts';
import { quoted } from '../schema/field-problem.ts';
import { nearestName } from '../schema/problem-messages.ts';
import { check, type FieldProblem } from '../schema/validator.ts';
import type { Parameter, Parameters } from './parameters.ts';
import { ApiRefusal } from './problems.ts';

export type QueryRules = {
  readonly query?: Parameters | undefined;
  /** At least one of these has to be sent, and not empty. */
  readonly requireOneOf?: readonly string[] | undefined;
};

const MOST_PARAMETERS = 50;

/** The values for the handler. Throws `invalid_query`. */
export function readQuery(rules: QueryRules, sent: URLSearchParams): Readonly<Record<string, unknown>> {
  // Every name that is wrong gets a sentence: those of a request must not fill a page of memory.
  if (sent.size > MOST_PARAMETERS)
    throw new ApiRefusal('invalid_query', `A query holds at most ${MOST_PARAMETERS} parameters.`);
  const parameters = rules.query ?? {};
  const names = new Set([...sent.keys(), ...Object.keys(parameters)]);
  const problems = [
    ...[...names].flatMap((name) => problemsOf(name, sent.getAll(name), parameters)),
    ...missingFilter(rules, sent),
  ];
  if (problems.length > 0) throw new ApiRefusal('invalid_query', detailOf(problems), { problems });
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, parameter.read(sent.get(name) ?? undefined)]),
  );
}

function problemsOf(name: string, values: readonly string[], parameters: Parameters): readonly FieldProblem[] {
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  const [value, ...repeated] = values;
  if (parameter === undefined) return [{ field: shown(name), ...unknown(name, parameters) }];
  if (repeated.length > 0)
    return [{ field: name, code: 'repeated', message: 'this parameter may stand only once in a query' }];
  if (value === undefined)
    return parameter.isRequired ? [{ field: name, code: 'required', message: 'this parameter is required' }] : [];
  if (value.includes('\0'))
    return [{ field: name, code: 'bad_text', message: 'text must not contain the NUL character' }];
  return check(parameter.schema, typed(parameter, value)).map((problem) => ({ ...problem, field: name }));
}

function unknown(name: string, parameters: Parameters) {
  const nearest = nearestName(name, Object.keys(parameters));
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  return { code: 'unknown_parameter', message: `there is no parameter ${quoted(name, 60)} here${hint}` };
}

function missingFilter({ requireOneOf = [] }: QueryRules, sent: URLSearchParams): readonly FieldProblem[] {
  const [first] = requireOneOf;
  if (first === undefined || requireOneOf.some((name) => sent.getAll(name).some((value) => value !== ''))) return [];
  const message =
    requireOneOf.length === 1
      ? 'this parameter is required'
      : `at least one of ${requireOneOf.join(', ')} is required, with a value`;
  return [{ field: first, code: 'required', message }];
}

/** Text that is no number stays text, so that the message can say what came. */
const typed = ({ schema }: Parameter, text: string): unknown =>
  'type' in schema && schema.type === 'integer' && /^-?\d{1,15}$/.test(text) ? Number(text) : text;

const shown = (name: string): string => quoted(name, 60).slice(1, -1);
