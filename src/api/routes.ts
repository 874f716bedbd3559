// THE table of /v1: every route of the management interface. A new resource is a file of rows and a line here.
import { auditEventRoutes } from './audit-events.ts';
import { documentRoutes } from './documents.ts';
import type { ApiRoute } from './route.ts';
import { signingCertRoutes } from './signing-certs.ts';

export function apiRoutes(version: string): readonly ApiRoute[] {
  const routes: readonly ApiRoute[] = [
    ...signingCertRoutes,
    ...auditEventRoutes,
    ...documentRoutes(() => routes, version),
  ];
  return routes;
}
