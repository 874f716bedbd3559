// Revocation reasons: RFC 5280 numbers, the names of /v1, and who may give which.
import type { Checked, FieldProblem } from '../schema/validator.ts';

/** Operators may give all of these; numbers 6, 7 and 8 are never used here. */
export const revocationReasons = {
  unspecified: { number: 0, fromClients: true },
  key_compromise: { number: 1, fromClients: true },
  ca_compromise: { number: 2, fromClients: false },
  affiliation_changed: { number: 3, fromClients: true },
  superseded: { number: 4, fromClients: true },
  cessation_of_operation: { number: 5, fromClients: true },
  privilege_withdrawn: { number: 9, fromClients: false },
  aa_compromise: { number: 10, fromClients: false },
} as const satisfies Record<string, { number: number; fromClients: boolean }>;

export type RevocationReason = keyof typeof revocationReasons;

const byName: Readonly<Record<string, { readonly number: number; readonly fromClients: boolean }>> = revocationReasons;
export const revocationReasonNames = Object.keys(byName).filter(isRevocationReason);
export const revocationReasonNumbers = revocationReasonNames.map((name) => revocationReasons[name].number);

export const reasonNumbered = (number: number): RevocationReason | undefined =>
  revocationReasonNames.find((name) => revocationReasons[name].number === number);

/** REV-5: the reasons an ACME client may give. */
export const clientReasonNumbers: readonly number[] = revocationReasonNames
  .filter((name) => revocationReasons[name].fromClients)
  .map((name) => revocationReasons[name].number);

/** A revocation gives its reason by number or by name, not by both; by neither it is unspecified. */
export function chosenReason(
  wrapper: string,
  given: { readonly reason?: number | undefined; readonly revoke_reason?: RevocationReason | undefined },
): Checked<RevocationReason> {
  const problems = bothReasons(wrapper, given);
  if (problems.length > 0) return { ok: false, problems };
  const reason = given.revoke_reason ?? reasonNumbered(given.reason ?? 0);
  if (reason !== undefined) return { ok: true, value: reason };
  const message = `expected one of ${revocationReasonNumbers.join(', ')}, got ${given.reason}`;
  return { ok: false, problems: [{ field: `${wrapper}.reason`, code: 'not_allowed', message }] };
}

/** The problem of giving both forms, where that is so. */
export function bothReasons(
  wrapper: string,
  { reason, revoke_reason: name }: { readonly reason?: unknown; readonly revoke_reason?: unknown },
): readonly FieldProblem[] {
  if (reason === undefined || name === undefined) return [];
  const message = 'give reason or revoke_reason, not both';
  return [{ field: `${wrapper}.revoke_reason`, code: 'not_applicable', message }];
}

function isRevocationReason(name: string): name is RevocationReason {
  return Object.hasOwn(revocationReasons, name);
}
