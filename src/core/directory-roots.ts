// Whom the clients of a directory have to trust: the root of its CA cert, and those of earlier ones that still count.
import { findLiveIssuers } from '../store/signing-cert-users.ts';
import type { Ca } from './ca.ts';
import { chainOf } from './chains.ts';
import { requireDirectory } from './directories.ts';

/** PEM, the current root first; none where the chain leaves this service. Throws `not_found`. */
export async function directoryRoots({ database: { db }, clock }: Ca, id: string): Promise<readonly string[]> {
  const { signing_cert_id: current, former_signing_certs: former } = await requireDirectory(db, id);
  const live = former.length === 0 ? [] : await findLiveIssuers(db, former, clock.now());
  const chains = await Promise.all([current, ...live].map((issuer) => chainOf(db, issuer)));
  return [...new Set(chains.flatMap(({ rootPem }) => (rootPem === undefined ? [] : [rootPem])))];
}
