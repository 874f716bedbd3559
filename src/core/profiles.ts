// What certificates hold besides names and keys, as data: one row per kind of certificate.
import type { KeyUsage } from '../x509/extensions.ts';

export type CaProfile = {
  /** Unless days are asked for. */
  readonly validForYears: number;
  /** Undefined: no limit. */
  readonly pathLength: number | undefined;
  /** No extended key usage stands beside these: it would bind the OCSP responder below, too. */
  readonly keyUsage: readonly KeyUsage[];
};

export const caProfiles = {
  root: { validForYears: 20, pathLength: undefined, keyUsage: ['keyCertSign', 'cRLSign'] },
  intermediate: { validForYears: 10, pathLength: 0, keyUsage: ['keyCertSign', 'cRLSign'] },
} as const satisfies Record<'root' | 'intermediate', CaProfile>;
