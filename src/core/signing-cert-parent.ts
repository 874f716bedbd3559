// The parent of a CA cert: what it must be to sign one, and what it must allow.
import { formatSeconds } from '../schema/timestamp.ts';
import type { Tx } from '../store/database.ts';
import { isRevokedBy } from '../store/revocations.ts';
import {
  type ChainRow,
  findSigningCertsBySubject,
  type SigningCertRow,
  shareChain,
  shareSigningCert,
} from '../store/signing-certs.ts';
import { type Certificate, parseCertificate } from '../x509/certificate.ts';
import { belowParentProblems, isIssuedBy, type ParentFacts } from './below-parent-checks.ts';
import type { Ca } from './ca.ts';
import type { ParentCa } from './ca-certificate.ts';
import { revokedIn, roomBelow } from './chains.ts';
import { CaError } from './errors.ts';
import { FieldProblems } from './field-problems.ts';
import { unknownReference } from './object-kinds.ts';

export type Parent = {
  readonly row: SigningCertRow & { readonly der: Buffer };
  /** The parent, its parent, and so on. */
  readonly chain: readonly ChainRow[];
};

const FIELD = 'signing_cert_id';

/** Holds the parent, and all above it, against deletion and revocation. Throws `unknown_reference`, and `cannot_sign` for one without a certificate. */
export async function shareParent(tx: Tx, id: string): Promise<Parent> {
  const row = await shareSigningCert(tx, id);
  if (row === undefined) throw unknownReference('signing_cert', id);
  const { der } = row;
  if (der === null) throw cannotSign(row, 'still waits for its own certificate; send it by PUT public_cert');
  return { row: { ...row, der }, chain: await shareChain(tx, id) };
}

/** Throws `cannot_sign` saying why not, and what to do. */
export function requireSigningParent({ row, chain }: Parent, now: Date): void {
  if (row.key_availability === 'offline') {
    throw cannotSign(row, `has an offline key; leave ${FIELD} out to get a CSR, and have it signed where that key is`);
  }
  requireNoneRevoked(chain);
  if (row.not_after !== null && row.not_after <= now)
    throw cannotSign(row, `expired on ${formatSeconds(row.not_after)}`);
  if (roomBelow(chain) < 1) throw cannotSign(row, 'allows no CA cert below it: a path_length in its chain is used up');
}

/**
 * Holds the chain above a CA cert that is to become active, which was looked at when its making began. Throws
 * `cannot_sign` where a CA cert of it was revoked meanwhile.
 */
export async function requireLivingChain(tx: Tx, parentId: string | null): Promise<void> {
  if (parentId !== null) requireNoneRevoked(await shareChain(tx, parentId));
}

function requireNoneRevoked(chain: readonly ChainRow[]): void {
  const [first] = chain;
  const name = revokedIn(chain);
  if (first === undefined || name === undefined) return;
  throw cannotSign(first, first.state === 'revoked' ? 'is revoked' : `stands below CA cert ${name}, which is revoked`);
}

/**
 * The parent of a certificate from elsewhere, held against deletion: the one that is named, else the one that signed it
 * among the CA certs here; undefined where it is none of them. Throws `unknown_reference`, and `invalid` with all that
 * the parent holds against the certificate.
 */
export async function shareParentOf(tx: Tx, certificate: Certificate, id?: string): Promise<string | undefined> {
  const parents = id === undefined ? await parentsAmongOurs(tx, certificate) : [await shareParent(tx, id)];
  const problems = new FieldProblems();
  for (const parent of parents) {
    const found = await belowParentProblems(certificate, factsOf(parent));
    if (found.length === 0) {
      await requireNotRevoked(tx, certificate, parent);
      return parent.row.id;
    }
    problems.add(...found.map((problem) => ({ field: 'public_cert', ...problem })));
  }
  problems.refuse();
  return undefined;
}

/** It may have been here before, revoked and deleted: its parent goes on to say so. */
async function requireNotRevoked(tx: Tx, { serial }: Certificate, { row }: Parent): Promise<void> {
  if (!(await isRevokedBy(tx, row.id, serial))) return;
  const problems = new FieldProblems();
  const message = `The certificate was revoked by CA cert ${row.name}, which signed it; have another one signed.`;
  problems.add({ field: 'public_cert', code: 'revoked', message });
  problems.refuse();
}

/** Several where a CA certificate was renewed with the same name and key: the one of most use first. */
async function parentsAmongOurs(tx: Tx, certificate: Certificate): Promise<readonly Parent[]> {
  const parents: Parent[] = [];
  for (const { id, der } of await findSigningCertsBySubject(tx, certificate.issuer.der)) {
    if (der !== null && (await isIssuedBy(certificate, parseCertificate(der)))) parents.push(await shareParent(tx, id));
  }
  return parents;
}

const factsOf = ({ row: { name, der }, chain }: Parent): ParentFacts => ({
  name,
  chain,
  certificate: parseCertificate(der),
});

/** Throws `unavailable` when the key cannot be used now. */
export async function openParent(ca: Ca, { row }: Parent): Promise<ParentCa> {
  return { id: row.id, certificate: parseCertificate(row.der), signer: await ca.keys.signer(row.key_ref ?? row.id) };
}

const cannotSign = ({ name }: Pick<SigningCertRow, 'name'>, why: string): CaError =>
  new CaError('cannot_sign', `CA cert ${name} ${why}.`, { field: FIELD });
