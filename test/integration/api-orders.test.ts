// /v1/orders: every line of the interface about orders, over real HTTP.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { statesOf } from '../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../src/lifecycles/order.ts';
import { moveOrder } from '../../src/store/move.ts';
import { testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { type GivenAccount, givenAccount, givenOrder } from '../support/given-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

let api: Awaited<ReturnType<typeof testApi>>;
let issuing: { readonly id: string };
let account: GivenAccount;
beforeAll(async () => {
  api = await testApi();
  issuing = await givenIntermediate(api.ca);
});
beforeEach(async () => {
  account = await givenAccount(api.ca, issuing);
});
afterAll(() => api[Symbol.asyncDispose]());

const pathOf = (id: string) => `/v1/orders/${formatId('ordr', id)}`;
const byDirectory = () => `/v1/orders?directory_id=${formatId('dir', account.directoryId)}`;
const ids = (answer: { body: { collection: { id: string }[] } }) => answer.body.collection.map(({ id }) => id);
const idsOf = (...orders: readonly string[]) => orders.map((id) => formatId('ordr', id));

/** What the statement that reserves writes. */
const reserved = () => ({
  signing_cert_id: issuing.id,
  issued_cert_id: newUuid(api.ca.clock.now()),
  serial: Buffer.from('01', 'hex'),
  tbs: Buffer.from('tbs'),
  csr_sha256: Buffer.from('csr'),
  key_thumbprint: Buffer.from('key'),
  due_at: api.ca.clock.now(),
});

describe('one order', () => {
  test('is shown with every field, its times to the millisecond', async () => {
    api.ca.clock.advance(123);
    const id = await givenOrder(api.ca, account, {
      identifiers: [
        { type: 'dns', value: 'shop.corp.example' },
        { type: 'ip', value: '10.1.2.3' },
        { type: 'dns', value: '*.corp.example' },
        { type: 'ip', value: 'fd00::1' },
      ],
      not_before: new Date('2026-06-01T00:00:00Z'),
      not_after: new Date('2026-07-01T00:00:00Z'),
    });
    const { status, body } = await api.get(pathOf(id), { as: 'read' });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: formatId('ordr', id),
      object: 'order',
      acme_key_id: formatId('acmk', account.acmeKeyId),
      directory_id: formatId('dir', account.directoryId),
      created_at: '2026-05-17T12:00:00.123Z',
      expires_at: '2026-05-24T12:00:00.123Z',
      dns_identifiers: ['shop.corp.example', '*.corp.example'],
      ip_identifiers: ['10.1.2.3', 'fd00::1'],
      not_before: '2026-06-01T00:00:00Z',
      not_after: '2026-07-01T00:00:00Z',
      state: 'pending',
      error: null,
    });
  });

  test('has null for dates that were not asked for, and empty lists', async () => {
    const { body } = await api.get(pathOf(await givenOrder(api.ca, account)));
    expect(body).toMatchObject({ not_before: null, not_after: null, ip_identifiers: [] });
  });

  test('that is valid holds its issued cert, without certificates', async () => {
    const cert = await givenIssuedCert(api.ca, account);
    const { body } = await api.get(pathOf(cert.orderId));
    const {
      public_cert: _public,
      cert_chain: _chain,
      ...shown
    } = (await api.get(`/v1/issued_certs/${formatId('icrt', cert.id)}`)).body;
    expect(body).toMatchObject({ state: 'valid', issued_cert: shown });
    expect(Object.keys(body.issued_cert)).toEqual(Object.keys(shown));
  });

  test('that is not valid holds none, reserved or not', async () => {
    for (const wanted of [{}, { state: 'processing', ...reserved() } as const])
      expect((await api.get(pathOf(await givenOrder(api.ca, account, wanted)))).body).not.toHaveProperty('issued_cert');
  });

  test('outlives its certificate', async () => {
    const id = await givenOrder(api.ca, account, { state: 'valid', issued_cert_id: newUuid(api.ca.clock.now()) });
    const { status, body } = await api.get(pathOf(id));
    expect({ status, state: body.state }).toEqual({ status: 200, state: 'valid' });
  });

  test.each(['pending', 'ready'] as const)('that is %s past its end is invalid', async (state) => {
    const id = await givenOrder(api.ca, account, { state, expires_at: new Date(api.ca.clock.now().getTime() + 1) });
    expect((await api.get(pathOf(id))).body.state).toBe(state);
    api.ca.clock.advance(1);
    expect((await api.get(pathOf(id))).body.state).toBe('invalid');
  });

  test('that is processing or valid past its end stays so', async () => {
    const processing = await givenOrder(api.ca, account, { state: 'processing', ...reserved() });
    const { orderId } = await givenIssuedCert(api.ca, account);
    api.ca.clock.advance(8 * DAY_MS);
    expect((await api.get(pathOf(processing))).body.state).toBe('processing');
    expect((await api.get(pathOf(orderId))).body.state).toBe('valid');
  });

  test('with an unknown id is not found', async () => {
    for (const id of [
      formatId('ordr', newUuid(new Date())),
      formatId('dir', newUuid(new Date())),
      'ordr_',
      '1%20or%201=1',
    ])
      for (const { status, body } of [await api.get(`/v1/orders/${id}`), await api.delete(`/v1/orders/${id}`)])
        expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' });
  });
});

