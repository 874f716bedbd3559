// Every route of the ACME door.
import { accountOrdersRoute } from './account-orders.ts';
import { accountRoute, newAccountRoute } from './accounts.ts';
import { authorizationRoute, newAuthzRoute } from './authorizations.ts';
import { alternateRoute, certificateRoute } from './certificates.ts';
import { challengeRoute } from './challenges.ts';
import { directoryRoute } from './directory.ts';
import { finalizeRoute } from './finalize.ts';
import { keyChangeRoute } from './key-change.ts';
import { newNonceRoute } from './nonces.ts';
import { newOrderRoute, orderRoute } from './orders.ts';
import { renewalInfoRoute } from './renewal-info.ts';
import { revokeCertRoute } from './revocation.ts';
import type { AcmeRoute } from './route.ts';

export const acmeRoutes: readonly AcmeRoute[] = [
  directoryRoute,
  newNonceRoute,
  newAccountRoute,
  accountRoute,
  accountOrdersRoute,
  keyChangeRoute,
  newOrderRoute,
  orderRoute,
  newAuthzRoute,
  authorizationRoute,
  challengeRoute,
  finalizeRoute,
  certificateRoute,
  alternateRoute,
  revokeCertRoute,
  renewalInfoRoute,
];
