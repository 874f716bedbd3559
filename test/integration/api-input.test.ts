// What the door does with requests that are not as they should be, over real HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testApi } from '../support/api-client.ts';
import { sampleRoutes } from '../support/sample-routes.ts';

const ID = 'dir_01h455vb4pex5vsknk084sn02q';
const UUID = '01890a5d-ac96-774b-bcce-b302099a8057';
const SCRT = 'scrt_01k5w3v8q2e7rbs9x4m6tfhz0j';
const minimal = { name: 'Web', slug: 'web', signing_cert_id: SCRT };
const json = { 'Content-Type': 'application/json' };

let api: Awaited<ReturnType<typeof testApi>>;
beforeAll(async () => {
  api = await testApi({ routes: sampleRoutes });
});
afterAll(() => api[Symbol.asyncDispose]());

const problemsOf = ({ body }: { body: { errors: { field: string; code: string }[] } }) =>
  body.errors.map(({ field, code }) => `${field} ${code}`);

describe('a body', () => {
  test.each([
    ['no JSON', '{"directory": ', []],
    ['empty', '', []],
    ['only white space', '  ', []],
    ['a member twice', '{"directory": {"name": "a", "name": "b"}}', ['directory.name duplicate_member']],
    [
      'a member twice, once escaped',
      '{"directory": {"name": "a", "n\\u0061me": "b"}}',
      ['directory.name duplicate_member'],
    ],
    ['a NUL', '{"directory": {"name": "a\\u0000"}}', ['directory.name bad_text']],
    ['half a surrogate pair', '{"directory": {"name": "\\ud800"}}', ['directory.name bad_text']],
    ['a huge number', '{"directory": {"cert_max_days": 1e400}}', ['directory.cert_max_days number_out_of_range']],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), []],
    ['two values', '{} {}', []],
    ['a comment', '{/* */}', []],
  ])('with %s is 400 malformed_json', async (_what, bytes, problems) => {
    const answer = await api.send('POST', '/v1/samples', bytes, { headers: json });
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } });
    expect(problemsOf(answer)).toEqual(problems);
  });

  test('nested too deeply is 400, however deep', async () => {
    for (const depth of [21, 100_000]) {
      const bytes = '['.repeat(depth) + ']'.repeat(depth);
      const answer = await api.send('POST', '/v1/samples', bytes, { headers: json });
      expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } });
      expect(answer.text.length).toBeLessThan(1000);
    }
  });

  test('with very many values is 400', async () => {
    const bytes = `{"directory": [${'0,'.repeat(20_000)}0]}`;
    expect((await api.send('POST', '/v1/samples', bytes, { headers: json })).status).toBe(400);
  });

  test('over 256 KiB is 413', async () => {
    const bytes = JSON.stringify({ directory: { name: 'a'.repeat(256 * 1024) } });
    const answer = await api.send('POST', '/v1/samples', bytes, { headers: json });
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
  });

  test.each([
    ['none', {}],
    ['plain text', { 'Content-Type': 'text/plain' }],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['another JSON', { 'Content-Type': 'application/merge-patch+json' }],
    ['a longer name', { 'Content-Type': 'application/jsonx' }],
  ])('of media type: %s is 415', async (_what, headers) => {
    const answer = await api.send('POST', '/v1/samples', JSON.stringify({ directory: minimal }), { headers });
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    expect(answer.headers.get('accept')).toBe('application/json');
  });

  test('that is not JSON is told where it ceases to be', async () => {
    const detailFor = async (bytes: string) =>
      (await api.send('POST', '/v1/samples', bytes, { headers: json })).body.detail;
    expect(await detailFor('{\n  "directory": {},\n}')).toBe(
      'The body is not JSON: what stands at line 3, column 1 is not expected there.',
    );
    expect(await detailFor('{"directory": ')).toBe('The body is not JSON: it ends too early.');
  });

  test('of another media type is told which came', async () => {
    const headers = { 'Content-Type': 'text/plain' };
    const answer = await api.send('POST', '/v1/samples', JSON.stringify({ directory: minimal }), { headers });
    expect(answer.body.detail).toBe('Content-Type: application/json is expected, and "text/plain" came.');
  });

  test('in a content coding is 415', async () => {
    const headers = { ...json, 'Content-Encoding': 'gzip' };
    const answer = await api.send('POST', '/v1/samples', JSON.stringify({ directory: minimal }), { headers });
    expect(answer.status).toBe(415);
  });

  test.each(['application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json ;x="y"'])(
    'of media type %s is read',
    async (type) => {
      const headers = { 'Content-Type': type };
      const answer = await api.send('POST', '/v1/samples', JSON.stringify({ directory: minimal }), { headers });
      expect(answer.status).toBe(201);
    },
  );

  test('gets all its problems at once, each at the field as it was written', async () => {
    const answer = await api.post('/v1/samples', {
      directory: {
        slug: 'Not A Slug',
        signing_cert_id: "'; drop table directories; --",
        cert_max_days: '90',
        allowed_dns_identifiers: ['**', 'a..b'],
        on_missing_caa: 'maybe',
        signing_cert: 1,
        remote_ip_whitelist: 'all',
      },
    });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer).sort()).toEqual([
      'directory.allowed_dns_identifiers[1] bad_format',
      'directory.cert_max_days wrong_type',
      'directory.name required',
      'directory.on_missing_caa not_allowed',
      'directory.remote_ip_whitelist wrong_type',
      'directory.signing_cert unknown_field',
      'directory.signing_cert_id bad_format',
      'directory.slug bad_format',
    ]);
    expect(answer.body.detail).toContain('and 5 more');
  });

  test.each([
    [
      'without its wrapper',
      minimal,
      ['directory required', 'name unknown_field', 'signing_cert_id unknown_field', 'slug unknown_field'],
    ],
    ['with another member beside it', { directory: minimal, order: {} }, ['order unknown_field']],
    ['whose wrapper holds null', { directory: null }, ['directory wrong_type']],
    ['that is a list', [], [' wrong_type']],
    ['that is null', null, [' wrong_type']],
    ['with __proto__', JSON.parse('{"directory": {"name": "a", "__proto__": {}}}'), undefined],
  ])('%s is 422', async (_what, body, problems) => {
    const answer = await api.post('/v1/samples', body);
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    if (problems !== undefined) expect(problemsOf(answer).sort()).toEqual(problems);
  });

  test('may hold read-only fields of any value, which do nothing', async () => {
    const directory = { ...minimal, id: 7, object: null, directory_url: 'https://evil.example', cert_chain: {} };
    const answer = await api.post('/v1/samples', { directory });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body)).not.toContain('directory_url');
    expect(answer.headers.get('location')).toBe(`/v1/samples/${ID}`);
  });

  test('of an update may be empty inside, and fills in no defaults', async () => {
    const answer = await api.put(`/v1/samples/${ID}`, { directory: {} });
    expect(answer).toMatchObject({ status: 200, body: { body: {}, params: { id: UUID } } });
  });

  test('is ignored on a DELETE that takes none, whatever it is', async () => {
    const bytes = '{{{'.repeat(200_000);
    expect((await api.send('DELETE', `/v1/samples/${ID}`, bytes, { headers: { 'Content-Type': 'x/y' } })).status).toBe(
      202,
    );
  });

  test('may be left out where an empty resource means something, and is read where it is there', async () => {
    const path = '/v1/samples/icrt_01h455vb4pex5vsknk084sn02q/reason';
    expect((await api.delete(path)).body).toEqual({});
    expect((await api.delete(path, { issued_cert: { reason: 4 } })).body).toEqual({ reason: 4 });
    const answer = await api.delete(path, { issued_cert: { reason: 6, revoke_reason: 'boredom' } });
    expect(problemsOf(answer)).toEqual(['issued_cert.reason not_allowed', 'issued_cert.revoke_reason not_allowed']);
  });
});

