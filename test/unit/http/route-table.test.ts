// Which row answers which path.
import { expect, test } from 'vitest';
import type { HttpRoute } from '../../../src/http/route.ts';
import { routeTable } from '../../../src/http/route-table.ts';

const rows = (...named: readonly `${HttpRoute['method']} ${string}`[]): HttpRoute[] =>
  named.map((name) => {
    const [method, path = ''] = name.split(' ') as [HttpRoute['method'], string];
    return { method, path, admit: () => () => ({ status: 200 }) };
  });

const find = routeTable(
  rows(
    'GET /',
    'GET /acme/:slug/directory',
    'GET /acme/:slug/directory/',
    'POST /acme/:slug/order/:id',
    'GET /crl/:name.crl',
    'POST /ocsp/:id',
    'GET /ocsp/:id/*request',
    'GET /v1/things/:id',
    'DELETE /v1/things/:id',
    'GET /v1/things/new',
    'GET /v1/:kind/new/parts',
    'GET /v1/things/:id/:part/last',
  ),
);

test.each([
  ['GET', '/', '/', {}],
  ['GET', '/acme/web/directory', '/acme/:slug/directory', { slug: 'web' }],
  ['GET', '/acme/web/directory/', '/acme/:slug/directory/', { slug: 'web' }],
  ['POST', '/acme/w%65b/order/a%2Fb', '/acme/:slug/order/:id', { slug: 'web', id: 'a/b' }],
  ['GET', '/crl/a.crl.crl', '/crl/:name.crl', { name: 'a.crl' }],
  ['GET', '/ocsp/1/MEE//w%2Bx%2F==', '/ocsp/:id/*request', { id: '1', request: 'MEE//w+x/==' }],
  ['GET', '/v1/things/7', '/v1/things/:id', { id: '7' }],
  ['HEAD', '/v1/things/7', '/v1/things/:id', { id: '7' }],
  ['GET', '/v1/things/new', '/v1/things/new', {}],
  ['DELETE', '/v1/things/new', '/v1/things/:id', { id: 'new' }],
  ['GET', '/v1/things/new/parts', '/v1/:kind/new/parts', { kind: 'things' }],
  ['GET', '/v1/things/7/8/last', '/v1/things/:id/:part/last', { id: '7', part: '8' }],
  ['GET', '/v1/things/__proto__', '/v1/things/:id', { id: '__proto__' }],
])('%s %s is answered by the row of %s', (method, path, pattern, params) => {
  expect(find(method, path)).toMatchObject({ pattern, row: { path: pattern } });
  expect(find(method, path)?.params).toEqual(params);
});

test.each([
  '*',
  '',
  '//',
  '/acme',
  '/acme//directory',
  '/ACME/web/directory',
  '/crl/.crl',
  '/crl/a',
  '/ocsp/1/',
  '/v1/things/',
])('nothing is at %j', (path) => {
  expect(find('GET', path)).toBeUndefined();
});

test('a method that a path does not take finds what it takes, from every row that matches', () => {
  expect(find('PUT', '/v1/things/new')).toMatchObject({ row: undefined, allow: ['GET', 'HEAD', 'DELETE', 'OPTIONS'] });
});

test('two rows for one method and path are a mistake of the table', () => {
  expect(() => routeTable(rows('GET /a', 'GET /a'))).toThrow('Two rows of the route table say GET /a.');
});
