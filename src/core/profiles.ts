// What certificates hold besides names and keys, as data: one row per kind of certificate.
import type { ProfileName } from '../resources/fields.ts';
import type { ExtendedKeyUsage, KeyUsage } from '../x509/extensions.ts';

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

/** Of leaves. What else they hold is the same for all: leaf-certificate.ts. */
export type LeafProfile = { readonly extendedKeyUsage: readonly ExtendedKeyUsage[] };

export const leafProfiles: Readonly<Record<ProfileName, LeafProfile>> = {
  server: { extendedKeyUsage: ['serverAuth'] },
  client: { extendedKeyUsage: ['clientAuth'] },
  mtls: { extendedKeyUsage: ['serverAuth', 'clientAuth'] },
};