test('a body that wraps nothing names its fields as they are', async () => {
  const path = `/v1/samples/${ID}/explain`;
  expect((await api.post(path, { identifiers: ['a'] })).body).toEqual({ identifiers: ['a'] });
  expect(problemsOf(await api.post(path, { identifiers: ['a', 1, 'c'], identifier: 'a' })).sort()).toEqual([
    'identifier unknown_field',
    'identifiers bad_count',
    'identifiers[1] wrong_type',
  ]);
  expect(await api.send('POST', path, '', { headers: json })).toMatchObject({
    status: 400,
    body: { detail: 'A JSON body is expected, such as {...}, and none came.' },
  });
});

describe('a query', () => {
  const filter = `directory_id=${ID}`;
  test.each([
    ['an unknown parameter', `${filter}&limmit=5`, ['limmit unknown_parameter']],
    ['a repeated one', `${filter}&limit=5&limit=6`, ['limit repeated']],
    ['a limit of 0', `${filter}&limit=0`, ['limit out_of_range']],
    ['a limit of 201', `${filter}&limit=201`, ['limit out_of_range']],
    ['a limit that is no number', `${filter}&limit=ten`, ['limit wrong_type']],
    ['a limit with a fraction', `${filter}&limit=1.5`, ['limit wrong_type']],
    ['an empty limit', `${filter}&limit=`, ['limit wrong_type']],
    ['a value outside the enum', `${filter}&state=pending`, ['state not_allowed']],
    ['an empty enum', `${filter}&state=`, ['state not_allowed']],
    ['an id of another kind', 'directory_id=eab_01h455vb4pex5vsknk084sn02q', ['directory_id bad_format']],
    ['SQL for an id', "directory_id=dir_'%20or%201=1", ['directory_id bad_format']],
    ['a NUL', `${filter}&state=valid%00`, ['state bad_text']],
    ['a time without a zone', `${filter}&expires_before=2026-01-01T00:00:00`, ['expires_before bad_format']],
    ['no filter', '', ['directory_id required']],
    ['only an empty filter', 'acme_key_id=', ['directory_id required']],
    ['several faults', 'limit=x&foo=1', ['limit wrong_type', 'foo unknown_parameter', 'directory_id required']],
    [
      'a name from Object',
      `${filter}&__proto__=1&constructor=2`,
      ['__proto__ unknown_parameter', 'constructor unknown_parameter'],
    ],
  ])('with %s is 400 and names the parameter', async (_what, query, problems) => {
    const answer = await api.get(`/v1/samples?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
    expect(problemsOf(answer).sort()).toEqual([...problems].sort());
  });

  test('with very many parameters is 400, in few words', async () => {
    const answer = await api.get(`/v1/samples?${Array.from({ length: 2000 }, (_, index) => `x${index}`).join('&')}`);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
    expect(answer.text.length).toBeLessThan(500);
  });

  test('suggests what was probably meant', async () => {
    const { body } = await api.get(`/v1/samples?${filter}&limmit=5`);
    expect(body.detail).toBe('limmit: there is no parameter "limmit" here; did you mean "limit"?');
  });

  test('gives the handler values of its own types', async () => {
    const { body } = await api.get(`/v1/samples?${filter}&acme_key_id=&expires_before=2026-01-01T01:00:00%2B01:00`);
    expect(body.query).toEqual({
      limit: 50,
      directory_id: UUID,
      acme_key_id: '',
      expires_before: '2026-01-01T00:00:00.000Z',
    });
  });

  test('may have to hold a parameter', async () => {
    expect(problemsOf(await api.delete(`/v1/samples/${ID}/rest`))).toEqual(['state required']);
    expect((await api.delete(`/v1/samples/${ID}/rest?state=revoked`)).status).toBe(204);
  });

  test('is refused by a route that takes none', async () => {
    expect(problemsOf(await api.get(`/v1/samples/${ID}?x=1`))).toEqual(['x unknown_parameter']);
  });
});

describe('an id in the path', () => {
  test.each([
    ['that nothing has', ID],
    ['of another kind', 'eab_01h455vb4pex5vsknk084sn02q'],
    ['in upper case', ID.toUpperCase()],
    ['that is SQL', "dir_'; drop table orders; --"],
    ['that is a NUL', '%00'],
    ['that is very long', `dir_${'0'.repeat(4000)}`],
    ['with a slash', 'dir_%2F..%2F..'],
  ])('%s is 404', async (_what, id) => {
    const answer = await api.get(`/v1/samples/${id}`);
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(answer.body.detail).toMatch(/^There is no directory /);
    expect(answer.text.length).toBeLessThan(500);
  });
});

describe('a refusal', () => {
  test('of the core names its field inside the wrapper', async () => {
    const answer = await api.post('/v1/samples', { directory: { ...minimal, name: 'slug_taken' } });
    expect(answer).toMatchObject({
      status: 422,
      body: {
        type: '/v1/docs#slug_taken',
        title: 'Slug taken',
        status: 422,
        detail: 'Slug web is taken.',
        code: 'slug_taken',
        errors: [{ field: 'directory.slug', code: 'slug_taken', message: 'Slug web is taken.' }],
      },
    });
  });

  test('that is a bug tells nothing but the request id', async () => {
    const send = api.post('/v1/samples', { directory: { ...minimal, name: 'bug' } });
    await expect(send).rejects.toThrow('is a bug');
    const text = await send.catch((error: Error) => error.message);
    expect(text).toContain('"code":"internal"');
    expect(text).not.toContain('swordfish');
  });

  test('of an unknown path needs no credential', async () => {
    expect(await api.get('/v1/nothing', { as: 'nobody' })).toMatchObject({
      status: 404,
      body: { code: 'not_found', detail: expect.stringContaining('/v1/docs describes it') },
    });
  });

  test('of a method names those that the path takes', async () => {
    const answer = await api.send('DELETE', '/v1/samples', undefined, { as: 'nobody' });
    expect(answer).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    expect(answer.headers.get('allow')).toBe('GET, POST, HEAD, OPTIONS');
  });

  test('carries the request id that the caller gave', async () => {
    const answer = await api.get('/v1/samples', { headers: { 'X-Request-Id': 'deploy-4711-a' } });
    expect(answer.body.request_id).toBe('deploy-4711-a');
  });
});
