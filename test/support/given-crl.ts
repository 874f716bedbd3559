// CRLs for tests: built as the worker builds them, and read as relying parties read them.
import type { Ca } from '../../src/core/ca.ts';
import { claimCrls, refreshCrl } from '../../src/core/crls.ts';
import { findPublishedCrl } from '../../src/core/published-crls.ts';
import { type Crl, findCrlEntry, parseCrl } from '../../src/x509/crl-reader.ts';
import type { TestCa } from './ca.ts';

/** Lets the time of a mark pass, and builds what is due then; how many. */
export async function buildDueCrls(ca: TestCa['ca']): Promise<number> {
  ca.clock.advance(200);
  const claims = await claimCrls(ca, 20, 60_000);
  for (const claim of claims) await refreshCrl(ca, claim);
  return claims.length;
}

/** The CRL of a CA cert that is published now. */
export async function crlOf(ca: Ca, { id }: { readonly id: string }): Promise<Crl> {
  const published = await findPublishedCrl(ca, id);
  if (published === undefined) throw new Error('there is no CRL');
  const der = await published.read();
  // Without bytes it was replaced in this moment.
  return der === undefined ? crlOf(ca, { id }) : parseCrl(der);
}

/** Why a serial number stands on the CRL; undefined where it does not. */
export const reasonOn = (crl: Crl, serial: Buffer): string | undefined => findCrlEntry(crl, serial)?.reason;
