// Answers to TokenReviews that a real API server rarely gives, and many who ask at once.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { clusterCallerReview } from '../../src/kubernetes/token-review.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { apiServer, json, status } from '../support/api-server.ts';
import { capturedLog } from '../support/captured-log.ts';
import { eventually } from '../support/eventually.ts';
import { gate } from '../support/listening.ts';

const user = { username: 'jo', uid: '7', groups: ['dev'], extra: { 'authentication.kubernetes.io/pod-name': ['p'] } };
const authenticated = { authenticated: true, user, audiences: ['acmery.io'] };
const never = new AbortController().signal;

type Given = {
  readonly token?: object;
  /** Of the reviews of tokens. */
  readonly before?: () => Promise<void>;
  readonly refuse?: (path: string) => number | undefined;
};

async function given({ token = authenticated, before, refuse }: Given = {}) {
  const reviews: { path: string; spec: Record<string, unknown> }[] = [];
  const api = await apiServer(async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    const { spec } = JSON.parse(await text(request));
    reviews.push({ path, spec });
    if (path.endsWith('tokenreviews')) await before?.();
    const refused = refuse?.(path);
    if (refused !== undefined) return json(response, refused, status('Refused', 'no'));
    const allowed = spec.resourceAttributes?.name !== 'admin';
    json(response, 201, { status: path.endsWith('tokenreviews') ? token : { allowed } });
  });
  const captured = capturedLog();
  const metrics = createMetrics();
  const events = createEvents(captured.log, metrics);
  const review = clusterCallerReview({ cluster: api.cluster, events });
  return {
    review: (bearer = 'token', signal: AbortSignal = never) => review.review(bearer, signal),
    reviews,
    ofTokens: () => reviews.filter(({ path }) => path.endsWith('tokenreviews')),
    metrics,
    log: captured.text,
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

test('the token is asked about for our audience, and who it is, as it came, for each level', async () => {
  await using it = await given();
  expect(await it.review()).toEqual({ outcome: 'known', caller: { name: 'jo', permission: 'write' } });
  expect(it.ofTokens()[0]?.spec).toEqual({ token: 'token', audiences: ['acmery.io'] });
  const { username, ...rest } = user;
  const asked = it.reviews.filter(({ path }) => path.endsWith('subjectaccessreviews')).map(({ spec }) => spec);
  expect(asked).toHaveLength(3);
  for (const name of ['read', 'write', 'admin']) {
    const resourceAttributes = { group: 'acmery.io', resource: 'permissions', name, verb: 'use' };
    expect(asked).toContainEqual({ user: username, ...rest, resourceAttributes });
  }
});

test.each([
  ['that is not authenticated', { authenticated: false, user, audiences: ['acmery.io'] }],
  ['of an authenticator that knows no audiences', { authenticated: true, user }],
  ['for other audiences', { authenticated: true, user, audiences: ['vault'] }],
  ['of nobody', { authenticated: true, user: {}, audiences: ['acmery.io'] }],
  ['without a status', undefined],
])('a token %s is unknown', async (_what, token) => {
  await using it = await given({ ...(token && { token }), ...(!token && { token: {} }) });
  expect(await it.review()).toEqual({ outcome: 'unknown' });
  expect(it.reviews).toHaveLength(1);
});

test.each(['tokenreviews', 'subjectaccessreviews'])(
  'an error of %s lets nobody in and is not remembered',
  async (what) => {
    let code: number | undefined = 500;
    await using it = await given({ refuse: (path) => (path.endsWith(what) ? code : undefined) });
    expect(await it.review()).toMatchObject({ outcome: 'unavailable' });
    code = undefined;
    expect(await it.review()).toMatchObject({ outcome: 'known' });
    expect(await it.metrics.text()).toContain('acmery_token_reviews_total{outcome="unavailable"} 1');
  },
);

test('many with one token ask once; who goes away takes nobody along', async () => {
  const open = gate();
  await using it = await given({ before: () => open.promise });
  const leaving = new AbortController();
  const left = it.review('token', leaving.signal);
  const staying = Array.from({ length: 20 }, () => it.review());
  await eventually('it is asked', () => it.ofTokens().length === 1);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  open.resolve();
  expect(new Set((await Promise.all(staying)).map(({ outcome }) => outcome))).toEqual(new Set(['known']));
  expect(it.ofTokens()).toHaveLength(1);
});

test('of many tokens 16 are asked about at once, 256 wait, and the others are told to come again', async () => {
  const open = gate();
  await using it = await given({ before: () => open.promise });
  const asked = Array.from({ length: 300 }, (_, index) => it.review(`token-${index}`));
  await eventually('16 are asked about', () => it.ofTokens().length === 16);
  const refused = await Promise.all(asked.slice(272));
  expect(new Set(refused.map(({ outcome }) => outcome))).toEqual(new Set(['unavailable']));
  expect(it.ofTokens()).toHaveLength(16);
  open.resolve();
  const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'known')).toHaveLength(272);
});

test('a token stands in no log', async () => {
  await using it = await given({ refuse: () => 500 });
  await it.review('very-secret-token');
  expect(it.log()).toContain('tokens of the cluster cannot be checked now');
  expect(it.log()).not.toContain('very-secret-token');
});

test.each([
  [403, 'Use an API token'],
  [500, 'Try again'],
])('who may not ask, or gets no answer (%i), says what helps', async (code, expected) => {
  await using it = await given({ refuse: () => code });
  expect(await it.review()).toMatchObject({ outcome: 'unavailable', detail: expect.stringContaining(expected) });
});
