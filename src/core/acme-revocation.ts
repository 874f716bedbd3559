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
import { blockKeys } from '../store/used-keys.ts';
import { crlEntry } from '../x509/crl.ts';
import type { AccountKey } from './account-key.ts';
import { clientActor } from './accounts.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeAccount, AcmeDirectory } from './acme-requests.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { formatId } from './ids.ts';
import { publishCrls, publishRevocations, revokeIssuedCerts } from './revoke.ts';
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

const KEY_COMPROMISE = revocationReasons.key_compromise.number;

/**
 * Revokes a certificate of this directory for the account that it was issued to, for one that holds authorizations for
 * all its names, or for who holds its private key (REV-1). The latter's key_compromise also revokes all certificates of
 * the key, and makes it the reason of an earlier revocation (REV-3, REV-8). Locks the certificates. Throws AcmeError:
 * `malformed`, `unauthorized`, `badRevocationReason`, `alreadyRevoked`.
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
  const { revoked, upgradedFrom } = await ca.database.inTransaction((tx) =>
    revoke(tx, cert.id, { right, actor, reason }, now),
  );
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

async function revoke(tx: Tx, id: string, { right, actor, reason }: Granted, now: Date) {
  const cert = await lockIssuedCert(tx, id);
  if (cert === undefined) throw unknownCertificate();
  if (right !== 'holds its key' || reason !== 'key_compromise') {
    // Who shows no key may not keep others from using it.
    const blocksKeys = right !== 'authorized for its names';
    return {
      revoked: await revokeIssuedCerts(tx, actor, { id }, reason, now, { blocksKeys }),
      upgradedFrom: undefined,
    };
  }
  await blockKeys(tx, [cert.key_thumbprint], now);
  const { key_thumbprint } = cert;
  const revoked = await revokeIssuedCerts(tx, actor, { key_thumbprint }, reason, now);
  return { revoked, upgradedFrom: await upgrade(tx, actor, cert, now) };
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
