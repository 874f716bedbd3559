// revokeCert (RFC 8555 section 7.6): revoking the certificate that a client shows, by one of three rights.
import {
  clientReasonNumbers,
  type RevocationReason,
  reasonNumbered,
  revocationReasons,
} from '../resources/revocation-reasons.ts';
import {
  findCertByBytes,
  holdsAuthorizations,
  lockIssuedCert,
  type ShownCertRow,
  upgradeRevocation,
} from '../store/acme-revocation.ts';
import type { Tx } from '../store/database.ts';
import { endOrdersOfKey } from '../store/open-work.ts';
import type { StoredProblem } from '../store/tables.ts';
import { blockKeys, lockKey } from '../store/used-keys.ts';
import { crlEntry } from '../x509/crl.ts';
import type { AccountKey } from './account-key.ts';
import { clientActor } from './accounts.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeAccount, AcmeDirectory } from './acme-requests.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { formatId } from './ids.ts';
import { publishCrls, publishRevocations, type Revoked, revokeIssuedCerts } from './revoke.ts';
import { authorizedNames, readShownCertificate, type ShownCertificate } from './shown-certificate.ts';

export type ClientRevocation = {
  readonly directory: AcmeDirectory;
  /** An account, or the key of the certificate. */
  readonly signer: { readonly account: AcmeAccount } | { readonly key: AccountKey };
  /** DER in base64url. */
  readonly certificate: string;
  readonly reason: number | undefined;
  readonly requestId: string;
};

/** What gives a client the right to revoke. */
type Right = 'issued to it' | 'authorized for its names' | 'holds its key';
type Granted = { readonly right: Right; readonly actor: Actor; readonly reason: RevocationReason };

const blocked = {
  type: 'badCSR',
  detail: 'The key of the CSR was blocked, because its private key is known to others; use another one.',
} as const satisfies StoredProblem;

const KEY_COMPROMISE = revocationReasons.key_compromise.number;

/**
 * Revokes a certificate of this directory for the account that it was issued to, for one that holds authorizations for
 * all its names, or for who holds its private key (REV-1). The latter's key_compromise also revokes all certificates of
 * the key, ends orders that are being signed for it, and becomes the reason of an earlier revocation (REV-3, REV-8).
 * Locks the certificates, before them the key and these orders. Throws AcmeError: `malformed`, `unauthorized`,
 * `badRevocationReason`, `alreadyRevoked`.
 */
export async function revokeForClient(ca: Ca, request: ClientRevocation): Promise<void> {
  const reason = readReason(request.reason);
  const certificate = readShownCertificate(request.certificate);
  const now = ca.clock.now();
  const cert = await findCertByBytes(ca.database.db, request.directory.id, certificate);
  if (cert === undefined) throw unknownCertificate();
  const right = await rightOf(ca, request, cert, certificate, now);
  if (right === undefined) throw noRight();
  if (cert.not_after <= now)
    throw new AcmeError('malformed', 'The certificate has expired; there is nothing to revoke.');
  const actor = actorOf(request, cert);
  const granted = { right, actor, reason };
  const { revoked, upgradedFrom, endedOrders } = await ca.database.inTransaction((tx) =>
    right === 'holds its key' && reason === 'key_compromise'
      ? revokeKey(tx, cert, granted, now)
      : revoke(tx, cert.id, granted, now),
  );
  for (const id of endedOrders)
    ca.events.issuanceFailed({ order: formatId('ordr', id), reason: blocked.type, detail: blocked.detail });
  await publishRevocations(ca, revoked);
  if (upgradedFrom !== undefined) {
    ca.events.revocationUpgraded({ id: formatId('icrt', cert.id), from: upgradedFrom });
    await publishCrls(ca, [cert.signing_cert_id]);
  }
  // Told only now: even when there was nothing to revoke, the key may have been blocked.
  if (revoked.ids.length === 0 && upgradedFrom === undefined)
    throw new AcmeError('alreadyRevoked', 'The certificate is revoked already.');
}

