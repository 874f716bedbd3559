// /v1/audit_events, and with it the paging of every list.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordChange } from '../../src/core/audit-events.ts';
import { permissions } from '../../src/core/caller.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { testApi } from '../support/api-client.ts';

const alice = { kind: 'api_token', name: 'atok_01h455vb4pex5vsknk084sn02q', requestId: 'request-1' } as const;
const bob = { kind: 'custom_resource', name: 'shop/web' } as const;

let api: Awaited<ReturnType<typeof testApi>>;
const directory = newUuid(new Date());
const dir = formatId('dir', directory);

beforeAll(async () => {
  api = await testApi();
  const { ca } = api;
  await ca.database.inTransaction(async (tx) => {
    for (let index = 0; index < 5; index++) {
      ca.clock.advance(1000);
      const actor = index % 2 === 0 ? alice : bob;
      const fields = { name: `Web ${index}`, slug: 'web' };
      await recordChange(tx, actor, ca.clock.now(), {
        action: 'update',
        kind: 'directory',
        id: directory,
        before: { ...fields, name: 'Web' },
        after: fields,
      });
    }
    await recordChange(tx, bob, ca.clock.now(), {
      action: 'create',
      kind: 'external_binding',
      id: newUuid(ca.clock.now()),
      after: {
        name: 'Shop',
        mac_key: 'c2VjcmV0LW1hYw',
        nested: [{ private_key: 'c2VjcmV0LWtleQ' }],
        note: '-----BEGIN PRIVATE KEY-----\nc2VjcmV0LXBlbQ\n-----END PRIVATE KEY-----',
      },
    });
  });
});
afterAll(() => api[Symbol.asyncDispose]());

const namesOf = (answer: { body: { collection: { after: { name: string } }[] } }) =>
  answer.body.collection.map(({ after }) => after.name);

describe('an audit event', () => {
  test('says who changed what, when, from what to what', async () => {
    const { body } = await api.get(`/v1/audit_events?object_id=${dir}&limit=1`);
    expect(body).toMatchObject({
      more_results: true,
      collection: [
        {
          object: 'audit_event',
          created_at: '2026-05-17T12:00:05Z',
          actor_kind: 'api_token',
          actor: alice.name,
          action: 'update',
          object_kind: 'directory',
          object_id: dir,
          request_id: 'request-1',
          before: { name: 'Web' },
          after: { name: 'Web 4' },
        },
      ],
    });
    expect(body.collection[0].id).toMatch(/^audt_/);
    expect(body.collection[0].after).not.toHaveProperty('slug');
  });

  test('never holds a secret, at the door or in the table', async () => {
    const { text } = await api.get('/v1/audit_events');
    const { rows } = await sql<{ all: string }>`select json_agg(audit)::text as all from audit`.execute(
      api.ca.database.db,
    );
    expect(text).toContain('"name":"Shop"');
    for (const secret of ['c2VjcmV0LW1hYw', 'c2VjcmV0LWtleQ', 'c2VjcmV0LXBlbQ']) {
      expect(text).not.toContain(secret);
      expect(rows[0]?.all).not.toContain(secret);
    }
  });

  test('is not there when its change was not made', async () => {
    const { ca } = api;
    const lost = newUuid(ca.clock.now());
    const failing = ca.database.inTransaction(async (tx) => {
      await recordChange(tx, alice, ca.clock.now(), { action: 'delete', kind: 'directory', id: lost });
      throw new Error('the change failed');
    });
    await expect(failing).rejects.toThrow('the change failed');
    expect((await api.get(`/v1/audit_events?object_id=${formatId('dir', lost)}`)).body.collection).toEqual([]);
  });

  test('records the tokens of this test, made by a command', async () => {
    const { body } = await api.get('/v1/audit_events?actor=test');
    expect(body.collection.map((event: { after: object }) => event.after)).toEqual(
      expect.arrayContaining(permissions.map((permission) => ({ name: permission, permission, expires_at: null }))),
    );
    expect(body.collection[0]).toMatchObject({
      actor_kind: 'command',
      action: 'create',
      object_kind: 'api_token',
      request_id: null,
      before: null,
    });
    expect(body.collection[0].object_id).toMatch(/^atok_/);
  });
});

