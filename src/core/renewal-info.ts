// When a certificate is to be renewed (RFC 9773): a function of what is stored of it, its issuer and its directory.
import { hash } from 'node:crypto';
import { findRenewableCert, type RenewableCert } from '../store/renewal-info.ts';
import { AcmeError } from './acme-error.ts';
import type { Ca } from './ca.ts';
import { readCertId } from './cert-id.ts';

type Window = { readonly start: Date; readonly end: Date };
export type RenewalInfo = Window & { readonly retryAfterSeconds: number };

type Directory = {
  readonly id: string;
  readonly slug: string;
  readonly signing_cert_id: string;
  readonly rollover_days: number;
  readonly rollover_at: Date | null;
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** ARI-3: who lives longer is renewed with a third of its life left, others with half of it. */
const LONG_LIFE_MS = 10 * DAY_MS;
/** To either side of that time. */
const MARGIN = 0.01;
/** ARI-6: the usual one, and from which life on it is. */
const RETRY_MS = 6 * HOUR_MS;
const RETRY_LIFE_MS = 3 * DAY_MS;
const JITTER = 0.25;

/**
 * Of a certificate of this directory by its CertID. `random` between 0 and 1 spreads the questions of many. Throws
 * AcmeError `malformed`: 400 for what is no CertID, 404 for that of no certificate here.
 */
export async function renewalInfo(
  ca: Ca,
  directory: Directory,
  text: string,
  random: () => number,
): Promise<RenewalInfo> {
  const certId = readCertId(text);
  if (certId === undefined)
    throw new AcmeError(
      'malformed',
      'This is no CertID: it is the key identifier of the issuer and the serial number, each in base64url without padding, with a dot between them.',
    );
  const cert = await findRenewableCert(ca.database.db, { directoryId: directory.id, ...certId }, ca.clock.now());
  if (cert === undefined)
    throw new AcmeError('malformed', `Directory ${directory.slug} has no certificate of this CertID.`, { status: 404 });
  return { ...renewalWindow(cert, directory), retryAfterSeconds: retryAfterSeconds(cert, random()) };
}

/** ARI-3, ARI-4. Whole seconds; the start is before the end. */
export function renewalWindow(cert: RenewableCert, directory: Directory): Window {
  const { revoked_at: revokedAt } = cert;
  if (revokedAt !== null) return windowOf(revokedAt.getTime() - HOUR_MS, HOUR_MS / 2);
  const life = lifeOf(cert);
  const left = life >= LONG_LIFE_MS ? life / 3 : life / 2;
  const width = 2 * MARGIN * life;
  const usual = cert.not_after.getTime() - left - width / 2;
  const issuerEnd = changeOfIssuer(cert, directory);
  if (issuerEnd === undefined) return windowOf(usual, width);
  return windowOf(Math.min(usual, issuerEnd + shareOf(cert.serial) * directory.rollover_days * DAY_MS), width);
}

/**
 * When its issuer was revoked, or ceased to be the directory's; the first of the two. With rollover_days of 0 a change of
 * issuer alone moves nothing; what a revoked one signed is trusted no more, so it is renewed at once.
 */
function changeOfIssuer(cert: RenewableCert, directory: Directory): number | undefined {
  const isFormer = cert.signing_cert_id !== directory.signing_cert_id && directory.rollover_days > 0;
  const times = [cert.issuer_revoked_at, isFormer ? directory.rollover_at : null].filter((time) => time !== null);
  return times.length === 0 ? undefined : Math.min(...times.map((time) => time.getTime()));
}

/** From 0 to 1, another one for each certificate: they do not all come in one hour. */
const shareOf = (serial: Buffer): number => hash('sha256', serial, 'buffer').readUInt32BE(0) / 2 ** 32;

function windowOf(startMs: number, widthMs: number): Window {
  const start = Math.floor(startMs / SECOND_MS);
  const end = Math.max(start + 1, Math.floor((startMs + widthMs) / SECOND_MS));
  return { start: new Date(start * SECOND_MS), end: new Date(end * SECOND_MS) };
}

function retryAfterSeconds(cert: RenewableCert, random: number): number {
  const usual = RETRY_MS * Math.min(1, lifeOf(cert) / RETRY_LIFE_MS);
  const jittered = usual * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(MINUTE_MS, Math.min(jittered, DAY_MS)) / SECOND_MS);
}

/** Both ends are included. */
const lifeOf = ({ not_before, not_after }: RenewableCert): number =>
  not_after.getTime() + SECOND_MS - not_before.getTime();
