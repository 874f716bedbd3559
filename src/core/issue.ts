// The one place where leaf certificates are signed (SEC-8): for an order in `processing`, with the serial reserved for it,
// by the CA cert that was decided on. Nothing that is signed leaves here before it is stored.
import { completeOrder, type NewCertificate } from '../store/complete-order.ts';
import {
  failReservedOrder,
  findReservedOrder,
  hurryReservedOrder,
  type ReservedOrder,
  releaseReservedOrder,
} from '../store/reserved-orders.ts';
import type { StoredProblem } from '../store/tables.ts';
import { keyAlgorithms } from '../x509/algorithms.ts';
import { assembleCertificate, parseTbsCertificate, type TbsCertificate } from '../x509/certificate.ts';
import { isEndEntity } from '../x509/lint.ts';
import { verifySignature } from '../x509/signer.ts';
import { keyTypeOf } from '../x509/spki.ts';
import { clientActor } from './accounts.ts';
import { type Change, recordOf } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { CaError, KeysUnavailable } from './errors.ts';
import { formatId } from './ids.ts';
import { type Issuer, readIssuer } from './issuers.ts';
import type { Signer } from './ports.ts';

type Occasion = {
  /** Of the client; undefined for a worker. */
  readonly requestId?: string;
  /** When the work began. */
  readonly begun: Date;
};

/** Throws `unavailable` where the key cannot be used now, or is not that of the CA cert. */
export async function openSigner(ca: Ca, issuer: Issuer, keyRef: string | null): Promise<Signer> {
  if (keyRef === null) throw new KeysUnavailable('The key of the issuing CA is not here.');
  const signer = await ca.keys.signer(keyRef);
  if (signer.spki.equals(issuer.spki)) return signer;
  throw new KeysUnavailable('The key that is stored for the issuing CA is that of another certificate.');
}

/** `settled`: the order has come to something else. `delayed`: a worker goes on. */
type Outcome = 'completed' | 'settled' | 'delayed';

/**
 * Signs and completes; `leaf` is what the reserved bytes say. Never throws: what fails now is taken up by a worker, at
 * once where that can be said.
 */
export async function issueReserved(
  ca: Ca,
  order: ReservedOrder,
  leaf: TbsCertificate,
  signer: Signer,
  occasion: Occasion,
): Promise<Outcome> {
  try {
    return (await issueLeaf(ca, order, leaf, signer, occasion)) ? 'completed' : 'settled';
  } catch (error) {
    ca.events.issuanceDelayed({ order: formatId('ordr', order.id), error });
    await hurry(ca, order);
    return 'delayed';
  }
}

/**
 * As a worker does it for an order that is stuck: signs the same bytes and completes. An order that nobody can complete
 * any more ends as invalid; one whose key is gone for good, and for which nothing was signed, is ready again (FIN-12).
 * Throws where it has to be tried again.
 */
export async function issueStuckOrder(ca: Ca, orderId: string): Promise<void> {
  const order = await findReservedOrder(ca.database.db, orderId);
  if (order === undefined) return;
  const hopeless = hopelessness(order);
  if (hopeless !== undefined) {
    await fail(ca, order, hopeless);
    return;
  }
  const leaf = parseTbsCertificate(order.tbs);
  // Before the key store is asked, which may never answer again.
  if (leaf.notAfter <= ca.clock.signingTime()) {
    await fail(ca, order, expired);
    return;
  }
  const { issuer_key_ref: keyRef } = order;
  if (keyRef === null || (await isGone(ca, keyRef))) {
    if (await releaseReservedOrder(ca.database.db, order))
      ca.events.orderReleased({ order: formatId('ordr', order.id) });
    return;
  }
  const begun = ca.clock.now();
  const issuer = await readIssuer(ca.database.db, order.signing_cert_id);
  await issueLeaf(ca, order, leaf, await openSigner(ca, issuer, keyRef), { begun });
}

async function issueLeaf(
  ca: Ca,
  order: ReservedOrder,
  leaf: TbsCertificate,
  signer: Signer,
  occasion: Occasion,
): Promise<boolean> {
  const { db } = ca.database;
  const issuer = await readIssuer(db, order.signing_cert_id);
  requireReserved(order, leaf, issuer);
  const der = await signed(signer, issuer, order.tbs);
  if (await complete(ca, order, leaf, der, occasion)) return true;
  // Somebody else has completed it, or it is to be completed no more.
  const state = await findReservedOrder(db, order.id);
  if (state === undefined || !state.serial.equals(order.serial)) return false;
  const hopeless = hopelessness(state);
  if (hopeless === undefined) throw new CaError('conflict', 'The order could not be completed just now.');
  return fail(ca, order, hopeless);
}

