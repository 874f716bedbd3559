// Every route of the publication door, what is asked most often first.
import { caCertificateRoutes } from './ca-certificates.ts';
import { crlRoute } from './crls.ts';
import { ocspRoutes } from './ocsp.ts';
import type { PublishRoute } from './route.ts';

export const publishRoutes: readonly PublishRoute[] = [...ocspRoutes, crlRoute, ...caCertificateRoutes];
