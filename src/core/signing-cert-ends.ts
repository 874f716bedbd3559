// Until when CA certs are valid, for whoever watches that none ends unnoticed.
import { listSigningCertEnds } from '../store/signing-cert-ends.ts';
import type { Ca } from './ca.ts';
import { formatId } from './ids.ts';

/** Tells the end of every CA cert that is neither deleted nor revoked. */
export async function tellSigningCertEnds(ca: Ca): Promise<void> {
  const ends = await listSigningCertEnds(ca.database.db);
  ca.events.signingCertEnds(
    ends.map(({ id, not_after }) => ({ signingCert: formatId('scrt', id), notAfter: not_after })),
  );
}
