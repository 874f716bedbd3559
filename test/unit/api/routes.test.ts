// The inventory of /v1: a route that is added, moved or opened to others shows here (SEC-12).
import { expect, test } from 'vitest';
import { apiRoutes } from '../../../src/api/routes.ts';

const routes = apiRoutes('1.2.3');

test('SEC-12: these are all routes, with the permission of each', () => {
  expect(routes.map(({ method, path, permission }) => `${permission} ${method} ${path}`)).toEqual([
    'admin GET /v1/signing_certs',
    'admin POST /v1/signing_certs',
    'admin GET /v1/signing_certs/:id',
    'admin PUT /v1/signing_certs/:id',
    'admin DELETE /v1/signing_certs/:id',
    'admin GET /v1/signing_certs/:id/csr',
    'admin PUT /v1/signing_certs/:id/crl',
    'admin POST /v1/signing_certs/:id/revocation',
    'admin GET /v1/signing_certs/:id/rollover',
    'read GET /v1/directories',
    'read GET /v1/directories/:id',
    'admin POST /v1/directories',
    'admin PUT /v1/directories/:id',
    'admin DELETE /v1/directories/:id',
    'write POST /v1/directories/:id/explain',
    'read GET /v1/external_bindings',
    'read GET /v1/external_bindings/:id',
    'write POST /v1/external_bindings',
    'write PUT /v1/external_bindings/:id',
    'write DELETE /v1/external_bindings/:id',
    'read GET /v1/issued_certs',
    'read GET /v1/issued_certs/:id',
    'admin DELETE /v1/issued_certs/:id',
    'read GET /v1/issued_certs/:id/download',
    'read GET /v1/orders',
    'read GET /v1/orders/:id',
    'admin DELETE /v1/orders/:id',
    'read GET /v1/acme_keys',
    'read GET /v1/acme_keys/:id',
    'write POST /v1/acme_keys',
    'write PUT /v1/acme_keys/:id',
    'write DELETE /v1/acme_keys/:id',
    'admin GET /v1/audit_events',
    'none GET /v1/openapi.json',
    'none GET /v1/docs',
  ]);
});

test('a route declares whose ids its path holds', () => {
  for (const { path, params = {} } of routes)
    expect([...path.matchAll(/:(\w+)/g)].map(([, name]) => name)).toEqual(Object.keys(params));
});

test('no two routes have one operation id', () => {
  const ids = routes.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('a required filter is a parameter of its route', () => {
  for (const { query = {}, requireOneOf = [] } of routes)
    expect(Object.keys(query)).toEqual(expect.arrayContaining([...requireOneOf]));
});
