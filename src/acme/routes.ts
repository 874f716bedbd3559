// Every route of the ACME door.
import { authorizationRoute, newAuthzRoute } from './authorizations.ts';
import { challengeRoute } from './challenges.ts';
import { directoryRoute } from './directory.ts';
import { newNonceRoute } from './nonces.ts';
import { newOrderRoute, orderRoute } from './orders.ts';
import type { AcmeRoute } from './route.ts';

export const acmeRoutes: readonly AcmeRoute[] = [
  directoryRoute,
  newNonceRoute,
  newOrderRoute,
  orderRoute,
  newAuthzRoute,
  authorizationRoute,
  challengeRoute,
];
