// Everything that is wrong with a body is told at once, each fault at its field: what schemas see, and what they cannot see.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { testApi } from '../support/api-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

let api: Awaited<ReturnType<typeof testApi>>;
let issuer: string;
let directory: string;

beforeAll(async () => {
  api = await testApi();
  const made = await givenIntermediate(api.ca);
  issuer = formatId('scrt', made.id);
  directory = formatId('dir', (await givenDirectory(api.ca, { issuer: made })).id);
});
afterAll(() => api[Symbol.asyncDispose]());

type Answer = { readonly body: { readonly errors: readonly { readonly field: string; readonly code: string }[] } };
const problemsOf = ({ body }: Answer) => body.errors.map(({ field, code }) => `${field} ${code}`).sort();

describe('a directory', () => {
  const post = (fields: object) =>
    api.post('/v1/directories', { directory: { name: 'Web', slug: 'web', signing_cert_id: issuer, ...fields } });

  test('with a bad slug, days in the wrong order and an address for a name', async () => {
    const answer = await post({
      slug: '-',
      cert_min_days: 10,
      cert_max_days: 5,
      allowed_dns_identifiers: ['10.0.0.1'],
      remote_ip_whitelist: ['10.0.0.1/8'],
    });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer)).toEqual([
      'directory.allowed_dns_identifiers[0] bad_format',
      'directory.cert_min_days out_of_range',
      'directory.remote_ip_whitelist[0] bad_format',
      'directory.slug bad_format',
    ]);
  });

  test('with one limit that does not fit the default of the other', async () => {
    expect(problemsOf(await post({ slug: '-', cert_min_days: 98 }))).toContain('directory.cert_min_days out_of_range');
  });

  test('with a limit that is no number hears nothing of its order', async () => {
    const fields = { cert_min_days: 98, cert_max_days: 'many' };
    expect(problemsOf(await post(fields))).toEqual(['directory.cert_max_days wrong_type']);
  });

  test('that is changed hears of both, too', async () => {
    const fields = { slug: '-', cert_min_days: 10, cert_max_days: 5 };
    expect(problemsOf(await api.put(`/v1/directories/${directory}`, { directory: fields }))).toEqual([
      'directory.cert_min_days out_of_range',
      'directory.slug bad_format',
    ]);
  });
});

describe('a CA cert', () => {
  const post = (fields: object) =>
    api.post('/v1/signing_certs', { signing_cert: { cert_type: 'root', key_availability: 'online', ...fields } });

  test('with an unknown field, and without one that its way of creation needs', async () => {
    expect(problemsOf(await post({ colour: 'red', public_cert: 5, valid_days: 10 }))).toEqual([
      'signing_cert.colour unknown_field',
      'signing_cert.private_key required',
      'signing_cert.public_cert wrong_type',
      'signing_cert.valid_days not_applicable',
    ]);
  });

  test('whose way of creation is not known hears only what is certain', async () => {
    expect(problemsOf(await post({ cert_type: 'leaf', valid_days: 0, in_use: 1 }))).toEqual([
      'signing_cert.cert_type not_allowed',
      'signing_cert.valid_days out_of_range',
    ]);
  });
});

describe('an account key', () => {
  const both = { contacts: ['nobody'], public_key: 'x' };
  const bothProblems = ['acme_key.contacts[0] bad_format', 'acme_key.public_key wrong_pem'];

  test('with a bad contact and a key that is no PEM', async () => {
    const answer = await api.post('/v1/acme_keys', { acme_key: { directory_id: directory, ...both } });
    expect(problemsOf(answer)).toEqual(bothProblems);
  });

  test('that is revoked with both reasons and an unknown field', async () => {
    const path = '/v1/acme_keys/acmk_01h455vb4pex5vsknk084sn02q';
    const answer = await api.delete(path, { acme_key: { reason: 1, revoke_reason: 'superseded', why: 'x' } });
    expect(problemsOf(answer)).toEqual(['acme_key.revoke_reason not_applicable', 'acme_key.why unknown_field']);
  });
});

test('an EAB token that is to change its directory and its key id', async () => {
  const made = await api.post('/v1/external_bindings', { external_binding: { directory_id: directory } });
  const answer = await api.put(`/v1/external_bindings/${made.body.id}`, {
    external_binding: { directory_id: 'dir_01h455vb4pex5vsknk084sn02q', key_id: 'other' },
  });
  expect(answer).toMatchObject({ status: 422, body: { code: 'immutable' } });
  expect(problemsOf(answer)).toEqual(['external_binding.directory_id immutable', 'external_binding.key_id immutable']);
});

test('an order to explain, of a client without an address', async () => {
  const answer = await api.post(`/v1/directories/${directory}/explain`, {
    identifiers: [],
    remote_ip: 'localhost',
    not_before: 'today',
  });
  expect(answer.status).toBe(422);
  expect(problemsOf(answer)).toEqual(['identifiers bad_count', 'not_before bad_format', 'remote_ip bad_format']);
});

test('the parameters of a list, each with what it expects', async () => {
  const time = 'expires_before=2027-01-01T00:00:00+02:00';
  const { body } = await api.get(`/v1/issued_certs?directory_id=${directory}&serial=xyz&${time}`);
  expect(body.detail).toBe(
    'serial: expected a serial number in hex, such as 7f01 or 7F:01, got "xyz"; expires_before: expected a timestamp ' +
      'with a zone, such as 2026-03-01T12:00:00Z, got "2027-01-01T00:00:00 02:00"; write + as %2B in a URL.',
  );
});

test('the detail names fields as the caller wrote them, whoever found the fault', async () => {
  const fields = { cert_min_days: 10, cert_max_days: 5, remote_ip_whitelist: ['10.0.0.1/8'] };
  const { body } = await api.put(`/v1/directories/${directory}`, { directory: fields });
  expect(body.detail).toBe(
    'directory.remote_ip_whitelist[0]: 10.0.0.1/8 has bits set after its prefix; write 10.0.0.0/8 for the range or ' +
      '10.0.0.1 for the address; directory.cert_min_days: cert_min_days (10) must not be above cert_max_days (5).',
  );
});