describe('the list', () => {
  test('asks for one of two ids', async () => {
    for (const query of ['', '?state=valid', '?directory_id=']) {
      const { status, body } = await api.get(`/v1/orders${query}`);
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_query' });
    }
  });

  test('shows the newest first, and no errors or certificates', async () => {
    const first = await givenOrder(api.ca, account);
    api.ca.clock.advance(1);
    const { orderId: second } = await givenIssuedCert(api.ca, account);
    const answer = await api.get(byDirectory(), { as: 'read' });
    expect(ids(answer)).toEqual(idsOf(second, first));
    expect(Object.keys(answer.body.collection[0])).toEqual([
      'id',
      'object',
      'acme_key_id',
      'directory_id',
      'created_at',
      'expires_at',
      'dns_identifiers',
      'ip_identifiers',
      'not_before',
      'not_after',
      'state',
    ]);
    expect(ids(await api.get(`${byDirectory()}&direction=asc`))).toEqual(idsOf(first, second));
  });

  test('filters by account key, by directory, and by both', async () => {
    const other = await givenAccount(api.ca, issuing, account.directoryId);
    const stranger = await givenAccount(api.ca, issuing);
    const own = await givenOrder(api.ca, account);
    api.ca.clock.advance(1);
    const neighbour = await givenOrder(api.ca, other);
    await givenOrder(api.ca, stranger);
    const key = `acme_key_id=${formatId('acmk', account.acmeKeyId)}`;
    expect(ids(await api.get(byDirectory()))).toEqual(idsOf(neighbour, own));
    expect(ids(await api.get(`/v1/orders?${key}`))).toEqual(idsOf(own));
    expect(ids(await api.get(`${byDirectory()}&${key}`))).toEqual(idsOf(own));
    expect(ids(await api.get(`/v1/orders?${key}&directory_id=${formatId('dir', stranger.directoryId)}`))).toEqual([]);
    expect(ids(await api.get(`/v1/orders?acme_key_id=${formatId('acmk', newUuid(new Date()))}`))).toEqual([]);
  });

  test('filters by the state that is shown, whatever is stored', async () => {
    const soon = new Date(api.ca.clock.now().getTime() + 1000);
    const orders: string[] = [];
    for (const wanted of [
      { state: 'pending' },
      { state: 'pending', expires_at: soon },
      { state: 'ready' },
      { state: 'ready', expires_at: soon },
      { state: 'processing', ...reserved() },
      { state: 'valid', issued_cert_id: newUuid(soon) },
      { state: 'invalid' },
    ] as const) {
      orders.push(await givenOrder(api.ca, account, wanted));
      api.ca.clock.advance(1);
    }
    await givenOrder(api.ca, await givenAccount(api.ca, issuing), { expires_at: soon });
    api.ca.clock.advance(1000);
    const [pending = '', overdue = '', ready = '', late = '', processing = '', valid = '', invalid = ''] = orders;
    const listed = async (state: string, more = '') => ids(await api.get(`${byDirectory()}&state=${state}${more}`));
    expect(await listed('pending')).toEqual(idsOf(pending));
    expect(await listed('ready')).toEqual(idsOf(ready));
    expect(await listed('processing')).toEqual(idsOf(processing));
    expect(await listed('valid')).toEqual(idsOf(valid));
    expect(await listed('invalid')).toEqual(idsOf(invalid, late, overdue));
    expect(await listed('invalid', '&direction=asc')).toEqual(idsOf(overdue, late, invalid));
    expect(await listed('invalid', `&acme_key_id=${formatId('acmk', account.acmeKeyId)}`)).toEqual(
      idsOf(invalid, late, overdue),
    );
    for (const state of statesOf(orderLifecycle))
      for (const order of (await api.get(`${byDirectory()}&state=${state}`)).body.collection)
        expect(order.state).toBe(state);
  });

  test.each(['asc', 'desc'])('pages %s through what is invalid and what has become so', async (direction) => {
    const soon = new Date(api.ca.clock.now().getTime() + 1000);
    for (let count = 0; count < 7; count++) {
      await givenOrder(api.ca, account, count % 2 === 0 ? { state: 'invalid' } : { expires_at: soon });
    }
    api.ca.clock.advance(1000);
    const query = `${byDirectory()}&state=invalid&direction=${direction}`;
    const whole = ids(await api.get(query));
    expect(whole).toEqual(direction === 'asc' ? whole.toSorted() : whole.toSorted().toReversed());
    const seen: string[] = [];
    for (let next: string | undefined = `${query}&limit=3`; next !== undefined; ) {
      const page = await api.get(next);
      seen.push(...ids(page));
      next = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(seen).toHaveLength(7);
    expect(seen).toEqual(whole);
  });

  test.each(['state=gone', 'direction=up', 'limit=201', 'sort=id', 'after=', 'identifier=a'])(
    'refuses %s, naming the parameter',
    async (query) => {
      const { status, body } = await api.get(`${byDirectory()}&${query}`);
      expect({ status, field: body.errors[0].field }).toEqual({ status: 400, field: query.split('=')[0] });
    },
  );

  test('refuses a cursor that does not exist', async () => {
    for (const state of ['', '&state=invalid', '&state=pending']) {
      const { status, body } = await api.get(`${byDirectory()}${state}&after=${formatId('ordr', newUuid(new Date()))}`);
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'unknown_cursor' });
    }
  });
});