describe('a list', () => {
  test('is filtered by resource, by actor, and by both', async () => {
    expect(namesOf(await api.get(`/v1/audit_events?object_id=${dir}`))).toEqual([
      'Web 4',
      'Web 3',
      'Web 2',
      'Web 1',
      'Web 0',
    ]);
    expect(namesOf(await api.get('/v1/audit_events?actor=shop/web'))).toEqual(['Shop', 'Web 3', 'Web 1']);
    expect(namesOf(await api.get(`/v1/audit_events?actor=shop%2Fweb&object_id=${dir}`))).toEqual(['Web 3', 'Web 1']);
  });

  test('is empty where a filter names what nothing has', async () => {
    const { body } = await api.get('/v1/audit_events?object_id=ordr_01h455vb4pex5vsknk084sn02q');
    expect(body).toEqual({ collection: [], more_results: false });
  });

  test.each(['asc', 'desc'])('is read page by page, %s, by its links, each item once', async (direction) => {
    const whole = namesOf(await api.get(`/v1/audit_events?object_id=${dir}&direction=${direction}`));
    const seen: string[] = [];
    let next: string | undefined = `/v1/audit_events?object_id=${dir}&direction=${direction}&limit=2`;
    let pages = 0;
    while (next !== undefined) {
      const answer = await api.get(next);
      seen.push(...namesOf(answer));
      next = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
      pages++;
    }
    expect(seen).toEqual(whole);
    expect(pages).toBe(3);
  });

  test('whose last page is full has no next one', async () => {
    const { body, headers } = await api.get(`/v1/audit_events?object_id=${dir}&limit=5`);
    expect(body.more_results).toBe(false);
    expect(headers.has('link')).toBe(false);
  });

  test('keeps its pages while items are added at both ends', async () => {
    const { ca } = api;
    const other = newUuid(ca.clock.now());
    const id = formatId('ordr', other);
    const add = async (name: string) => {
      ca.clock.advance(1000);
      const change = { action: 'create', kind: 'order', id: other, after: { name } } as const;
      await ca.database.inTransaction((tx) => recordChange(tx, alice, ca.clock.now(), change));
    };
    for (const name of ['a', 'b', 'c', 'd']) await add(name);
    const first = await api.get(`/v1/audit_events?object_id=${id}&limit=2`);
    await add('e');
    const after = first.body.collection.at(-1).id;
    const second = await api.get(`/v1/audit_events?object_id=${id}&limit=2&after=${after}`);
    expect([...namesOf(first), ...namesOf(second)]).toEqual(['d', 'c', 'b', 'a']);
  });

  test.each([
    ['that nothing has', 'audt_01h455vb4pex5vsknk084sn02q'],
    ['of another kind', dir],
    ['that is no id', "'; drop table audit; --"],
  ])('cannot begin after an id %s', async (_what, after) => {
    const answer = await api.get(`/v1/audit_events?after=${encodeURIComponent(after)}`);
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'unknown_cursor', errors: [{ field: 'after', code: 'unknown_cursor' }] },
    });
  });

  test.each([
    ['after=', 'after bad_length'],
    ['limit=0', 'limit out_of_range'],
    ['limit=201', 'limit out_of_range'],
    ['direction=up', 'direction not_allowed'],
    ['sort=id', 'sort unknown_parameter'],
    ['actor=', 'actor bad_length'],
    ['object_id=shop', 'object_id bad_format'],
    [`object_id=${dir}&object_id=${dir}`, 'object_id repeated'],
  ])('with %s is 400', async (query, problem) => {
    const { status, body } = await api.get(`/v1/audit_events?${query}`);
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_query' });
    expect(body.errors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`)).toEqual([
      problem,
    ]);
  });

  test('answers HEAD like GET, without the body', async () => {
    const response = await fetch(`${api.url}/v1/audit_events`, { method: 'HEAD' });
    expect(response.status).toBe(401);
    expect(await response.text()).toBe('');
  });
});
