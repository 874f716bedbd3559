// Where the service is reached from outside: what directory documents and certificates say, for as long as they live.
import { isIP } from 'node:net';
import { formatId, type IdPrefix, parseId } from './ids.ts';

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

/** Of our own HTTPS certificate: each generation of the serving CA has a place of its own. */
export const servingCrlUrl = ({ httpUrl }: Urls, generation: number): string =>
  `${httpUrl}/crl/${generation === 1 ? 'serving' : `serving-${generation}`}.crl`;

/** The generation in a name that servingCrlUrl gave; undefined for other names. */
export function servingGenerationIn(name: string): number | undefined {
  const [match, number = '1'] = /^serving(?:-([2-9]|[1-9]\d{1,3}))?$/.exec(name) ?? [];
  return match === undefined ? undefined : Number(number);
}

/** Where everything of a directory is, as patterns of routes. `:id` is the id of the thing itself. */
export const acmePaths = {
  directory: '/acme/:slug/directory',
  newNonce: '/acme/:slug/new-nonce',
  newAccount: '/acme/:slug/new-account',
  newOrder: '/acme/:slug/new-order',
  newAuthz: '/acme/:slug/new-authz',
  revokeCert: '/acme/:slug/revoke-cert',
  keyChange: '/acme/:slug/key-change',
  renewalInfo: '/acme/:slug/renewal-info',
  account: '/acme/:slug/account/:id',
  orders: '/acme/:slug/account/:id/orders',
  order: '/acme/:slug/order/:id',
  finalize: '/acme/:slug/order/:id/finalize',
  authorization: '/acme/:slug/authz/:id',
  challenge: '/acme/:slug/challenge/:id',
  certificate: '/acme/:slug/cert/:id',
  /** `:chain` counts from 1. */
  alternate: '/acme/:slug/cert/:id/:chain',
} as const;

type AcmePath = keyof typeof acmePaths;

const idPrefixes = {
  account: 'acmk',
  orders: 'acmk',
  order: 'ordr',
  finalize: 'ordr',
  authorization: 'authz',
  challenge: 'chal',
  certificate: 'icrt',
  alternate: 'icrt',
} as const satisfies { readonly [Path in AcmePath]?: IdPrefix };

/** The prefix of the id in a path. */
export const idPrefixOf = (path: keyof typeof idPrefixes): IdPrefix => idPrefixes[path];

/** A URL that has no id in it, under one of the slugs of a directory. */
export const acmeUrl = (urls: Urls, slug: string, path: Exclude<AcmePath, keyof typeof idPrefixes>): string =>
  absolute(urls, slug, acmePaths[path]);

/** The URL of something that has an id, under one of the slugs of its directory. */
export const acmeUrlOf = (
  urls: Urls,
  slug: string,
  path: Exclude<keyof typeof idPrefixes, 'alternate'>,
  uuid: string,
): string => absolute(urls, slug, acmePaths[path].replace(':id', formatId(idPrefixes[path], uuid)));

/** Another chain of a certificate; they count from 1. */
export const alternateUrl = (urls: Urls, slug: string, certId: string, chain: number): string =>
  `${acmeUrlOf(urls, slug, 'certificate', certId)}/${chain}`;

export const directoryUrl = (urls: Urls, slug: string): string => acmeUrl(urls, slug, 'directory');
/** The kid of an account, under one of the slugs of its directory. */
export const accountUrl = (urls: Urls, slug: string, acmeKeyId: string): string =>
  acmeUrlOf(urls, slug, 'account', acmeKeyId);

export type AccountUrl = { readonly slug: string; readonly id: string };

/** The slug and id in a URL that accountUrl gave, byte for byte (JWS-10); undefined for all else. */
export function readAccountUrl(urls: Urls, text: string): AccountUrl | undefined {
  const [, slug = '', typeId = ''] = ACCOUNT_URL.exec(text) ?? [];
  const id = parseId(idPrefixes.account, typeId);
  return id !== undefined && accountUrl(urls, slug, id) === text ? { slug, id } : undefined;
}

/** What a client may call the URL of its request, whose path and query are as sent: with port 443 named or not (JWS-13). */
export function requestUrls({ publicUrl }: Urls, slug: string, pathAndQuery: string): readonly string[] {
  const base = withSlug(publicUrl, slug);
  const origin = /^https:\/\/[^/]*/.exec(base)?.[0] ?? '';
  const withoutPort = origin.replace(/:443$/, '');
  const origins = /:\d+$/.test(withoutPort) ? [origin] : [withoutPort, `${withoutPort}:443`];
  return origins.map((start) => start + base.slice(origin.length) + pathAndQuery);
}

export const hasHostPerDirectory = ({ publicUrl }: Urls): boolean => publicUrl.includes(SLUG);

/** The slug in a Host header where every directory has a host of its own (DIR-4); undefined for other hosts. */
export function slugInHost({ publicUrl }: Urls, host: string): string | undefined {
  if (!publicUrl.includes(SLUG)) return undefined;
  const domain = new URL(publicUrl.replace(SLUG, 'slug')).hostname.slice('slug'.length);
  const name = host.toLowerCase().replace(/:\d+$/, '');
  return name.endsWith(domain) ? name.slice(0, -domain.length) : undefined;
}

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
const ACCOUNT_URL = /\/acme\/([^/]{1,63})\/account\/([^/]{1,40})$/;

const absolute = ({ publicUrl }: Urls, slug: string, path: string): string =>
  withSlug(publicUrl, slug) + path.replace(':slug', slug);

const withSlug = (publicUrl: string, slug: string): string => publicUrl.replace(SLUG, slug);

/** As URLs write IPv6 addresses. */
const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');
