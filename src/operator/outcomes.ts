// What a refusal means for a visit: every kind of the core and of a source, as an outcome.
import type { CaError, ErrorKind } from '../core/errors.ts';
import { detailOf } from '../core/field-problems.ts';
import { refusalOf } from '../core/refusals.ts';
import { camelCase } from '../resources/camel-case.ts';
import { SourceError, type SourceRefusal } from './ports.ts';
import type { Outcome } from './reconciler.ts';

/** `retry`: nobody has to do anything. */
type Row = { readonly outcome: 'retry' | 'wait' | 'stalled'; readonly reason: string };

const retry: Row = { outcome: 'retry', reason: 'ProgressingWithRetry' };
const stalled = (reason: string): Row => ({ outcome: 'stalled', reason });
const wait = (reason: string): Row => ({ outcome: 'wait', reason });

const caOutcomes: Readonly<Record<ErrorKind, Row>> = {
  not_found: retry,
  unknown_cursor: retry,
  invalid: stalled('InvalidSpec'),
  // The object that is named is ready and its row is not there: with a new database it is being made again.
  unknown_reference: { outcome: 'retry', reason: 'DependencyNotReady' },
  immutable: stalled('Immutable'),
  conflict: retry,
  managed_by_kubernetes: stalled('AlreadyExists'),
  already_exists: stalled('AlreadyExists'),
  in_use: wait('DeletionBlocked'),
  slug_taken: stalled('SlugConflict'),
  key_id_taken: stalled('KeyIdConflict'),
  token_used: stalled('TokenUsed'),
  key_reused: stalled('KeyReused'),
  key_invalidated: stalled('KeyInvalidated'),
  key_not_valid: stalled('KeyNotValid'),
  duplicate_certificate: stalled('DuplicateCertificate'),
  cannot_sign: stalled('CannotSign'),
  not_revocable: stalled('NotRevocable'),
  already_revoked: stalled('AlreadyRevoked'),
  expired: stalled('Expired'),
  order_not_open: retry,
  unavailable: retry,
};

const sourceOutcomes: Readonly<Record<SourceRefusal, Row>> = {
  conflict: retry,
  gone: retry,
  foreign: stalled('SecretConflict'),
  refused: stalled('Refused'),
  unavailable: retry,
};

/** Something went wrong that may go well next time. */
export type Retry = { readonly outcome: 'retry'; readonly reason: string; readonly message: string };

/** Undefined for what is no refusal: a bug. */
export function outcomeOf(error: unknown): Outcome | Retry | undefined {
  if (error instanceof SourceError) return { ...sourceOutcomes[error.refusal], message: error.message };
  const refusal = refusalOf(error);
  return refusal && { ...caOutcomes[refusal.kind], message: sentenceOf(refusal) };
}

/** Fields by their names in a spec. */
const sentenceOf = ({ kind, message, problems }: CaError): string =>
  kind === 'invalid' && problems.length > 0
    ? detailOf(problems.map((problem) => ({ ...problem, field: camelCase(problem.field) })))
    : message;
