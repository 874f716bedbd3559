// The certificate that an order says it replaces (RFC 9773 section 5): which one it is, and whether it may.
import { findRenewableCert, isOurKey } from '../store/renewal-info.ts';
import { AcmeError } from './acme-error.ts';
import type { Ca } from './ca.ts';
import { readCertId } from './cert-id.ts';

type Wish = {
  readonly directoryId: string;
  readonly acmeKeyId: string;
  /** Of the new order, as certificates have them. */
  readonly names: readonly string[];
};

/**
 * The uuid of the certificate to tie to the order; undefined where another CA issued it, since a client that moved here
 * says so in good faith (ARI-9). Throws AcmeError `malformed` for what is no CertID, no certificate of this account or
 * shares no name with the order, and `alreadyReplaced` (409). Locks nothing: the statement that ties looks again.
 */
export async function checkReplaces(ca: Ca, replaces: string, wish: Wish): Promise<string | undefined> {
  const { db } = ca.database;
  const certId = readCertId(replaces);
  if (certId === undefined)
    throw new AcmeError('malformed', '"replaces" is no CertID as renewal information has it (RFC 9773 section 4.1).');
  const cert = await findRenewableCert(db, { directoryId: wish.directoryId, ...certId }, ca.clock.now());
  if (cert === undefined && !(await isOurKey(db, certId.keyIdentifier))) return undefined;
  if (cert === undefined || cert.acme_key_id !== wish.acmeKeyId)
    throw new AcmeError('malformed', '"replaces" names no certificate of this account; order without it.');
  if (!cert.subjects.some((name) => wish.names.includes(name)))
    throw new AcmeError('malformed', '"replaces" names a certificate that has none of the names of this order.');
  if (cert.is_replaced)
    throw new AcmeError('alreadyReplaced', 'Another order replaces the certificate in "replaces"; order without it.');
  return cert.id;
}
