// Every route of the ACME door.
import { directoryRoute } from './directory.ts';
import { newNonceRoute } from './nonces.ts';
import type { AcmeRoute } from './route.ts';

export const acmeRoutes: readonly AcmeRoute[] = [directoryRoute, newNonceRoute];
