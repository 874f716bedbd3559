// The download of an issued certificate by the account that ordered it: the leaf with each chain that it has (CRT-1 to CRT-6).
import { type ChainLink, type DownloadRow, findCaCertificate, findDownload } from '../store/certificates.ts';
import type { Db } from '../store/database.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import { chainsAbove, type Link } from './alternate-chains.ts';
import { type Applicant, type Found, nothingOfAccount, own } from './applicant.ts';
import type { Ca } from './ca.ts';
import { Recent } from './recent.ts';

export type Download = {
  readonly id: string;
  /** DER. */
  readonly leaf: Buffer;
  /** PEM, the leaf first, each certified by the next, without the root. */
  readonly pem: string;
  /** The CA cert that certifies the leaf in this chain. */
  readonly issuerId: string;
  /** How many chains there are; they count from 0, the usual one. */
  readonly chains: number;
};

/** CRT-5. */
const READABLE_AFTER_END_MS = 30 * 86_400_000;

/** What is derived from the certificate of a CA, which never changes. */
type CaCertificate = { readonly pem: string; readonly identity: string; readonly notAfter: Date };

const MOST = 1_000;
const known = new Recent<CaCertificate>(MOST);

/** A certificate by its uuid; undefined for one of another account. */
export const readDownload = async (ca: Ca, accountId: string, id: string | undefined): Found<DownloadRow> =>
  id === undefined ? undefined : findDownload(ca.database.db, { id, accountId });

/**
 * A chain of a certificate of the account by its uuid. Throws `malformed` (404), the same for all that is not there;
 * `number` is undefined for a chain that has no number.
 */
export async function getDownload(
  ca: Ca,
  applicant: Applicant,
  id: string | undefined,
  number: number | undefined,
  found = readDownload(ca, applicant.account.id, id),
): Promise<Download> {
  const now = ca.clock.now();
  const row = await own('certificate', applicant, readable(found, now));
  const chains = await chainsOf(ca.database.db, row, now);
  const chain = number === undefined ? undefined : chains[number];
  if (chain === undefined) throw nothingOfAccount('certificate');
  return downloadOf(row, chain, chains.length);
}

async function readable(found: Found<DownloadRow>, now: Date): Found<DownloadRow> {
  const row = await found;
  return row && row.not_after.getTime() + READABLE_AFTER_END_MS > now.getTime() ? row : undefined;
}

type PemLink = Link & { readonly pem: string };

const downloadOf = (
  { id, der, signing_cert_id }: DownloadRow,
  chain: readonly PemLink[],
  chains: number,
): Download => ({
  id,
  leaf: der,
  pem: certificatePem(der) + chain.map(({ pem }) => pem).join(''),
  issuerId: chain[0]?.id ?? signing_cert_id,
  chains,
});

async function chainsOf(
  db: Db,
  { signing_cert_id, links }: DownloadRow,
  now: Date,
): Promise<readonly (readonly PemLink[])[]> {
  return chainsAbove(signing_cert_id, await Promise.all(links.map((link) => linkOf(db, link, now))));
}

async function linkOf(db: Db, { id, parent_id, is_root, is_offered }: ChainLink, now: Date): Promise<PemLink> {
  const { pem, identity, notAfter } = known.get(id) ?? (await read(db, id));
  return {
    id,
    parentId: parent_id ?? undefined,
    isRoot: is_root,
    isOffered: is_offered && notAfter > now,
    identity,
    pem,
  };
}

async function read(db: Db, id: string): Promise<CaCertificate> {
  const der = (await findCaCertificate(db, id))?.der;
  if (der === undefined || der === null) throw new Error(`CA cert ${id} stands in a chain and has no certificate`);
  const { subject, spki, notAfter } = parseCertificate(der);
  const identity = `${subject.der.toString('base64')} ${spki.toString('base64')}`;
  const certificate = { pem: certificatePem(der), identity, notAfter };
  known.set(id, certificate);
  return certificate;
}
