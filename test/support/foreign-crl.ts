// CRLs of CAs elsewhere, as people bring them: each part can be as wrong as a test wants it.
import { assembleCrl, buildTbsCrl, crlEntry } from '../../src/x509/crl.ts';
import { toPem } from '../../src/x509/pem.ts';
import type { PrivateKey } from '../../src/x509/private-key.ts';
import { signerOf } from '../../src/x509/signer.ts';
import { keyIdentifierOf } from '../../src/x509/spki.ts';
import type { ForeignCa } from './foreign-ca.ts';

type CrlParts = {
  readonly number?: bigint;
  readonly thisUpdate?: Date;
  readonly nextUpdate?: Date;
  /** Serial numbers. */
  readonly revoked?: readonly Buffer[];
  readonly issuer?: Buffer;
  readonly keyIdentifier?: Buffer;
  readonly signedBy?: PrivateKey;
};

/** PEM, as `crl` takes it. */
export async function foreignCrl(ca: ForeignCa, parts: CrlParts = {}): Promise<string> {
  const { thisUpdate = new Date('2026-05-17T00:00:00Z') } = parts;
  const signer = signerOf(parts.signedBy ?? ca.key);
  const tbs = buildTbsCrl({
    issuer: parts.issuer ?? ca.subject,
    thisUpdate,
    nextUpdate: parts.nextUpdate ?? new Date('2026-06-17T00:00:00Z'),
    entries: (parts.revoked ?? []).map((serial) => crlEntry(serial, thisUpdate, 'cACompromise')),
    number: parts.number ?? 1n,
    issuerKeyIdentifier: parts.keyIdentifier ?? keyIdentifierOf(ca.key.spki),
    issuerKeyType: signer.keyType,
  });
  return toPem('X509 CRL', assembleCrl(tbs, signer.keyType, await signer.sign(tbs)));
}
