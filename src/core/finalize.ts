// Finalize: from a ready order and a CSR to a certificate. What is decided is reserved before anything is signed, so that
// a crash loses nothing, and whoever completes an order first has completed it.
import { hash } from 'node:crypto';
import type { OrderState } from '../lifecycles/order.ts';
import { findDirectory } from '../store/directories.ts';
import { type FinalizeRow, findOrderForFinalize } from '../store/finalize.ts';
import { findRevokedAmong } from '../store/issuers.ts';
import { type ReservedOrder, reserveOrder } from '../store/reserved-orders.ts';
import { findKeyUse } from '../store/used-keys.ts';
import type { TbsCertificate } from '../x509/certificate.ts';
import { lintLeaf } from '../x509/lint.ts';
import { AcmeError } from './acme-error.ts';
import { type AcmeOrder, acmeOrder } from './acme-orders.ts';
import { type Applicant, type Found, own } from './applicant.ts';
import type { Ca } from './ca.ts';
import { badCsr, type CheckedCsr, checkCsr } from './csr-checks.ts';
import { CaError } from './errors.ts';
import { recheckCaa } from './finalize-caa.ts';
import { approve, decideLeaf, type Facts } from './finalize-decision.ts';
import { formatId, newUuid } from './ids.ts';
import { issueReserved, openSigner } from './issue.ts';
import { readIssuer } from './issuers.ts';
import { buildLeaf } from './leaf-certificate.ts';
import { orderState } from './order-state.ts';
import { withinMs } from './patience.ts';
import type { Signer } from './ports.ts';

/** When a worker takes up what was reserved here and is not done. */
const DUE_MS = 30_000;
/** After this a client is told to come back. */
const PATIENCE_MS = 10_000;

const notReady: Readonly<Record<Exclude<OrderState, 'ready'>, string>> = {
  pending: 'The order is pending: its authorizations have to be valid first.',
  processing: 'The order is being finalized with another CSR already.',
  valid: 'The order has been finalized with another CSR already; order anew.',
  invalid: 'The order is invalid; order anew.',
};

type Asked = {
  /** Uuid of the order; undefined for an id that is none. */
  readonly id: string | undefined;
  /** DER. */
  readonly csr: Buffer;
  /** What was read ahead. */
  readonly found?: Found<FinalizeRow>;
  readonly signal: AbortSignal;
  readonly patienceMs?: number;
};

/**
 * Issues the certificate of an order of the account. Gives the order, `valid`, or `processing`
 * where signing takes long or failed after it was reserved: a worker goes on with it. The same CSR again changes nothing
 * (FIN-1). Throws the AcmeError of what refuses it, after which the order is as it was, and CaError `unavailable`.
 */
export async function finalizeOrder(ca: Ca, applicant: Applicant, asked: Asked): Promise<AcmeOrder> {
  const { patienceMs = PATIENCE_MS } = asked;
  const begun = ca.clock.now();
  try {
    const outcome = await reserve(ca, applicant, asked);
    return 'order' in outcome ? outcome.order : await completed(ca, applicant, outcome, { begun, patienceMs });
  } catch (error) {
    if (error instanceof AcmeError) ca.events.issuanceRefused({ reason: error.type, ...factsOf(applicant, asked.id) });
    throw error;
  }
}

type Reserved = {
  readonly seen: FinalizeRow;
  readonly reserved: ReservedOrder;
  /** What the reserved bytes say. */
  readonly leaf: TbsCertificate;
  readonly signer: Signer;
};

/** Decides, and decides anew, once, where something has changed before it could be reserved. */
async function reserve(
  ca: Ca,
  applicant: Applicant,
  { id, csr: der, found, signal }: Asked,
): Promise<Reserved | { readonly order: AcmeOrder }> {
  const sha256 = hash('sha256', der, 'buffer');
  let csr: CheckedCsr | undefined;
  for (let attempt = 1; attempt <= 2; attempt++) {
    const now = ca.clock.signingTime();
    const row = await requireOrder(ca, applicant, id, attempt === 1 ? found : undefined);
    const state = orderState(row, now);
    if (state !== 'ready') return { order: repeated(row, state, sha256, now) };
    csr ??= await checkCsr(der);
    const facts = { row, csr, now, applicant: await inVersionOf(ca, applicant, row) };
    const reserved = await tryToReserve(ca, facts, sha256, signal);
    if (reserved !== undefined) return reserved;
    await requireFreeKey(ca, csr);
  }
  throw new CaError('conflict', 'The account, its directory or its CA is being changed; try again.');
}

