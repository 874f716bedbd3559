// /v1/openapi.json and /v1/docs as they are served.
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testApi } from '../support/api-client.ts';

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
