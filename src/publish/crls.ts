// /crl: the CRL of a CA where CDP says that it is (RFC 5280 section 4.2.1.13), and the one of our own HTTPS.
import type { Ca } from '../core/ca.ts';
import { parseId } from '../core/ids.ts';
import { findPublishedCrl, type PublishedCrl } from '../core/published-crls.ts';
import { findServingCrl } from '../core/serving-crl.ts';
import { servingGenerationIn } from '../core/urls.ts';
import { fileReply } from './file.ts';
import type { PublishRoute } from './route.ts';

/** Each means that the CRL was replaced between the look at it and its bytes. */
const ATTEMPTS = 5;

export const crlRoute: PublishRoute = {
  method: 'GET',
  path: '/crl/:name.crl',
  async handle(ca, request) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const crl = await findCrl(ca, request.params.name ?? '');
      if (crl === undefined) return undefined;
      const { number: tag, thisUpdate: lastModified, nextUpdate: endsAt, read } = crl;
      const file = { mediaType: 'application/pkix-crl', tag, lastModified, endsAt, read };
      const reply = await fileReply(file, request, ca.clock.now());
      if (reply !== undefined) return reply;
    }
    throw new Error('The CRL was replaced again and again while it was read.');
  },
};

async function findCrl(ca: Ca, name: string): Promise<PublishedCrl | undefined> {
  const generation = servingGenerationIn(name);
  if (generation !== undefined) return findServingCrl(ca, generation);
  const id = parseId('scrt', name);
  return id === undefined ? undefined : findPublishedCrl(ca, id);
}
