// CA certs as they sign leaves: what is derived from the certificate and the chain above it, neither of which ever changes.
import type { KeyObject } from 'node:crypto';
import type { Db } from '../store/database.ts';
import { type ChainRow, findChain } from '../store/signing-certs.ts';
import { isCaKeyType, type KeyType } from '../x509/algorithms.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { importPublicKey } from '../x509/spki.ts';
import { subjectKeyIdentifierOf } from './ca-certificate.ts';
import { constrainingCerts } from './chains.ts';
import type { ConstrainingCert } from './name-constraints.ts';
import { Recent } from './recent.ts';

export type Issuer = {
  readonly id: string;
  /** DER of its name. */
  readonly subject: Buffer;
  readonly spki: Buffer;
  readonly publicKey: KeyObject;
  readonly keyType: KeyType;
  /** What authority key identifiers of leaves have to be. */
  readonly keyIdentifier: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Ids of the intermediates above it, the nearest first: they can be revoked, roots cannot. */
  readonly intermediatesAbove: readonly string[];
  /** Of itself and all CA certs above it. */
  readonly constraints: readonly ConstrainingCert[];
};

const MOST = 1_000;
const known = new Recent<Issuer>(MOST);

/** By the uuid of a CA cert that has its certificate. One statement, the first time in the life of a process. */
export async function readIssuer(db: Db, id: string): Promise<Issuer> {
  const found = known.get(id);
  if (found !== undefined) return found;
  const issuer = derived(id, await findChain(db, id));
  known.set(id, issuer);
  return issuer;
}

function derived(id: string, chain: readonly ChainRow[]): Issuer {
  const der = chain[0]?.der;
  if (der === undefined || der === null) throw new Error(`CA cert ${id} signs leaves and has no certificate`);
  const certificate = parseCertificate(der);
  const { keyType, spki, subject, notBefore, notAfter } = certificate;
  if (keyType === undefined || !isCaKeyType(keyType)) throw new Error(`CA cert ${id} has a key that no CA may have`);
  return {
    id,
    subject: subject.der,
    spki,
    publicKey: importPublicKey(spki, 'the key of a CA cert'),
    keyType,
    keyIdentifier: subjectKeyIdentifierOf(certificate),
    notBefore,
    notAfter,
    intermediatesAbove: chain.slice(1).flatMap((row) => (row.cert_type === 'intermediate' ? [row.id] : [])),
    constraints: constrainingCerts(chain),
  };
}
