// The refusals that the core can express. Everything thrown that is not a CaError is a bug.

/** One row per kind: the class that decides its fate at every door. Doors map kinds in exhaustive tables. */
export const errorKinds = {
  not_found: 'The resource does not exist.',
  invalid: 'A field does not have an acceptable value.',
  conflict: 'The resource was changed by somebody else at the same time.',
  unavailable: 'Something that the service depends on is away for the moment.',
} as const;

export type ErrorKind = keyof typeof errorKinds;

export type FieldProblem = { readonly field: string; readonly code: string; readonly message: string };

/** An expected refusal: its detail says what was expected, what came and what to do, and never holds a secret. */
export class CaError extends Error {
  readonly kind: ErrorKind;
  readonly problems: readonly FieldProblem[];

  constructor(kind: ErrorKind, detail: string, options: { problems?: readonly FieldProblem[]; cause?: unknown } = {}) {
    super(detail, { cause: options.cause });
    this.name = 'CaError';
    this.kind = kind;
    this.problems = options.problems ?? [];
  }
}