/** REV-5: absent is 0. */
function readReason(number = 0): RevocationReason {
  const reason = clientReasonNumbers.includes(number) ? reasonNumbered(number) : undefined;
  if (reason !== undefined) return reason;
  throw new AcmeError(
    'badRevocationReason',
    `The reason ${number} is not allowed here; allowed are ${clientReasonNumbers.join(', ')}.`,
  );
}

/** SEC-9: of exactly this certificate. */
async function rightOf(
  ca: Ca,
  { signer }: ClientRevocation,
  cert: ShownCertRow,
  certificate: ShownCertificate,
  now: Date,
): Promise<Right | undefined> {
  if ('key' in signer) return signer.key.thumbprint.equals(cert.key_thumbprint) ? 'holds its key' : undefined;
  const { id } = signer.account;
  if (id === cert.acme_key_id) return 'issued to it';
  const names = authorizedNames(certificate);
  return (await holdsAuthorizations(ca.database.db, id, names, now)) ? 'authorized for its names' : undefined;
}

type Done = {
  readonly revoked: Revoked;
  readonly upgradedFrom: RevocationReason | undefined;
  readonly endedOrders: readonly string[];
};

async function revoke(tx: Tx, id: string, { right, actor, reason }: Granted, now: Date): Promise<Done> {
  // Who shows no key may not keep others from using it.
  const blocksKeys = right !== 'authorized for its names';
  const revoked = await revokeIssuedCerts(tx, actor, { id }, reason, now, { blocksKeys });
  return { revoked, upgradedFrom: undefined, endedOrders: [] };
}

/**
 * Nothing that is being signed for the key slips through: an order is reserved before the key is locked, and then ended
 * or completed and its certificate revoked, or after the commit, and then it sees that the key is blocked.
 */
async function revokeKey(tx: Tx, seen: ShownCertRow, { actor, reason }: Granted, now: Date): Promise<Done> {
  const { id, key_thumbprint } = seen;
  await lockKey(tx, key_thumbprint);
  await blockKeys(tx, [key_thumbprint], now);
  const endedOrders = await endOrdersOfKey(tx, key_thumbprint, blocked);
  const cert = await lockIssuedCert(tx, id);
  if (cert === undefined) throw unknownCertificate();
  const revoked = await revokeIssuedCerts(tx, actor, { key_thumbprint }, reason, now);
  return { revoked, upgradedFrom: await upgrade(tx, actor, cert, now), endedOrders };
}

/** Makes key_compromise the reason of a revocation that was before; gives the reason that it had. */
async function upgrade(tx: Tx, actor: Actor, cert: ShownCertRow, now: Date): Promise<RevocationReason | undefined> {
  const { id, revoked_at: revokedAt, reason: number } = cert;
  if (revokedAt === null || number === null || number === KEY_COMPROMISE) return undefined;
  const entry = crlEntry(cert.serial, revokedAt, 'keyCompromise');
  await upgradeRevocation(tx, cert, { reason: KEY_COMPROMISE, entry, now });
  const from = reasonNumbered(number);
  await recordChange(tx, actor, now, {
    action: 'revoke',
    kind: 'issued_cert',
    id,
    before: { state: 'revoked', revoke_reason: from },
    after: { state: 'revoked', revoke_reason: 'key_compromise' },
  });
  return from;
}

/** The key of a certificate is nobody's account: records name the certificate instead. */
const actorOf = ({ signer, requestId }: ClientRevocation, { id }: ShownCertRow): Actor =>
  'account' in signer
    ? clientActor(signer.account, requestId)
    : { kind: 'acme_key', name: `key of ${formatId('icrt', id)}`, requestId };

/** The same for those of other directories and those that only look like ours (REV-6). */
const unknownCertificate = (): AcmeError =>
  new AcmeError('malformed', 'The certificate is not one that this directory has issued.');

const noRight = (): AcmeError =>
  new AcmeError(
    'unauthorized',
    'The certificate is revoked by the account that it was issued to, by an account with valid authorizations for all its names, or with its own key; this request is signed by none of them.',
  );