async function tryToReserve(
  ca: Ca,
  facts: Facts,
  csrSha256: Buffer,
  signal: AbortSignal,
): Promise<Reserved | undefined> {
  const { row, csr, now, applicant } = facts;
  const { db } = ca.database;
  const issuer = await readIssuer(db, row.issuer_id);
  const { constraints, intermediatesAbove: above } = issuer;
  const revokedAbove = await findRevokedAmong(db, above);
  const approved = approve(facts, { constraints, revokedAbove });
  await recheckCaa(ca, applicant, row, approved.identifiers, { now, signal });
  // FIN-12: before anything is reserved.
  const signer = await openSigner(ca, issuer, row.issuer_key_ref);
  const fields = decideLeaf(ca.urls, issuer, facts, approved);
  const tbs = buildLeaf(fields);
  const linted = lintLeaf(tbs, fields);
  if ('broken' in linted) {
    ca.events.lintFailed({ rule: linted.broken, profile: row.profile, ...factsOf(applicant, row.id) });
    throw new AcmeError('serverInternal', 'The certificate would not have been well-formed, so it was not signed.');
  }
  const reserved = await reserveOrder(db, {
    order: row,
    seen: { directoryVersion: applicant.directory.version, now, dueAt: new Date(now.getTime() + DUE_MS) },
    reservation: {
      serial: fields.serial,
      tbs,
      issued_cert_id: newUuid(now),
      signing_cert_id: issuer.id,
      csr_sha256: csrSha256,
      key_thumbprint: csr.thumbprint,
    },
  });
  return reserved && { seen: row, reserved, leaf: linted.tbs, signer };
}

/** The signature goes on after the patience of a client, and completes the order all the same. */
async function completed(
  ca: Ca,
  applicant: Applicant,
  { seen, reserved, leaf, signer }: Reserved,
  { begun, patienceMs }: { readonly begun: Date; readonly patienceMs: number },
): Promise<AcmeOrder> {
  const { requestId } = applicant;
  const issued = issueReserved(ca, reserved, leaf, signer, { requestId, begun });
  const outcome = (await withinMs(patienceMs, issued)) ?? 'delayed';
  const now = ca.clock.now();
  switch (outcome) {
    case 'completed':
      return viewOf({ ...seen, state: 'valid', issued_cert_id: reserved.issued_cert_id }, now);
    case 'delayed':
      return viewOf({ ...seen, state: 'processing' }, now);
    case 'settled':
      return settled(await requireOrder(ca, applicant, reserved.id), now);
    default:
      return outcome satisfies never;
  }
}

/** FIN-10: never ready. */
function settled(row: FinalizeRow, now: Date): AcmeOrder {
  if (row.state !== 'ready') return viewOf(row, now);
  throw new CaError('unavailable', 'The key of the issuing CA went away while the order was in work. Try again.');
}

/** An order by its uuid with all that decides over it; undefined for one of another account. */
export const readOrderToFinalize = async (ca: Ca, accountId: string, id: string | undefined): Found<FinalizeRow> =>
  id === undefined ? undefined : findOrderForFinalize(ca.database.db, { id, accountId });

/** Throws `malformed` (404) for what is not the account's. */
const requireOrder = (
  ca: Ca,
  applicant: Applicant,
  id: string | undefined,
  found = readOrderToFinalize(ca, applicant.account.id, id),
): Promise<FinalizeRow> => own('order', applicant, found);

/** FIN-1. */
function repeated(row: FinalizeRow, state: keyof typeof notReady, sha256: Buffer, now: Date): AcmeOrder {
  const isUnderWay = state === 'processing' || state === 'valid';
  if (isUnderWay && row.csr_sha256?.equals(sha256) === true) return viewOf(row, now);
  throw new AcmeError('orderNotReady', notReady[state]);
}

/** The directory may have changed since the request began. */
async function inVersionOf(ca: Ca, applicant: Applicant, { directory_version }: FinalizeRow): Promise<Applicant> {
  const { directory } = applicant;
  if (directory.version === directory_version) return applicant;
  const changed = await findDirectory(ca.database.db, directory.id);
  if (changed === undefined)
    throw new AcmeError('malformed', `The directory ${directory.requestSlug} has been deleted.`, { status: 404 });
  return { ...applicant, directory: { ...directory, ...changed } };
}

/** FIN-7. */
async function requireFreeKey(ca: Ca, { thumbprint }: CheckedCsr): Promise<void> {
  const use = await findKeyUse(ca.database.db, thumbprint);
  if (use?.why === 'compromised')
    throw badCsr('The key of the CSR is blocked, because its private key is known to others; make a new key.');
  if (use !== undefined)
    throw badCsr('The key of the CSR is, or once was, that of an account; make a key for the certificate alone.');
}

const viewOf = (row: FinalizeRow, now: Date): AcmeOrder =>
  acmeOrder({ ...row, authorization_ids: row.authorizations.map(({ id }) => id) }, now);

const factsOf = ({ account, directory, requestId }: Applicant, id: string | undefined) => ({
  ...(id !== undefined && { order: formatId('ordr', id) }),
  account: formatId('acmk', account.id),
  directory: directory.slug,
  requestId,
});
