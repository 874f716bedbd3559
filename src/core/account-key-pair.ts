// Private keys of accounts that are made here: they go to their owner, and are kept nowhere else.
import type { LeafKeyType } from '../x509/algorithms.ts';
import { toPem } from '../x509/pem.ts';
import { generatePrivateKey, pkcs8Of, readPrivateKey } from '../x509/private-key.ts';
import { X509Error } from '../x509/x509-error.ts';
import { invalid } from './field-problems.ts';

/** A new private key as PKCS#8 in PEM. */
export const newAccountPrivateKey = async (keyType: LeafKeyType): Promise<string> =>
  toPem('PRIVATE KEY', pkcs8Of(await generatePrivateKey(keyType)));

/** The public half of a private key, in PEM. Throws `invalid` for what is none. */
export async function publicHalfOf(privateKey: string): Promise<string> {
  try {
    return toPem('PUBLIC KEY', (await readPrivateKey(privateKey)).spki);
  } catch (error) {
    if (!(error instanceof X509Error)) throw error;
    throw invalid([{ field: 'tls.key', code: error.code, message: error.message }]);
  }
}