describe('a cancellation', () => {
  test.each(['pending', 'ready'] as const)('makes a %s order invalid and says who did it', async (state) => {
    const id = await givenOrder(api.ca, account, { state });
    const answer = await api.delete(pathOf(id));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id: formatId('ordr', id),
      state: 'invalid',
      error: {
        type: 'urn:ietf:params:acme:error:unauthorized',
        detail: 'The order was cancelled by an administrator.',
      },
    });
    expect((await api.get(pathOf(id))).body).toEqual(answer.body);
    const { body } = await api.get(`/v1/audit_events?object_id=${formatId('ordr', id)}`);
    expect(body.collection).toMatchObject([
      {
        action: 'cancel',
        object_kind: 'order',
        request_id: answer.headers.get('x-request-id'),
        before: { state },
        after: { state: 'invalid' },
      },
    ]);
  });

  test('of an order in any other state is refused with that state', async () => {
    const soon = new Date(api.ca.clock.now().getTime() + 1);
    const orders = {
      processing: await givenOrder(api.ca, account, { state: 'processing', ...reserved() }),
      valid: (await givenIssuedCert(api.ca, account)).orderId,
      invalid: await givenOrder(api.ca, account, { state: 'invalid' }),
    };
    const overdue = await givenOrder(api.ca, account, { expires_at: soon });
    api.ca.clock.advance(1);
    for (const [state, id] of [...Object.entries(orders), ['invalid', overdue] as const]) {
      const { status, body } = await api.delete(pathOf(id));
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'order_not_open' });
      expect(body.detail).toContain(`is ${state};`);
    }
    const { db } = api.ca.database;
    const stored = await db.selectFrom('orders').select('state').where('id', '=', overdue).executeTakeFirst();
    expect(stored).toEqual({ state: 'pending' });
  });

  test('of fifty at once: one succeeds', async () => {
    const id = await givenOrder(api.ca, account);
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.delete(pathOf(id))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status, body }) => status === 422 && body.code === 'order_not_open')).toHaveLength(49);
  });

  test('that meets its client: either it is cancelled or it goes on', async () => {
    const { db } = api.ca.database;
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const id = await givenOrder(api.ca, account, { state: 'ready' });
        const [answer, moved] = await Promise.all([
          api.delete(pathOf(id)),
          moveOrder(db, id, 'processing', { set: reserved() }),
        ]);
        return { status: answer.status, moved: moved !== undefined, state: (await api.get(pathOf(id))).body.state };
      }),
    );
    for (const outcome of outcomes)
      expect(outcome).toEqual(
        outcome.moved
          ? { status: 422, moved: true, state: 'processing' }
          : { status: 200, moved: false, state: 'invalid' },
      );
  });

  test('ignores a body', async () => {
    const id = await givenOrder(api.ca, account);
    expect((await api.delete(pathOf(id), { order: { reason: 1 } })).status).toBe(200);
  });
});
