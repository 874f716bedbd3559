// Requests per client address: what is over the limit is refused before its body is read, and costs little.
import { expect, test } from 'vitest';
import { apiDoor } from '../../src/api/door.ts';
import { apiRoutes } from '../../src/api/routes.ts';
import { requestLimiter } from '../../src/http/request-limiter.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { testCa } from '../support/ca.ts';
import { capturedLog } from '../support/captured-log.ts';
import { listening, row } from '../support/listening.ts';

const get = row('GET', '/g', () => ({ status: 200, body: 'ok' }));
const post = row('POST', '/p', ({ body }) => ({ status: 200, body: `took ${body.length}` }));
// The window is longer than any test.
const perHour = (count: number) => ({ count, perMs: 3_600_000 });

function limiterOf(count: number, mostAddresses?: number) {
  const captured = capturedLog();
  const metrics = createMetrics();
  return {
    ...captured,
    metrics,
    limiter: requestLimiter(perHour(count), createEvents(captured.log, metrics), mostAddresses),
  };
}

test('SEC-30: what is over the limit is told to come later, with a whole number of seconds', async () => {
  const { limiter, metrics, records } = limiterOf(3);
  await using server = await listening({ routes: [get], limitRequests: limiter });
  const statuses = [];
  for (let request = 0; request < 3; request++) statuses.push((await fetch(server.url('/g'))).status);
  const [refused, again] = [await fetch(server.url('/g')), await fetch(server.url('/g'))];

  expect([...statuses, refused.status, again.status]).toEqual([200, 200, 200, 429, 429]);
  expect(refused.headers.get('Retry-After')).toBe('60');
  expect(await refused.json()).toMatchObject({ code: 'too_many_requests', status: 429 });
  expect(await metrics.text()).toContain('acmery_limit_hits_total{limit="requests"} 2');
  expect(records()).toMatchObject([{ message: 'limit reached', limit: 'requests', who: '127.0.0.1' }]);
});

test('SEC-30: paths that nobody knows count too, and a refused request is answered before its body came', async () => {
  const { limiter } = limiterOf(1);
  await using server = await listening({ routes: [post], limitRequests: limiter });
  await fetch(server.url('/nothing'));
  using client = await server.raw();
  client.send('POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n');
  expect(await client.until(/too_many_requests/)).toContain('HTTP/1.1 429');
});

test('SEC-37: behind a trusted proxy each client has its own count; a stranger cannot choose whose he is counted by', async () => {
  const { limiter } = limiterOf(1);
  await using server = await listening({ routes: [get], limitRequests: limiter, trusted: ['127.0.0.1'] });
  const from = async (client: string) =>
    (await fetch(server.url('/g'), { headers: { 'X-Forwarded-For': client } })).status;
  expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([200, 429, 200]);
  expect(await from('198.51.100.9, 192.0.2.1')).toBe(429);
  expect([await from('2001:db8::1'), await from('2001:db8::2'), await from('2001:db8:0:1::1')]).toEqual([
    200, 429, 200,
  ]);
});

test('without a trusted proxy the header does not matter', async () => {
  const { limiter } = limiterOf(1);
  await using server = await listening({ routes: [get], limitRequests: limiter });
  const from = async (client: string) =>
    (await fetch(server.url('/g'), { headers: { 'X-Forwarded-For': client } })).status;
  expect([await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([200, 429]);
});

test('SEC-30: no number of addresses makes it remember more than its bound; those of long ago are forgotten first', async () => {
  const { limiter } = limiterOf(1, 100);
  const ask = async (client: string) => (await limiter?.(client)) === undefined;
  expect(await ask('192.0.2.1')).toBe(true);
  for (let n = 0; n < 99; n++) await ask(`10.0.0.${n}`);
  expect(await ask('192.0.2.1')).toBe(false);
  for (let n = 0; n < 99; n++) await ask(`10.0.1.${n}`);
  expect(await ask('192.0.2.1')).toBe(false);
  for (let n = 0; n < 100; n++) await ask(`10.0.2.${n}`);
  expect(await ask('192.0.2.1')).toBe(true);
});

test('off is no limiter at all', () => {
  expect(requestLimiter('off', createEvents(capturedLog().log, createMetrics()))).toBeUndefined();
});

test('/v1 says so in its own words', async () => {
  await using given = await testCa();
  const { limiter } = limiterOf(1);
  const door = apiDoor({ ca: given.ca, routes: apiRoutes('1.2.3') });
  await using server = await listening({ ...door, limitRequests: limiter });
  const [welcome, refused] = [await fetch(server.url('/v1/openapi.json')), await fetch(server.url('/v1/openapi.json'))];
  expect(welcome.status).toBe(200);
  expect(await refused.json()).toMatchObject({
    code: 'too_many_requests',
    type: '/v1/docs#too_many_requests',
    status: 429,
    request_id: expect.any(String),
  });
});
