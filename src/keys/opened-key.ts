// A private key as key stores read it: with what was stored beside it, and only where both belong together.
import type { KeyOrigin, StoredKey } from '../core/ports.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { type PrivateKey, readPkcs8 } from '../x509/private-key.ts';
import { X509Error } from '../x509/x509-error.ts';

export type OpenedKey = { readonly stored: StoredKey; readonly key: PrivateKey };

type Material = {
  /** PKCS#8 DER. */
  readonly pkcs8: Buffer;
  readonly certificate?: Buffer | undefined;
  readonly origin?: KeyOrigin | undefined;
};

/** Throws X509Error for what is damaged. */
export async function openedKey(ref: string, { pkcs8, certificate, origin }: Material): Promise<OpenedKey> {
  const key = await readPkcs8(pkcs8);
  if (certificate !== undefined && !parseCertificate(certificate).spki.equals(key.spki))
    throw new X509Error('malformed', 'The certificate to be stored is not for the key to be stored.');
  return { stored: { ref, spki: key.spki, certificate, origin }, key };
}

/** The key that was made for this object, else the newest for one of its name; `keys` in the order of their references. */
export function keyOfOrigin(keys: readonly StoredKey[], origin: KeyOrigin): StoredKey | undefined {
  const matches = keys.filter((key) => key.origin?.namespace === origin.namespace && key.origin.name === origin.name);
  return matches.find((key) => key.origin?.uid === origin.uid) ?? matches.at(-1);
}
