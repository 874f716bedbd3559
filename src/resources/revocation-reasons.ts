// Revocation reasons: RFC 5280 numbers, the names of /v1, and who may give which.

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

function isRevocationReason(name: string): name is RevocationReason {
  return Object.hasOwn(revocationReasons, name);
}
