// What the core needs from outside: time, keys and DNS. Adapters implement these; the core never learns which.
import type { ChallengeType } from '../lifecycles/challenge.ts';
import type { Signer } from '../x509/signer.ts';

export type { Signer };

export type Clock = {
  now(): Date;
  /** The time that is written into what is signed. Throws CaError `unavailable` while it cannot be trusted. */
  signingTime(): Date;
};

/** Who a key was made for, so that a new database finds its old keys again. */
export type KeyOrigin = { readonly namespace: string; readonly name: string; readonly uid: string };

/** A stored private key as its owner sees it: never the key itself. */
export type StoredKey = {
  readonly ref: string;
  readonly spki: Buffer;
  /** DER of the certificate that was stored with the key, if any. */
  readonly certificate: Buffer | undefined;
  readonly origin: KeyOrigin | undefined;
};

export type KeyMaterial = {
  /** PKCS#8 DER of the private key. */
  readonly pkcs8: Buffer;
  readonly certificate?: Buffer;
  /** Those above the certificate, the nearest first, as far as they are known: for who takes the key elsewhere. */
  readonly chain?: readonly Buffer[];
  readonly origin?: KeyOrigin;
};

/** Encrypts small secrets under a symmetric key that stays in the key store. */
export type Sealer = {
  seal(plain: Buffer, associatedData: string): Buffer;
  /** Throws when the box was made under another key or for other associated data. */
  open(box: Buffer, associatedData: string): Buffer;
};

/**
 * Private keys by reference (a resource id, `serving-ca`, `wrap`). A reference is written once and never overwritten:
 * of several that create it at once exactly one wins, and all are given what the winner stored.
 */
export type KeyStore = {
  createOnce(ref: string, material: KeyMaterial): Promise<StoredKey>;
  find(origin: KeyOrigin): Promise<StoredKey | undefined>;
  read(ref: string): Promise<StoredKey | undefined>;
  /** What people find it by: a Secret, or a file. */
  nameOf(ref: string): string;
  /** Throws CaError `unavailable` when the key is not there or cannot be read now. */
  signer(ref: string): Promise<Signer>;
  /** The symmetric key `ref`. Throws CaError `unavailable` when it is not there or cannot be read now. */
  sealer(ref: string): Promise<Sealer>;
  /** The symmetric key `ref`, made where there is none. */
  createSealer(ref: string): Promise<Sealer>;
  remove(ref: string): Promise<void>;
  list(): Promise<readonly StoredKey[]>;
};

/** One CAA record: the flags byte as it came (128: critical), the tag in the spelling of the zone. */
export type CaaRecord = { readonly flags: number; readonly tag: string; readonly value: string };

/** One step of the climb: the records that stand at a name (none for NXDOMAIN and NODATA), or why nobody knows. */
export type CaaAnswer =
  | { readonly name: string; readonly records: readonly CaaRecord[] }
  | { readonly name: string; readonly failure: string };

/**
 * Looks up the CAA records that govern a DNS name, never an address: answers from the name upwards, up to the first that
 * has records or is a failure, else up to the top-level domain. Rejects only with the signal's reason.
 */
export type CaaResolver = (name: string, signal: AbortSignal) => Promise<readonly CaaAnswer[]>;

/** What is to be proved, and what the proof has to show. */
export type Probe = {
  readonly type: ChallengeType;
  readonly identifier: ProbedIdentifier;
  readonly token: string;
  readonly keyAuthorization: string;
  /** The kid of the response (DAC-1). */
  readonly accountUrl: string;
  /** Whose share of the probes that are made at once it takes. */
  readonly directoryId: string;
};
/** A DNS name in lower case without `*.`, or an address in its canonical text. */
export type ProbedIdentifier = { readonly type: 'dns' | 'ip'; readonly value: string };

export type ProbeOutcome =
  | { readonly outcome: 'valid' }
  /** The directory or the target has as many probes under way as it is given: none was made, so ask again soon. */
  | { readonly outcome: 'busy' }
  /** `detail` says what was expected, what came and from where; it never holds bytes of the target (ERR-8, SEC-4). */
  | { readonly outcome: 'failed'; readonly type: ProbeFailure; readonly detail: string };
/** The error types of RFC 8555 that a failed validation can have (CHA-12). */
export type ProbeFailure = 'connection' | 'dns' | 'tls' | 'incorrectResponse' | 'unauthorized';

/** Makes one attempt. Rejects only with the signal's reason. */
export type ChallengeProber = (probe: Probe, signal: AbortSignal) => Promise<ProbeOutcome>;
