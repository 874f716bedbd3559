// Custom resources as the core knows them, and what of their rows a test compares.
import type { Ca } from '../../src/core/ca.ts';
import type { Declared } from '../../src/core/declared.ts';
import type { DeclaredSigningCert } from '../../src/core/declared-signing-cert.ts';
import { rowsOf } from './declared-rows.ts';

/** The first state of an object, unless said otherwise. */
export const aDeclared = (parts: Partial<Declared> = {}): Declared => ({
  namespace: 'acmery-system',
  name: 'corp',
  uid: 'uid-1',
  generation: 1,
  ...parts,
});

export const aRoot = (parts: Partial<DeclaredSigningCert> = {}): DeclaredSigningCert => ({
  cert_type: 'root',
  key_availability: 'online',
  private_key_type: 'ec_256',
  name: 'Corp Root',
  ...parts,
});

/** What `work` gives or throws; a write to one of these tables by it is another error. */
export async function withoutWrites<Result>(ca: Ca, work: () => Promise<Result>): Promise<Result> {
  const before = await rowsOf(ca);
  const [result] = await Promise.allSettled([work()]);
  const after = await rowsOf(ca);
  if (JSON.stringify(before) !== JSON.stringify(after))
    throw new Error(`Something was written: ${JSON.stringify({ before, after })}`);
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
