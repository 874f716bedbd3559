// The permission matrix, made from the route table: every route, asked with every kind of credential (SEC-12, SEC-38).
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiDoor } from '../../src/api/door.ts';
import type { Review } from '../../src/api/ports.ts';
import type { ApiRoute } from '../../src/api/route.ts';
import { apiRoutes } from '../../src/api/routes.ts';
import { createApiToken, listApiTokens, revokeApiToken } from '../../src/core/api-tokens.ts';
import { type Permission, permissions } from '../../src/core/caller.ts';
import { objectKinds } from '../../src/core/object-kinds.ts';
import { testApi, type Who } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { sampleRoutes } from '../support/sample-routes.ts';

const command = { kind: 'command', name: 'test' } as const;
const routes = [...apiRoutes('0.0.0-test'), ...sampleRoutes];

/** Tokens of the cluster, as a TokenReview would see them. */
const cluster: Readonly<Record<string, Review>> = {
  'e30.known.sig': { outcome: 'known', caller: { name: 'system:serviceaccount:shop:deployer', permission: 'write' } },
  'e30.powerless.sig': { outcome: 'known', caller: { name: 'system:serviceaccount:shop:idle', permission: undefined } },
  'e30.away.sig': { outcome: 'unavailable', detail: 'The API server does not answer; try again.' },
};
const callerReview = {
  review: async (token: string): Promise<Review> => cluster[token] ?? { outcome: 'unknown' },
};

type Credential = { readonly name: string; readonly holds: Permission | 'nothing' | 401 | 503; readonly who: Who };

let api: Awaited<ReturnType<typeof testApi>>;
const credentials: Credential[] = [
  { name: 'no credential', holds: 401, who: 'nobody' },
  { name: 'garbage', holds: 401, who: { token: 'garbage' } },
  { name: 'an API token that nobody made', holds: 401, who: { token: `acmery_${'A'.repeat(43)}` } },
  ...permissions.map((level) => ({ name: `an API token for ${level}`, holds: level, who: level })),
  { name: 'the bootstrap token', holds: 'admin', who: 'bootstrap' },
  { name: 'a ServiceAccount token for write', holds: 'write', who: { token: 'e30.known.sig' } },
  { name: 'a ServiceAccount token for nothing', holds: 'nothing', who: { token: 'e30.powerless.sig' } },
  { name: 'a ServiceAccount token that nobody can check now', holds: 503, who: { token: 'e30.away.sig' } },
  { name: 'an unknown ServiceAccount token', holds: 401, who: { token: 'e30.unknown.sig' } },
];

beforeAll(async () => {
  api = await testApi({ routes, callerReview });
  const { ca } = api;
  const expired = await createApiToken(ca, command, { name: 'expired', permission: 'admin', livesMs: 1 });
  ca.clock.advance(1);
  const revoked = await createApiToken(ca, command, { name: 'revoked', permission: 'admin' });
  await revokeApiToken(ca, command, revoked.view.id);
  credentials.push({ name: 'an expired admin token', holds: 401, who: expired });
  credentials.push({ name: 'a revoked admin token', holds: 401, who: revoked });
});
afterAll(() => api[Symbol.asyncDispose]());

/** A request that would be refused for its id, query and body if the credential were not looked at first. */
const badRequest = ({ path, params = {} }: ApiRoute) =>
  `${Object.keys(params).reduce((url, name) => url.replace(`:${name}`, 'no-id'), path)}?no_parameter=1`;

const goodRequest = ({ path, params = {} }: ApiRoute) =>
  Object.entries(params).reduce(
    (url, [name, kind]) => url.replace(`:${name}`, `${objectKinds[kind].prefix}_01h455vb4pex5vsknk084sn02q`),
    path,
  );

const allowed = (row: ApiRoute, holds: Credential['holds']): number | undefined => {
  if (row.permission === 'none') return undefined;
  if (typeof holds === 'number') return holds;
  return holds !== 'nothing' && permissions.indexOf(holds) >= permissions.indexOf(row.permission) ? undefined : 403;
};

describe.each(routes.map((row) => [`${row.method} ${row.path}`, row] as const))('%s', (_name, row) => {
  test('SEC-12: asks for its permission before it looks at anything else', async () => {
    for (const { name, holds, who } of credentials) {
      const body = row.method === 'GET' ? undefined : '{not json';
      const answer = await api.send(row.method, badRequest(row), body, { as: who });
      expect(`${name}: ${answer.status}`).toBe(`${name}: ${allowed(row, holds) ?? 400}`);
    }
  });

  test('lets those in who hold it', async () => {
    for (const { name, holds, who } of credentials) {
      if (allowed(row, holds) !== undefined) continue;
      const answer = await api.send(row.method, goodRequest(row), undefined, { as: who });
      expect([401, 403], name).not.toContain(answer.status);
    }
  });
});

