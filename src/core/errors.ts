// The refusals that the core can express. Everything thrown that is not a CaError is a bug.
import type { FieldProblem } from '../schema/validator.ts';

/** One sentence per kind. Doors map kinds in exhaustive tables, so a new kind does not compile until each knows it. */
export const errorKinds = {
  not_found: 'The resource does not exist.',
  unknown_cursor: 'The item after which a page was to begin does not exist.',
  invalid: 'A field does not have an acceptable value.',
  unknown_reference: 'A field names a resource that does not exist.',
  immutable: 'A field that never changes once the resource exists was given another value.',
  conflict: 'The resource was changed by somebody else at the same time.',
  managed_by_kubernetes: 'The resource belongs to a custom resource and is changed only there.',
  already_exists: 'What a custom resource declares is there already, and is not its own.',
  in_use: 'Something still depends on the resource.',
  slug_taken: 'The slug is, or once was, that of another directory.',
  key_id_taken: 'The key id is that of another EAB token.',
  token_used: 'The EAB token was used and can no longer be changed or deleted.',
  key_reused: 'The public key is that of another account key.',
  key_invalidated: 'The public key was withdrawn once and is never accepted again.',
  key_not_valid: 'The account key is deactivated or revoked.',
  duplicate_certificate: 'The certificate is that of another CA cert.',
  cannot_sign: 'The CA cert cannot sign: its key is elsewhere, or it is not completed, expired or revoked.',
  not_revocable: 'The CA cert cannot be revoked here: no CA of this service can say so.',
  already_revoked: 'It is revoked already.',
  expired: 'It has expired.',
  order_not_open: 'The order is past the states in which it can be changed.',
  unavailable: 'Something that the service depends on is away for the moment.',
} as const;

export type ErrorKind = keyof typeof errorKinds;

/** `field` is the resource's own name for it (`slug`); each door adds what stands around it. */
export type { FieldProblem };

export type CaErrorOptions = {
  /** The one field at fault; its problem has the kind as code and the detail as message. */
  readonly field?: string;
  readonly problems?: readonly FieldProblem[];
  readonly cause?: unknown;
};

/** An expected refusal: its detail says what was expected, what came and what to do, and never holds a secret. */
export class CaError extends Error {
  readonly kind: ErrorKind;
  readonly problems: readonly FieldProblem[];

  constructor(kind: ErrorKind, detail: string, { field, problems, cause }: CaErrorOptions = {}) {
    super(detail, { cause });
    this.name = 'CaError';
    this.kind = kind;
    this.problems = problems ?? (field === undefined ? [] : [{ field, code: kind, message: detail }]);
  }
}

/** Keys that cannot be used now: the detail names Secrets and files, and is for those who run the service. */
export class KeysUnavailable extends CaError {
  constructor(detail: string, options?: CaErrorOptions) {
    super('unavailable', detail, options);
    this.name = 'KeysUnavailable';
  }
}
