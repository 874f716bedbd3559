// renewalInfo (RFC 9773 section 4): when a certificate is to be renewed. Read by anybody, and by caches in between.
import { randomInt } from 'node:crypto';
import { renewalInfo } from '../core/renewal-info.ts';
import { acmePaths } from '../core/urls.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { openRoute } from './route.ts';

export const renewalInfoRoute = openRoute({
  path: `${acmePaths.renewalInfo}/:certId`,
  handle: async ({ ca, directory, params }) => {
    const { start, end, retryAfterSeconds } = await renewalInfo(ca, directory, params.certId ?? '', random);
    return {
      status: 200,
      json: { suggestedWindow: { start: formatSeconds(start), end: formatSeconds(end) } },
      headers: {
        'Retry-After': String(retryAfterSeconds),
        'Cache-Control': `public, max-age=${retryAfterSeconds}`,
      },
    };
  },
});

const random = (): number => randomInt(2 ** 32) / 2 ** 32;
