// /v1/openapi.json and /v1/docs as they are served.
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { testApi } from '../support/api-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

let api: Awaited<ReturnType<typeof testApi>>;
beforeAll(async () => {
  api = await testApi();
});
afterAll(() => api[Symbol.asyncDispose]());

test('the OpenAPI document is for everybody, and says its version', async () => {
  const { body } = await api.get('/v1/openapi.json', { as: 'nobody' });
  expect(body).toMatchObject({ openapi: '3.1.1', info: { version: '0.0.0-test' } });
  expect(Object.keys(body.paths)).toContain('/v1/audit_events');
});

test('the page is for everybody, and may load nothing but its own style', async () => {
  const { headers, text } = await api.get('/v1/docs', { as: 'nobody' });
  const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(text).not.toMatch(/<script|<img|<link|style=|(src|href)=["']?https?:/);
});

test('the page has an anchor for the type of every problem', async () => {
  const { text } = await api.get('/v1/docs');
  const { body } = await api.get('/v1/audit_events', { as: 'nobody' });
  expect(body.type).toBe('/v1/docs#missing_credential');
  expect(text).toContain('<tr id="missing_credential">');
});

test('every example of a body to create or change a resource works as it stands, but for the ids in it', async () => {
  const { body: document } = await api.get('/v1/openapi.json');
  const issuer = await givenIntermediate(api.ca);
  const directory = await givenDirectory(api.ca, { issuer });
  const exampleFor = (path: string, method: string) =>
    JSON.parse(
      JSON.stringify(document.paths[path][method].requestBody.content['application/json'].example)
        .replaceAll(/scrt_[0-9a-z]{26}/g, formatId('scrt', issuer.id))
        .replaceAll(/dir_[0-9a-z]{26}/g, formatId('dir', directory.id)),
    );
  const collections = ['/v1/signing_certs', '/v1/directories', '/v1/external_bindings', '/v1/acme_keys'];
  for (const path of collections) {
    const made = await api.post(path, exampleFor(path, 'post'));
    expect(made).toMatchObject({ status: 201 });
    const changed = await api.put(`${path}/${made.body.id}`, exampleFor(`${path}/{id}`, 'put'));
    expect(changed).toMatchObject({ status: 200 });
  }
});

test('examples of what is in force are not revoked, and show what values look like', async () => {
  const { body: document } = await api.get('/v1/openapi.json');
  const exampleOf = (path: string) => document.paths[path].get.responses['200'].content['application/json'].example;
  expect(exampleOf('/v1/issued_certs/{id}')).toMatchObject({ state: 'valid', revoke_reason: null });
  expect(exampleOf('/v1/signing_certs/{id}')).toMatchObject({ key_availability: 'online', revoked_at: null });
  expect(exampleOf('/v1/orders/{id}')).toMatchObject({ state: 'valid', error: null });
  expect(JSON.stringify(document)).not.toContain('"text"');
});
