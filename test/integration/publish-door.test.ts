// The publication door: CA certificates for whoever asks, and refusals as lines of text.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { formatId } from '../../src/core/ids.ts';
import { admin } from '../support/given.ts';
import { givenIntermediate, givenRoot, givenSigningCert } from '../support/given-signing-cert.ts';
import { testPublish } from '../support/publish.ts';

const run = promisify(execFile);

async function openssl(args: readonly string[], input: Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-publish-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'file'), input);
  const { stdout } = await run('openssl', [...args, '-in', join(folder, 'file')]);
  return stdout;
}

test('the certificate of a CA is DER at the place that AIA names, for whoever asks', async () => {
  await using publish = await testPublish();
  const root = await givenRoot(publish.ca);

  const { status, headers, bytes } = await publish.get(`/ca/${formatId('scrt', root.id)}.crt`);

  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('application/pkix-cert');
  expect(headers.get('cache-control')).toBe('public, max-age=3600');
  expect(await openssl(['x509', '-inform', 'DER'], bytes)).toBe(root.publicCert);
});

test('the chain up to the root is there as PEM and as PKCS#7', async () => {
  await using publish = await testPublish();
  const root = await givenRoot(publish.ca);
  const issuing = await givenIntermediate(publish.ca, { parent: root });
  const path = `/ca/${formatId('scrt', issuing.id)}`;

  const pem = await publish.get(`${path}.pem`);
  const pkcs7 = await publish.get(`${path}.p7c`);

  expect(pem.headers.get('content-type')).toBe('application/pem-certificate-chain');
  expect(pem.bytes.toString()).toBe(`${issuing.publicCert}${root.publicCert}`);
  expect(pkcs7.headers.get('content-type')).toBe('application/pkcs7-mime; smime-type=certs-only');
  const printed = await openssl(['pkcs7', '-inform', 'DER', '-print_certs'], pkcs7.bytes);
  expect(printed.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g)?.join('')).toBe(
    pem.bytes.toString(),
  );
});

test('the certificate of a deleted CA stays', async () => {
  await using publish = await testPublish();
  const root = await givenRoot(publish.ca);
  await deleteSigningCert(publish.ca, admin, root.id);

  expect((await publish.get(`/ca/${formatId('scrt', root.id)}.crt`)).status).toBe(200);
});

test('who has a file already is told so, without its bytes', async () => {
  await using publish = await testPublish();
  const { id } = await givenRoot(publish.ca);
  const path = `/ca/${formatId('scrt', id)}.crt`;
  const { headers } = await publish.get(path);
  const tag = headers.get('etag') ?? '';
  const since = headers.get('last-modified') ?? '';
  const statusWith = async (sent: Record<string, string>) => (await publish.get(path, sent)).status;

  const notModified = await publish.get(path, { 'If-None-Match': tag });
  expect(notModified).toMatchObject({ status: 304, bytes: Buffer.alloc(0) });
  expect(notModified.headers.get('etag')).toBe(tag);
  expect(notModified.headers.get('cache-control')).toBe(headers.get('cache-control'));
  expect(await statusWith({ 'If-None-Match': `"another", W/${tag}` })).toBe(304);
  expect(await statusWith({ 'If-None-Match': '*' })).toBe(304);
  expect(await statusWith({ 'If-Modified-Since': since })).toBe(304);
  expect(await statusWith({ 'If-None-Match': '"another"', 'If-Modified-Since': since })).toBe(200);
  expect(await statusWith({ 'If-Modified-Since': 'yesterday' })).toBe(200);
  expect(await statusWith({ 'If-Modified-Since': new Date(Date.parse(since) - 1000).toUTCString() })).toBe(200);
});

test('HEAD has the headers of GET and no body', async () => {
  await using publish = await testPublish();
  const { id } = await givenRoot(publish.ca);
  const path = `/ca/${formatId('scrt', id)}.crt`;

  const [get, head] = [await publish.get(path), await publish.head(path)];

  expect(head.status).toBe(200);
  expect(head.bytes).toHaveLength(0);
  for (const name of ['content-length', 'content-type', 'etag', 'last-modified', 'expires'])
    expect(head.headers.get(name)).toBe(get.headers.get(name));
});

test('what is not published is refused in one line of text', async () => {
  await using publish = await testPublish();
  const waiting = await givenSigningCert(publish.ca, { cert_type: 'intermediate', name: 'Waiting' });
  const { id } = await givenRoot(publish.ca);
  const scrt = formatId('scrt', id);
  const missing = ['/', '/ca/', '/ca/x.crt', `/ca/${formatId('scrt', waiting.id)}.crt`, `/ca/${id}.crt`, `/ca/${scrt}`];

  for (const path of missing) {
    const { status, headers, bytes } = await publish.get(path);
    expect(status, path).toBe(404);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(bytes.toString()).toMatch(/^[^\n]+\.\n$/);
  }
  const posted = await publish.post(`/ca/${scrt}.crt`, 'text/plain', Buffer.from('x'));
  expect(posted.status).toBe(405);
  expect(posted.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
});
