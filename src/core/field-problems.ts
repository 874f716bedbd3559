// Gathers what is wrong with the fields of one body, so that all of it is told at once.
import { X509Error } from '../x509/x509-error.ts';
import { CaError, type FieldProblem } from './errors.ts';

const SHOWN = 3;

export class FieldProblems {
  readonly #problems: FieldProblem[];

  constructor(problems: readonly FieldProblem[] = []) {
    this.#problems = [...problems];
  }

  add(...problems: readonly FieldProblem[]): void {
    this.#problems.push(...problems);
  }

  /** Of parts of the field. */
  addBelow(field: string, problems: readonly FieldProblem[]): void {
    this.add(...problems.map((problem) => ({ ...problem, field: `${field}.${problem.field}` })));
  }

  /** What `read` gives; undefined, and a problem of the field, where it throws a refusal of keys or certificates. */
  async reading<T>(field: string, read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof X509Error)) throw error;
      this.add({ field, code: error.code, message: error.message });
      return undefined;
    }
  }

  /** Throws `invalid` with all problems, if there are any. */
  refuse(): void {
    if (this.#problems.length > 0) throw invalid(this.#problems);
  }
}

/** The refusal of a body with these problems, of which there is at least one. */
export const invalid = (problems: readonly FieldProblem[]): CaError =>
  new CaError('invalid', detailOf(problems), { problems });

/** The first few problems as one sentence. */
export function detailOf(problems: readonly FieldProblem[]): string {
  const shown = problems
    .slice(0, SHOWN)
    .map(({ field, message }) => (field === '' ? message : `${field}: ${message}`).replace(/\.$/, ''));
  const rest = problems.length - shown.length;
  const text = `${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
  return text.endsWith('?') ? text : `${text}.`;
}