describe('a refused credential', () => {
  test('is told which kind is expected', async () => {
    const answer = await api.get('/v1/audit_events', { as: 'nobody' });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.body).toMatchObject({ code: 'missing_credential', title: 'Missing credential', errors: [] });
  });

  test.each(['Basic YWRtaW46YWRtaW4=', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearer "x"', 'bearertoken'])(
    'of the form %s is none',
    async (authorization) => {
      const answer = await api.get('/v1/audit_events', { as: 'nobody', headers: { Authorization: authorization } });
      expect(answer).toMatchObject({ status: 401, body: { code: 'missing_credential' } });
    },
  );

  test('learns why it is not accepted, and never sees itself', async () => {
    const reasons: Readonly<Record<string, string>> = {
      garbage: 'This token is not known here.',
      'an expired admin token': 'This token has expired; ask for a new one.',
      'a revoked admin token': 'This token has been revoked; ask for a new one.',
    };
    for (const { name, who } of credentials) {
      if (reasons[name] === undefined) continue;
      const { headers, body, text } = await api.get('/v1/audit_events', { as: who });
      expect(body).toMatchObject({ code: 'invalid_credential', detail: reasons[name] });
      expect(headers.get('www-authenticate')).toBe(
        `Bearer error="invalid_token", error_description="${reasons[name]}"`,
      );
      if (typeof who === 'object') expect(text).not.toContain(who.token);
    }
  });

  test('of too low a level learns the one it needs', async () => {
    const answer = await api.get('/v1/audit_events', { as: 'write' });
    expect(answer.body).toMatchObject({
      code: 'permission_denied',
      detail: 'This needs permission admin; the credential has write.',
    });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="admin"');
  });

  test('is no secret in the log', async () => {
    await api.get('/v1/audit_events', { as: { token: 'acmery_this-would-be-a-secret' } });
    expect(api.logLines.join('')).not.toContain('this-would-be-a-secret');
  });
});

describe('an accepted credential', () => {
  const filter = 'directory_id=dir_01h455vb4pex5vsknk084sn02q';
  const callerOf = async (as: Who) =>
    (await api.get(`/v1/samples?${filter}`, { as, headers: { 'X-Request-Id': 'request-1' } })).body.caller;

  test('becomes the caller whom audit records name', async () => {
    const [read] = (await listApiTokens(api.ca)).filter(({ name }) => name === 'read');
    const requestId = 'request-1';
    expect(await callerOf('read')).toEqual({ kind: 'api_token', name: read?.id, permission: 'read', requestId });
    expect(await callerOf('bootstrap')).toEqual({
      kind: 'bootstrap',
      name: 'bootstrap',
      permission: 'admin',
      requestId,
    });
    expect(await callerOf({ token: 'e30.known.sig' })).toEqual({
      kind: 'service_account',
      name: 'system:serviceaccount:shop:deployer',
      permission: 'write',
      requestId,
    });
  });

  test('may be written with any case of Bearer', async () => {
    const { token } = await createApiToken(api.ca, command, { name: 'case', permission: 'admin' });
    const headers = { Authorization: `bEaReR ${token}` };
    expect((await api.get('/v1/audit_events', { as: 'nobody', headers })).status).toBe(200);
  });

  test('ends at once when it is revoked, and on its last moment when it expires', async () => {
    const { ca } = api;
    const { token, view } = await createApiToken(ca, command, { name: 'short', permission: 'admin', livesMs: 1000 });
    expect((await api.get('/v1/audit_events', { as: { token } })).status).toBe(200);
    ca.clock.advance(999);
    expect((await api.get('/v1/audit_events', { as: { token } })).status).toBe(200);
    ca.clock.advance(1);
    expect((await api.get('/v1/audit_events', { as: { token } })).status).toBe(401);

    const other = await createApiToken(ca, command, { name: 'revoked soon', permission: 'admin' });
    expect((await api.get('/v1/audit_events', { as: other })).status).toBe(200);
    await revokeApiToken(ca, command, other.view.id);
    expect((await api.get('/v1/audit_events', { as: other })).status).toBe(401);
    await expect(revokeApiToken(ca, command, other.view.id)).rejects.toMatchObject({ kind: 'already_revoked' });
    expect((await listApiTokens(ca)).find(({ id }) => id === view.id)?.state).toBe('expired');
  });

  test('notes its last day of use', async () => {
    const { ca } = api;
    const { token, view } = await createApiToken(ca, command, { name: 'used', permission: 'admin' });
    const lastUsedOn = async () => (await listApiTokens(ca)).find(({ id }) => id === view.id)?.lastUsedOn;
    expect(await lastUsedOn()).toBeUndefined();

    await api.get('/v1/audit_events', { as: { token } });
    const today = ca.clock.now().toISOString().slice(0, 10);
    await eventually('the day is noted', async () => (await lastUsedOn()) === today);

    ca.clock.advance(DAY_MS);
    await api.get('/v1/audit_events', { as: { token } });
    const tomorrow = ca.clock.now().toISOString().slice(0, 10);
    await eventually('the next day is noted', async () => (await lastUsedOn()) === tomorrow);
  });
});

describe('the service', () => {
  test('refuses a bootstrap token that could be guessed', async () => {
    expect(() => apiDoor({ ca: api.ca, routes, bootstrapToken: 'x'.repeat(31) })).toThrow('at least 32 characters');
  });

  test('without a cluster takes tokens of one for unknown', async () => {
    await using alone = await testApi();
    expect((await alone.get('/v1/audit_events', { as: { token: 'e30.known.sig' } })).status).toBe(401);
  });

  test('answers although the day of use cannot be noted, and logs that', async () => {
    await using alone = await testApi();
    await sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no stamps today'; end $$`.execute(
      alone.ca.database.db,
    );
    await sql`
      create trigger no_stamps before update of last_used_on on api_tokens for each row execute function refuse()`.execute(
      alone.ca.database.db,
    );
    expect((await alone.get('/v1/audit_events')).status).toBe(200);
    await eventually('the failure is logged', () => alone.logLines.join('').includes('no stamps today'));
  });

  test('says 503 while its database is away', async () => {
    await using alone = await testApi();
    await alone.ca.database.close();
    const answer = await alone.get('/v1/audit_events');
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/);
    expect(answer.text).not.toContain('Postgres');
  });
});
