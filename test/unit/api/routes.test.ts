// The inventory of /v1: a route that is added, moved or opened to others shows here (SEC-12).
import { expect, test } from 'vitest';
import { apiRoutes } from '../../../src/api/routes.ts';

const routes = apiRoutes('1.2.3');

test('these are all routes, with the permission of each', () => {
  expect(routes.map(({ method, path, permission }) => `${permission} ${method} ${path}`)).toEqual([
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
