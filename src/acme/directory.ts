// The directory document (RFC 8555 section 7.1.1): where everything is, and what a client should know before it begins.
import { type AcmeDirectory, tellsExternalAccountRequired } from '../core/acme-requests.ts';
import type { Ca } from '../core/ca.ts';
import { acmePaths, acmeUrl } from '../core/urls.ts';
import type { ProfileName } from '../resources/fields.ts';
import { openRoute } from './route.ts';

const endpoints = ['newNonce', 'newAccount', 'newOrder', 'newAuthz', 'revokeCert', 'keyChange', 'renewalInfo'] as const;

/** What people read who choose one. */
const profileSentences: Readonly<Record<ProfileName, string>> = {
  server: 'For TLS servers.',
  client: 'For TLS clients.',
  mtls: 'For programs that are TLS server and client at once.',
};

export const directoryRoute = openRoute({
  path: acmePaths.directory,
  // DIR-4; `/` where every directory has a host of its own.
  alsoAt: [`${acmePaths.directory}/`, '/'],
  handle: async ({ ca, directory }) => ({ status: 200, json: await document(ca, directory) }),
});

async function document(ca: Ca, directory: AcmeDirectory) {
  const urls = endpoints.map((name) => [name, acmeUrl(ca.urls, directory.requestSlug, name)]);
  return { ...Object.fromEntries(urls), meta: await meta(ca, directory) };
}

/** DIR-2. */
const meta = async (ca: Ca, directory: AcmeDirectory) => ({
  ...(directory.terms_of_service !== null && { termsOfService: directory.terms_of_service }),
  ...(directory.website !== null && { website: directory.website }),
  caaIdentities: [directory.caa_tag],
  externalAccountRequired: await tellsExternalAccountRequired(ca, directory),
  profiles: Object.fromEntries(Object.entries(profileSentences).filter(([name]) => directory.profiles.includes(name))),
});
