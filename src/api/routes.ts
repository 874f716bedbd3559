// THE table of /v1: every route of the management interface. A new resource is a file of rows and a line here.
import { acmeKeyRoutes } from './acme-keys.ts';
import { auditEventRoutes } from './audit-events.ts';
import { directoryRoutes } from './directories.ts';
import { documentRoutes } from './documents.ts';
import { explainRoutes } from './explain.ts';
import { externalBindingRoutes } from './external-bindings.ts';
import { issuedCertRoutes } from './issued-certs.ts';
import { orderRoutes } from './orders.ts';
import type { ApiRoute } from './route.ts';
import { signingCertRoutes } from './signing-certs.ts';

export function apiRoutes(version: string): readonly ApiRoute[] {
  const routes: readonly ApiRoute[] = [
    ...signingCertRoutes,
    ...directoryRoutes,
    ...explainRoutes,
    ...externalBindingRoutes,
    ...issuedCertRoutes,
    ...orderRoutes,
    ...acmeKeyRoutes,
    ...auditEventRoutes,
    ...documentRoutes(() => routes, version),
  ];
  return routes;
}
