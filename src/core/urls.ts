// Where the service is reached from outside: what directory documents and certificates say, for as long as they live.
import { isIP } from 'node:net';
import { formatId } from './ids.ts';

export type Urls = {
  /** HTTPS, without a slash at its end: ACME. May hold `{slug}` as the whole first label of its host. */
  readonly publicUrl: string;
  /** Plain HTTP, without a slash at its end: CRLs, OCSP and CA certificates. */
  readonly httpUrl: string;
};

/** Certificates that a CA cert issues carry these three. */
export const crlUrl = ({ httpUrl }: Urls, signingCertId: string): string =>
  `${httpUrl}/crl/${formatId('scrt', signingCertId)}.crl`;
export const ocspUrl = ({ httpUrl }: Urls, signingCertId: string): string =>
  `${httpUrl}/ocsp/${formatId('scrt', signingCertId)}`;
export const caCertificateUrl = ({ httpUrl }: Urls, signingCertId: string): string =>
  `${httpUrl}/ca/${formatId('scrt', signingCertId)}.crt`;

export const directoryUrl = (urls: Urls, slug: string): string => `${acmeUrl(urls, slug)}/directory`;
/** The kid of an account, under one of the slugs of its directory. */
export const accountUrl = (urls: Urls, slug: string, acmeKeyId: string): string =>
  `${acmeUrl(urls, slug)}/account/${formatId('acmk', acmeKeyId)}`;

/** The issuer domain that CAA records name for a directory unless it says another one. */
export function defaultCaaTag({ publicUrl }: Urls, slug: string): string {
  const host = new URL(withSlug(publicUrl, slug)).hostname;
  // The host is the directory's own already.
  if (publicUrl.includes(SLUG)) return host;
  const isDomain = host !== 'localhost' && isIP(withoutBrackets(host)) === 0;
  return `${slug}.${isDomain ? host : 'acmery.internal'}`;
}

/** The name of the public host in our own serving certificate; one wildcard stands for all directories that have a host. */
export const publicHostName = (publicUrl: string): string =>
  withoutBrackets(new URL(publicUrl).hostname).replace(`${SLUG}.`, '*.');

const SLUG = '{slug}';

const acmeUrl = ({ publicUrl }: Urls, slug: string): string => `${withSlug(publicUrl, slug)}/acme/${slug}`;

const withSlug = (publicUrl: string, slug: string): string => publicUrl.replace(SLUG, slug);

/** As URLs write IPv6 addresses. */
const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');
