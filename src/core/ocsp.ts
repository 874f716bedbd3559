// OCSP (RFC 6960): what is said of certificates of a CA, read from the database for every answer; only signatures are kept.
import { createHash } from 'node:crypto';
import type { Db } from '../store/database.ts';
import { findOcspStatus, type OcspStatusRow } from '../store/ocsp.ts';
import { crlReasons } from '../x509/crl.ts';
import { type OcspCertId, type OcspHash, type OcspRequest, parseOcspRequest } from '../x509/ocsp-request.ts';
import {
  assembleOcspResponse,
  buildTbsOcspResponse,
  keyHashOf,
  type OcspError,
  type OcspStatement,
  type OcspStatus,
  ocspErrorResponse,
} from '../x509/ocsp-response.ts';
import { X509Error } from '../x509/x509-error.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { readIssuer } from './issuers.ts';
import { makeOcspSigner, type OcspSigner, openOcspSigner } from './ocsp-signers.ts';
import { Recent } from './recent.ts';
import { refusalOf } from './refusals.ts';

export type OcspAnswer = {
  readonly der: Buffer;
  /** Undefined where nobody may keep the answer. */
  readonly kept: { readonly tag: string; readonly thisUpdate: Date; readonly nextUpdate: Date } | undefined;
};

type Signed = { readonly der: Buffer; readonly tag: string; readonly thisUpdate: Date; readonly nextUpdate: Date };

const HOLDS_MS = 8 * 3_600_000;
const SECOND_MS = 1_000;
/** About a kilobyte each. */
const MOST_SIGNATURES = 20_000;
const MOST_ISSUERS = 1_000;

const signatures = new Recent<Promise<Signed>>(MOST_SIGNATURES);
const hashes = new Recent<Buffer>(2 * MOST_ISSUERS);
const makings = new Map<string, Promise<OcspSigner | undefined>>();

const errorStatuses = {
  malformedRequest: 'malformed_request',
  internalError: 'internal_error',
  tryLater: 'try_later',
  unauthorized: 'unauthorized',
} as const satisfies Record<OcspError, string>;

/** The answer to bytes that should be a request; by the uuid of the CA cert that is asked. Never throws. */
export async function answerOcsp(ca: Ca, signingCertId: string | undefined, bytes: Buffer): Promise<OcspAnswer> {
  const request = readRequest(bytes);
  if (request === undefined) return refuse(ca, 'malformedRequest');
  if (signingCertId === undefined) return refuse(ca, 'unauthorized');
  try {
    return (await answer(ca, signingCertId, request)) ?? refuse(ca, 'unauthorized');
  } catch (error) {
    return refuse(ca, errorFor(ca, signingCertId, error));
  }
}

function readRequest(bytes: Buffer): OcspRequest | undefined {
  try {
    return parseOcspRequest(bytes);
  } catch (error) {
    if (error instanceof X509Error) return undefined;
    throw error;
  }
}

/** Undefined where this is not for us to say: the certificates are of another CA, or the key of this one is not here. */
async function answer(ca: Ca, signingCertId: string, request: OcspRequest): Promise<OcspAnswer | undefined> {
  const { certIds, nonce } = request;
  const { db } = ca.database;
  const rows = await Promise.all(certIds.map(({ serial }) => findOcspStatus(db, { signingCertId, serial })));
  const [first] = rows;
  if (first?.has_key !== true || !(await areOf(db, signingCertId, certIds))) return undefined;
  const signer = await signerFor(ca, signingCertId, first.signer_id);
  if (signer === undefined) return undefined;
  const statements = certIds.map((certId, place) => ({ certId: certId.der, status: statusOf(rows[place]) }));
  for (const { status } of statements) ca.events.ocspAnswered({ status: status.status });
  if (nonce !== undefined) return { der: (await signed(ca, signer, statements, nonce)).der, kept: undefined };
  const { der, ...kept } = await keptOrSigned(ca, signer, statements);
  return { der, kept };
}

async function areOf(db: Db, signingCertId: string, certIds: readonly OcspCertId[]): Promise<boolean> {
  for (const { hash, issuerNameHash, issuerKeyHash } of certIds) {
    if (hash === undefined) return false;
    const own = await hashesOf(db, signingCertId, hash);
    if (issuerNameHash.compare(own, 0, issuerNameHash.length) !== 0) return false;
    if (issuerKeyHash.compare(own, issuerNameHash.length) !== 0) return false;
  }
  return true;
}

