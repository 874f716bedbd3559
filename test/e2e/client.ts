// What an ACME client is to the scenarios: how it is had, what it can do, and the verbs by which it is driven.
import type { Applicant } from './applicant.ts';
import type { Eab } from './server.ts';

export type ChallengeType = 'http-01' | 'dns-01' | 'tls-alpn-01';
export type LeafKey = 'ec_256' | 'rsa_2048';
export type RevokedBy = 'account' | 'certificate_key';

export type Wanted = {
  readonly names: readonly string[];
  readonly keyType: LeafKey;
  /** `none`: the account is auto-approved, and nothing answers a challenge. */
  readonly challenge: ChallengeType | 'none';
  /** Days from now to the end that the client asks for. */
  readonly days?: number;
};

export type Issued = {
  /** Leaf first, then its issuers. */
  readonly chainFile: string;
  readonly keyFile: string;
};

/** One account of one client. A verb that the client lacks is absent, and its scenarios are not run. */
export type Session = {
  /** Makes the account, by the EAB pair of the context; absent where a client only does so with its first order. */
  readonly register?: () => Promise<unknown>;
  /** Makes its key known to the operator instead, for want of EAB. */
  readonly registerKey?: () => Promise<unknown>;
  issue(wanted: Wanted): Promise<Issued>;
  /** The same names again, as the client renews. */
  readonly renew?: (wanted: Wanted) => Promise<Issued>;
  readonly revoke?: Readonly<Partial<Record<RevokedBy, (wanted: Wanted, issued: Issued) => Promise<unknown>>>>;
  readonly changeKey?: () => Promise<unknown>;
  /** Does what the recipe of docs/acme.md says, from the registration on. */
  readonly followRecipe?: () => Promise<Issued>;
};

export type Context = {
  readonly directoryUrl: string;
  /** Anchor of the server's HTTPS. */
  readonly caFile: string;
  readonly eab: Eab;
  readonly applicant: Applicant;
  /** Has the operator make an account of a public key; absent where the server has no such thing. */
  readonly registerKey?: (publicKey: string) => Promise<void>;
  /** A folder of this account alone. */
  readonly folder: string;
};

export type Tool = {
  readonly version: string;
  open(context: Context): Promise<Session>;
};

export type Client = {
  readonly name: string;
  /** Where it comes from, for the reader of the report. */
  readonly source: string;
  readonly challenges: readonly ChallengeType[];
  readonly hasRsaKeys: boolean;
  readonly hasSeveralNames: boolean;
  readonly hasWildcards: boolean;
  readonly hasIpAddresses: boolean;
  readonly asksForDays: boolean;
  /** Throws when it cannot be had here. */
  fetch(): Promise<Tool>;
};
