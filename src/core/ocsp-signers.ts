// What signs OCSP answers: for each CA whose key is here a key and certificate of its own, made when the CA needs it,
// followed by a successor at half its life, and removed after its end or with the key of the CA.
import { type Claim, claimDue, postponeDue } from '../store/due.ts';
import {
  completeOcspSigner,
  dropOcspSigner,
  findCertsWithoutOcspSigner,
  findNewestOcspSigner,
  findOcspSigner,
  findOcspSignerState,
  findPlannedOcspSigner,
  hurryUselessOcspSigners,
  type OcspSignerRow,
  ocspSigners,
  planOcspSigner,
} from '../store/ocsp-signers.ts';
import { isCaKeyType, type KeyType } from '../x509/algorithms.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { keyHashOf } from '../x509/ocsp-response.ts';
import type { Ca } from './ca.ts';
import { KeysUnavailable } from './errors.ts';
import { formatId, newUuid } from './ids.ts';
import { openSigner } from './issue.ts';
import { readIssuer } from './issuers.ts';
import { newOcspSigner } from './ocsp-signer-certificate.ts';
import type { Signer } from './ports.ts';
import { Recent } from './recent.ts';

export type OcspSigner = {
  readonly id: string;
  /** DER. */
  readonly certificate: Buffer;
  readonly notAfter: Date;
  readonly keyType: KeyType;
  /** How answers name it. */
  readonly keyHash: Buffer;
  readonly signer: Signer;
};

/** Of one sweep. */
const BATCH = 1_000;
const MOST = 1_000;
/** Keys in the key store may be replaced in a test or by a restore: they are known by the key store that opened them. */
const opened = new WeakMap<Ca['keys'], Recent<OcspSigner>>();

/** Takes signers that are due under a lease of this length. */
export const claimOcspSigners = (ca: Ca, limit: number, leaseMs: number): Promise<readonly Claim[]> => {
  const now = ca.clock.now();
  return claimDue(ca.database.db, ocspSigners, { now, leaseUntil: new Date(now.getTime() + leaseMs), limit });
};

/** Gives a signer back, due at another time. Whoever lost his lease changes nothing. */
export const postponeOcspSigner = (ca: Ca, claim: Claim, dueAt: Date): Promise<void> =>
  postponeDue(ca.database.db, ocspSigners, claim, dueAt);

/** Plans a signer for every CA that has none, and has those removed whose CA lost its key. */
export async function planOcspSigners(ca: Ca): Promise<void> {
  const { db } = ca.database;
  const now = ca.clock.now();
  await hurryUselessOcspSigners(db, now);
  for (const signingCertId of await findCertsWithoutOcspSigner(db, now, BATCH))
    await planOcspSigner(db, { id: newUuid(now), signingCertId, now });
}

/** Does what is due: makes a planned signer, plans the successor of a living one, removes one that has ended. */
export async function tendOcspSigner(ca: Ca, claim: Claim): Promise<void> {
  const { db } = ca.database;
  const row = await findOcspSignerState(db, claim.id);
  if (row === undefined) return;
  const now = ca.clock.now();
  const end = row.not_after ?? row.issuer_not_after;
  if (row.issuer_key_ref === null || end <= now) return removeSigner(ca, claim, row);
  if (row.der === null || row.not_after === null) return makePlanned(ca, row, row.issuer_key_ref);
  // One that ends with its CA needs nobody after it.
  const successor = { id: newUuid(now), signingCertId: row.signing_cert_id, now, after: row.not_after };
  if (row.not_after < row.issuer_not_after) await planOcspSigner(db, successor);
  await postponeDue(db, ocspSigners, claim, row.not_after);
}

/**
 * Makes a signer for a CA that has no living one. Any number may do this at once, a worker too: all take the row that was
 * there first, and the key store keeps the first key. Undefined where the CA has no use for one: its key is not here, or
 * it has ended. Throws `unavailable` where the key of the CA cannot be used now.
 */
export async function makeOcspSigner(ca: Ca, signingCertId: string): Promise<OcspSigner | undefined> {
  const { db } = ca.database;
  const now = ca.clock.now();
  await planOcspSigner(db, { id: newUuid(now), signingCertId, now });
  const planned = await findPlannedOcspSigner(db, signingCertId);
  const state = planned && (await findOcspSignerState(db, planned.id));
  if (state?.issuer_key_ref) await makePlanned(ca, state, state.issuer_key_ref);
  const newest = await findNewestOcspSigner(db, signingCertId);
  if (newest === undefined || newest.not_after === null || newest.not_after <= now) return undefined;
  return openRow(ca, newest);
}

/** A signer that is made. Throws `unavailable` where its key cannot be used now. */
export async function openOcspSigner(ca: Ca, id: string): Promise<OcspSigner> {
  const known = openedOf(ca).get(id);
  if (known !== undefined) return known;
  const row = await findOcspSigner(ca.database.db, id);
  if (row !== undefined) return openRow(ca, row);
  throw new KeysUnavailable('The key for OCSP answers has just been removed. Try again.');
}

/** Key and certificate first, then the row: a crash between leaves what the next one takes as it is. */
async function makePlanned(ca: Ca, { id, key_ref, signing_cert_id }: OcspSignerRow, issuerKeyRef: string) {
  const { db } = ca.database;
  const issuer = await readIssuer(db, signing_cert_id);
  const material = await newOcspSigner(issuer, await openSigner(ca, issuer, issuerKeyRef), ca.clock.signingTime());
  const stored = await ca.keys.createOnce(key_ref, material);
  const der = stored.certificate;
  if (der === undefined) throw new Error(`The key ${key_ref} for OCSP answers was stored without its certificate.`);
  const { notBefore, notAfter } = parseCertificate(der);
  const halfLife = new Date((notBefore.getTime() + notAfter.getTime()) / 2);
  if (await completeOcspSigner(db, { id, signing_cert_id }, { der, not_after: notAfter, due_at: halfLife }))
    ca.events.ocspSignerMade({ id, signingCert: formatId('scrt', signing_cert_id), notAfter });
}

async function removeSigner(ca: Ca, claim: Claim, { id, key_ref, signing_cert_id }: OcspSignerRow): Promise<void> {
  await ca.keys.remove(key_ref);
  if (await dropOcspSigner(ca.database.db, claim))
    ca.events.ocspSignerRemoved({ id, signingCert: formatId('scrt', signing_cert_id) });
}

async function openRow(ca: Ca, { id, key_ref, der }: OcspSignerRow): Promise<OcspSigner> {
  if (der === null) throw new Error(`The signer ${id} of OCSP answers is not made.`);
  const { spki, notAfter, keyType } = parseCertificate(der);
  const signer = await ca.keys.signer(key_ref);
  if (keyType === undefined || !isCaKeyType(keyType) || !signer.spki.equals(spki))
    throw new KeysUnavailable('The key that is stored for OCSP answers is that of another certificate.');
  const made = { id, certificate: der, notAfter, keyType, keyHash: keyHashOf(spki, 'sha1'), signer };
  openedOf(ca).set(id, made);
  return made;
}

function openedOf({ keys }: Ca): Recent<OcspSigner> {
  const known = opened.get(keys) ?? new Recent<OcspSigner>(MOST);
  opened.set(keys, known);
  return known;
}
