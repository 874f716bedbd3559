// The certificate and key that a listener shows, exchangeable while it runs.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

export type TlsPair = {
  /** PEM: the certificate, then its chain. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  readonly notAfter: Date;
};

export type TlsSource = {
  current(): TlsPair;
  /** Calls the listener with each new pair; the result ends that. */
  onChange(listener: (pair: TlsPair) => void): () => void;
};

/** A pair that whoever makes or reads certificates replaces. */
export class TlsSlot implements TlsSource {
  #pair: TlsPair;
  readonly #listeners = new Set<(pair: TlsPair) => void>();

  constructor(pair: TlsPair) {
    this.#pair = pair;
  }

  current(): TlsPair {
    return this.#pair;
  }

  onChange(listener: (pair: TlsPair) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  replace(pair: TlsPair): void {
    this.#pair = pair;
    for (const listener of this.#listeners) listener(pair);
  }
}

/** Why a certificate and key cannot serve, in one sentence. */
export class TlsPairError extends Error {
  constructor(sentence: string, cause?: unknown) {
    super(sentence, { cause });
    this.name = 'TlsPairError';
  }
}

/** The pair, once it is certain that a listener can serve with it at `now`. Throws TlsPairError. */
export function checkedTlsPair(certificate: string, key: string, now: Date): TlsPair {
  const leaf = attempt(() => new X509Certificate(certificate), 'the certificate file holds no PEM certificate');
  if (/-----BEGIN (?:ENCRYPTED PRIVATE KEY|[A-Z ]+-----\s+Proc-Type: 4,ENCRYPTED)/.test(key))
    throw new TlsPairError('the key is encrypted with a passphrase; decrypt it, for nobody is there to type one');
  const privateKey = attempt(() => createPrivateKey(key), 'the key file holds no PEM private key');
  if (!leaf.checkPrivateKey(privateKey)) throw new TlsPairError('the key does not belong to the certificate');
  if (leaf.validToDate <= now) throw new TlsPairError(`the certificate ended at ${leaf.validToDate.toISOString()}`);
  if (leaf.validFromDate > now)
    throw new TlsPairError(
      `the certificate begins at ${leaf.validFromDate.toISOString()}; is this machine's clock right?`,
    );
  attempt(() => createSecureContext({ cert: certificate, key }), 'TLS does not accept the certificate and key');
  return { certificate, key, notAfter: leaf.validToDate };
}

function attempt<T>(action: () => T, sentence: string): T {
  try {
    return action();
  } catch (error) {
    throw new TlsPairError(sentence, error);
  }
}
