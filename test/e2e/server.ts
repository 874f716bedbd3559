// What an ACME server is to the scenarios.

export type Eab = { readonly kid: string; readonly hmac: string };

export type Validation = {
  readonly httpPort: number;
  readonly tlsPort: number;
  /** `address:port` of the only DNS server. */
  readonly resolver: string;
};

export type AcmeServer = AsyncDisposable & {
  readonly directoryUrl: string;
  /** Anchor of its HTTPS. */
  readonly caFile: string;
  /** Root of the certificates that it issues. */
  readonly rootFile: string;
  /** Days of a certificate that was asked for without dates. */
  readonly defaultDays: number;
  /** A pair that makes one account. */
  eab(): Promise<Eab>;
  /** A pair whose account needs no challenges; absent where the server has no such thing. */
  readonly autoEab?: () => Promise<Eab>;
  /** Makes an account of a public key in PEM; absent where the server has no such thing. */
  readonly registerKey?: (publicKey: string, orderValidations: 'challenge' | 'auto_approve') => Promise<void>;
  isRevoked(serial: string): Promise<boolean>;
};

export type ServerKind = {
  readonly name: string;
  start(folder: string, validation: Validation): Promise<AcmeServer>;
};