/** Of its name, then of its key. */
async function hashesOf(db: Db, signingCertId: string, hash: OcspHash): Promise<Buffer> {
  const key = `${hash} ${signingCertId}`;
  const known = hashes.get(key);
  if (known !== undefined) return known;
  const { subject, spki } = await readIssuer(db, signingCertId);
  const both = Buffer.concat([createHash(hash).update(subject).digest(), keyHashOf(spki, hash)]);
  hashes.set(key, both);
  return both;
}

/** Makes one where there is none yet, or where no worker has done so in time. */
async function signerFor(ca: Ca, signingCertId: string, id: string | null): Promise<OcspSigner | undefined> {
  const signer = id === null ? undefined : await openOcspSigner(ca, id);
  if (signer !== undefined && signer.notAfter > ca.clock.now()) return signer;
  const making =
    makings.get(signingCertId) ?? makeOcspSigner(ca, signingCertId).finally(() => makings.delete(signingCertId));
  makings.set(signingCertId, making);
  return making;
}

function statusOf(row: OcspStatusRow | undefined): OcspStatus {
  if (row?.is_issued !== true) return { status: 'unknown' };
  if (row.revoked_at === null) return { status: 'good' };
  return { status: 'revoked', revokedAt: row.revoked_at, reason: crlReasons[row.reason ?? 0] ?? 'unspecified' };
}

/** An answer about one certificate that was issued is kept until half of its time is over. */
async function keptOrSigned(ca: Ca, signer: OcspSigner, statements: readonly OcspStatement[]): Promise<Signed> {
  const [one, ...others] = statements;
  // Serial numbers that nobody has issued are without end: they would drive the others out.
  if (one === undefined || others.length > 0 || one.status.status === 'unknown') return signed(ca, signer, statements);
  const key = keyOf(signer, one);
  const known = await signatures.get(key);
  if (known !== undefined && isFresh(known, ca.clock.now())) return known;
  const signing = signed(ca, signer, statements);
  signatures.set(key, signing);
  // What failed is not kept.
  signing.catch(() => signatures.delete(key));
  return signing;
}

/** The signer stands for the CA. */
function keyOf({ id }: OcspSigner, { certId, status }: OcspStatement): string {
  const words = status.status === 'revoked' ? `${status.revokedAt.getTime()} ${status.reason}` : status.status;
  return `${id} ${words} ${certId.toString('latin1')}`;
}

/** A clock that was set back finds nothing that is fresh. */
const isFresh = ({ thisUpdate, nextUpdate }: Signed, now: Date): boolean =>
  thisUpdate <= now && now.getTime() < (thisUpdate.getTime() + nextUpdate.getTime()) / 2;

async function signed(
  ca: Ca,
  { signer, certificate, keyHash, keyType, notAfter }: OcspSigner,
  statements: readonly OcspStatement[],
  nonce?: Buffer,
): Promise<Signed> {
  const now = ca.clock.signingTime().getTime();
  const thisUpdate = new Date(now - (now % SECOND_MS));
  const nextUpdate = new Date(Math.min(thisUpdate.getTime() + HOLDS_MS, notAfter.getTime()));
  const tbs = buildTbsOcspResponse({ responderKeyHash: keyHash, statements, thisUpdate, nextUpdate, nonce });
  const der = assembleOcspResponse(tbs, keyType, await signer.sign(tbs), certificate);
  ca.events.ocspSigned();
  return { der, tag: createHash('sha256').update(der).digest('hex'), thisUpdate, nextUpdate };
}

function errorFor(ca: Ca, signingCertId: string, error: unknown): OcspError {
  if (refusalOf(error)?.kind !== 'unavailable') {
    ca.events.internalError({ where: 'ocsp', error });
    return 'internalError';
  }
  // Of the database its watch tells.
  if (error instanceof CaError) ca.events.ocspDelayed({ signingCert: formatId('scrt', signingCertId), error });
  return 'tryLater';
}

function refuse(ca: Ca, error: OcspError): OcspAnswer {
  ca.events.ocspAnswered({ status: errorStatuses[error] });
  return { der: ocspErrorResponse(error), kept: undefined };
}