/** What is signed is what was reserved, and that is a leaf: a row that says otherwise is damaged, or somebody's work. */
function requireReserved(order: ReservedOrder, leaf: TbsCertificate, issuer: Issuer): void {
  if (leaf.serial.equals(order.serial) && leaf.issuer.der.equals(issuer.subject) && isEndEntity(leaf)) return;
  throw new Error(`The bytes reserved for order ${order.id} are not of a leaf with its serial number and CA cert.`);
}

async function signed(signer: Signer, issuer: Issuer, tbs: Buffer): Promise<Buffer> {
  const signature = await signer.sign(tbs);
  const { algorithm } = keyAlgorithms[issuer.keyType].signature;
  if (!(await verifySignature(issuer.publicKey, algorithm, tbs, signature)))
    throw new Error('The signature is not by the key of the stored CA certificate.');
  return assembleCertificate(tbs, issuer.keyType, signature);
}

async function complete(
  ca: Ca,
  order: ReservedOrder,
  leaf: TbsCertificate,
  der: Buffer,
  { requestId, begun }: Occasion,
): Promise<boolean> {
  const subjects = (leaf.extensions.subjectAltNames ?? []).map(({ value }) => value);
  const certificate = {
    id: order.issued_cert_id,
    order_id: order.id,
    serial: order.serial,
    signing_cert_id: order.signing_cert_id,
    der,
    not_before: leaf.notBefore,
    not_after: leaf.notAfter,
    subjects,
  };
  const actor = clientActor({ id: order.acme_key_id }, requestId);
  const record = recordOf(actor, ca.clock.now(), issueOf(order, certificate));
  if (!(await completeOrder(ca.database.db, { cert: certificate, record }))) return false;
  ca.events.certificateIssued({
    id: formatId('icrt', order.issued_cert_id),
    order: formatId('ordr', order.id),
    account: actor.name,
    serial: order.serial.toString('hex'),
    names: subjects.length,
    profile: order.profile,
    keyType: keyTypeOf(leaf.spki) ?? 'unknown',
    notAfter: leaf.notAfter,
    durationMs: ca.clock.now().getTime() - begun.getTime(),
    ...(requestId && { requestId }),
  });
  return true;
}

/** For the audit, named as /v1 names the fields. */
const issueOf = (order: ReservedOrder, { serial, subjects, not_after }: NewCertificate): Change => ({
  action: 'issue',
  kind: 'issued_cert',
  id: order.issued_cert_id,
  after: {
    order_id: formatId('ordr', order.id),
    signing_cert_id: formatId('scrt', order.signing_cert_id),
    serial: serial.toString('hex'),
    subjects,
    profile: order.profile,
    expires_at: not_after,
    // AUTO-5: nothing was validated, and nothing says so.
    ...(order.is_auto && { approval: 'auto-approved by account policy' }),
  },
});

const expired: StoredProblem = {
  type: 'serverInternal',
  detail: 'The certificate could not be signed before it would have ended; order anew.',
};

/** Why an order can never be completed (SEC-39). */
function hopelessness(state: {
  readonly is_wanted: boolean;
  readonly key_is_used: boolean;
}): StoredProblem | undefined {
  if (!state.is_wanted)
    return {
      type: 'serverInternal',
      detail: 'The directory or its CA went away while the order was in work; order anew.',
    };
  return state.key_is_used
    ? { type: 'badCSR', detail: 'The key of the CSR became that of an account or was blocked; use another one.' }
    : undefined;
}

async function fail(ca: Ca, order: ReservedOrder, problem: StoredProblem): Promise<false> {
  if (await failReservedOrder(ca.database.db, order, problem))
    ca.events.issuanceFailed({ order: formatId('ordr', order.id), reason: problem.type, detail: problem.detail });
  return false;
}

/** The key store answers, and does not have it. */
const isGone = async (ca: Ca, keyRef: string): Promise<boolean> => (await ca.keys.read(keyRef)) === undefined;

async function hurry(ca: Ca, order: ReservedOrder): Promise<void> {
  try {
    await hurryReservedOrder(ca.database.db, order, ca.clock.now());
  } catch (error) {
    // It is due in half a minute all the same.
    ca.events.issuanceDelayed({ order: formatId('ordr', order.id), error });
  }
}
