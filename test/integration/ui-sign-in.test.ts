// Signing in to the pages for people: which token, how long, what the cookie is and is not, and who else may try.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Review } from '../../src/api/ports.ts';
import { createApiToken, revokeApiToken } from '../../src/core/api-tokens.ts';
import { LONGEST_TOKEN, SESSION_MS } from '../../src/ui/session.ts';
import { cookieIn, OWN_FORM, type TestUi, testUi, type UiAnswer } from '../support/ui.ts';

const BOOTSTRAP = 'a-bootstrap-token-as-long-as-it-needs-to-be';
const reviews: Readonly<Record<string, Review>> = {
  'e30.known.sig': { outcome: 'known', caller: { name: 'system:serviceaccount:shop:viewer', permission: 'read' } },
  'e30.powerless.sig': { outcome: 'known', caller: { name: 'system:serviceaccount:shop:idle', permission: undefined } },
  'e30.away.sig': { outcome: 'unavailable', detail: 'The API server does not answer; try again.' },
};
const command = { kind: 'command', name: 'test' } as const;

let ui: TestUi;
beforeAll(async () => {
  ui = await testUi({
    bootstrapToken: BOOTSTRAP,
    callerReview: { review: async (token) => reviews[token] ?? { outcome: 'unknown' } },
  });
});
afterAll(() => ui[Symbol.asyncDispose]());

const headerOf = ({ headers }: UiAnswer, name: string): string => [headers[name]].flat().join();
const titleOf = ({ text }: UiAnswer): string | undefined => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];
const complaintOf = ({ text }: UiAnswer): string | undefined => /role="alert"[^>]*>([^<]*)</.exec(text)?.[1];

describe('a session', () => {
  test('is a cookie that scripts cannot read, that goes over HTTPS to /ui alone, and to no request of another site', async () => {
    const answer = await ui.ask('/ui/sign-in', { form: { token: ui.tokens.read, next: '/ui/orders' } });
    expect(answer.status).toBe(303);
    expect(headerOf(answer, 'location')).toBe('/ui/signed-in?next=%2Fui%2Forders');
    expect(headerOf(answer, 'set-cookie')).toMatch(
      /^__Secure-acmery_ui=[\w-]+; Max-Age=28800; Path=\/ui; HttpOnly; Secure; SameSite=Strict$/,
    );
    const on = await ui.ask('/ui/signed-in?next=%2Fui%2Forders', { cookie: cookieIn(answer) });
    expect(headerOf(on, 'location')).toBe('/ui/orders');
  });

  test('does not hold the token in any form that opens it, and differs each time', async () => {
    const [one, other] = [await ui.signIn(ui.tokens.read), await ui.signIn(ui.tokens.read)];
    expect(one).not.toBe(other);
    const sealed = Buffer.from(one.split('=')[1] ?? '', 'base64url').toString('latin1');
    expect(sealed).not.toContain(ui.tokens.read);
    expect(sealed).not.toContain(ui.tokens.read.slice(0, 12));
  });

  test('is no credential of /v1', async () => {
    const cookie = await ui.signIn(ui.tokens.admin);
    expect((await ui.ask('/v1/directories', { cookie })).status).toBe(401);
    const bearer = { Authorization: `Bearer ${cookie.split('=')[1]}` };
    expect((await ui.ask('/v1/directories', { headers: bearer })).status).toBe(401);
  });

  test('ends after eight hours, and says so', async () => {
    const cookie = await ui.signIn(ui.tokens.read);
    ui.ca.clock.advance(SESSION_MS - 1);
    expect((await ui.ask('/ui', { cookie })).status).toBe(200);
    ui.ca.clock.advance(1);
    const answer = await ui.ask('/ui/orders', { cookie });
    expect(answer.status).toBe(401);
    expect(complaintOf(answer)).toBe('Your session has ended. Sign in again.');
    expect(headerOf(answer, 'set-cookie')).toMatch(/^__Secure-acmery_ui=; Max-Age=0; Path=\/ui;/);
    expect(answer.text).toContain('<input type="hidden" name="next" value="/ui/orders">');
  });

  test('ends with its token, at once', async () => {
    const revoked = await createApiToken(ui.ca, command, { name: 'revoked', permission: 'admin' });
    const cookie = await ui.signIn(revoked.token);
    expect((await ui.ask('/ui', { cookie })).status).toBe(200);
    await revokeApiToken(ui.ca, command, revoked.view.id);
    const answer = await ui.ask('/ui', { cookie });
    expect(answer.status).toBe(401);
    expect(complaintOf(answer)).toBe('This token has been revoked; ask for a new one.');

    const short = await createApiToken(ui.ca, command, { name: 'short', permission: 'admin', livesMs: 1_000 });
    const second = await ui.signIn(short.token);
    ui.ca.clock.advance(1_000);
    expect(complaintOf(await ui.ask('/ui', { cookie: second }))).toBe('This token has expired; ask for a new one.');
  });

  test('is refused where a bit of it is changed, where it is of another kind, and where two come', async () => {
    const cookie = await ui.signIn(ui.tokens.read);
    const [name = '', value = ''] = cookie.split('=');
    const bytes = Buffer.from(value, 'base64url');
    for (const at of [0, 1, 13, 40, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      const answer = await ui.ask('/ui', { cookie: `${name}=${changed.toString('base64url')}` });
      expect(answer.status, String(at)).toBe(401);
    }
    for (const bad of ['', 'x', '%00', bytes.subarray(0, 20).toString('base64url'), ui.tokens.read])
      expect((await ui.ask('/ui', { cookie: `${name}=${bad}` })).status, bad).toBe(401);
    const other = await ui.signIn(ui.tokens.admin);
    expect((await ui.ask('/ui', { cookie: `${cookie}; ${other}` })).status).toBe(401);
    expect((await ui.ask('/ui', { cookie: `a=b; ${cookie}; c=d` })).status).toBe(200);
  });

  test('is forgotten by signing out', async () => {
    const cookie = await ui.signIn(ui.tokens.read);
    const answer = await ui.ask('/ui/sign-out', { cookie, form: {} });
    expect(answer).toMatchObject({ status: 303, headers: { location: '/ui/sign-in' } });
    expect(cookieIn(answer)).toBe('__Secure-acmery_ui=');
  });

  test('that the browser has not kept is told of, instead of asking for the token again', async () => {
    const answer = await ui.ask('/ui/signed-in?next=%2Fui');
    expect(answer.status).toBe(400);
    expect(titleOf(answer)).toBe('Your browser did not keep the cookie');
  });
});

describe('a token', () => {
  test.each([
    ['of the bootstrap', BOOTSTRAP, 'bootstrap token, may admin'],
    ['of a ServiceAccount', 'e30.known.sig', 'system:serviceaccount:shop:viewer</span>, may read'],
  ])('%s signs in, and the page says who that is', async (_name, token, who) => {
    const answer = await ui.ask('/ui', { cookie: await ui.signIn(token) });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(who);
  });

  test.each([
    ['nobody made', `acmery_${'A'.repeat(43)}`, 401, 'This token is not known here.'],
    ['may do nothing', 'e30.powerless.sig', 403, 'This needs permission read; the credential has none.'],
    ['is empty', '  ', 422, 'Paste a token into the field.'],
    [
      'has a line break in it',
      'abc\ndef',
      422,
      'This is no token: tokens have no spaces, quotes or line breaks in them.',
    ],
    ['is markup', '"><script>', 422, 'This is no token: tokens have no spaces, quotes or line breaks in them.'],
    [
      'is longer than a cookie',
      'a'.repeat(LONGEST_TOKEN + 1),
      422,
      `This is longer than the ${LONGEST_TOKEN} characters that a cookie can hold.`,
    ],
  ])('that %s is refused beside the field, and not repeated', async (_name, token, status, complaint) => {
    const answer = await ui.ask('/ui/sign-in', { form: { token, next: '/ui/orders' } });
    expect(answer.status).toBe(status);
    expect(complaintOf(answer)).toBe(complaint);
    expect(cookieIn(answer)).toBe('');
    expect(answer.text).toContain('name="next" value="/ui/orders"');
    if (token.trim() !== '') expect(answer.text).not.toContain(token.trim());
  });

  test('that nobody can check now is not taken for a bad one', async () => {
    const answer = await ui.ask('/ui/sign-in', { form: { token: 'e30.away.sig' } });
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('The API server does not answer; try again.');
    expect(answer.headers['retry-after']).toMatch(/^[1-5]$/);
  });

  test('of the greatest length still fits into the cookie of a browser', async () => {
    const token = 'e30.long.'.padEnd(LONGEST_TOKEN, 'a');
    const long = { ...reviews, [token]: reviews['e30.known.sig'] ?? { outcome: 'unknown' } };
    await using own = await testUi({
      callerReview: { review: async (asked) => long[asked] ?? { outcome: 'unknown' } },
    });
    expect((await own.signIn(token)).length).toBeLessThanOrEqual(4_096);
  });

  test('and the cookie made of it are in no log line; who signed in is', async () => {
    const cookie = await ui.signIn(ui.tokens.admin);
    await ui.ask('/ui', { cookie });
    await ui.ask('/ui/sign-in', { form: { token: 'a-wrong-token-of-somebody' } });
    const log = ui.logLines.join('\n');
    for (const secret of [ui.tokens.admin, cookie.split('=')[1] ?? '', 'a-wrong-token-of-somebody', BOOTSTRAP])
      expect(log).not.toContain(secret);
    expect(log).toContain('signed in to the status page');
    expect(log).toContain('sign-in to the status page refused');
    expect(log).toContain('"route":"/ui/sign-in"');
    expect(await ui.metrics()).toMatch(/acmery_ui_sign_ins_total\{outcome="accepted"\} [1-9]/);
  });
});

describe('another site', () => {
  test.each(['/ui/sign-in', '/ui/sign-out'])('cannot make a browser send %s', async (path) => {
    const form = { token: ui.tokens.admin, next: '/ui' };
    for (const headers of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'none' },
    ]) {
      const answer = await ui.ask(path, { form, headers });
      expect(answer.status).toBe(403);
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect(titleOf(answer)).toBe('Not sent from this page');
    }
  });

  test('is told by its origin where the browser says nothing else', async () => {
    const { host } = new URL(ui.url);
    const body = { 'Content-Type': OWN_FORM['Content-Type'] };
    const send = (headers: Readonly<Record<string, string>>) =>
      fetchForm({ ...body, ...headers }, new URLSearchParams({ token: ui.tokens.read }).toString());
    expect(await send({ Origin: `https://${host}` })).toBe(303);
    expect(await send({ Origin: 'https://evil.example' })).toBe(403);
    expect(await send({})).toBe(403);
  });

  test('leads nowhere but to pages of /ui', async () => {
    for (const next of [
      'https://evil.example/',
      '//evil.example',
      '/v1/orders',
      '/ui/sign-out',
      'javascript:alert(1)',
    ]) {
      const answer = await ui.ask('/ui/sign-in', { form: { token: ui.tokens.read, next } });
      expect(answer.headers.location).toBe('/ui/signed-in?next=%2Fui');
      const cookie = cookieIn(answer);
      const on = await ui.ask(`/ui/signed-in?next=${encodeURIComponent(next)}`, { cookie });
      expect(on.headers.location).toBe('/ui');
    }
  });

  test('may link here: the page that the browser shows first goes on by itself, and its address is text', async () => {
    const led = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    const answer = await ui.ask('/ui/orders?state=invalid&x="><script>', { headers: led });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(
      '<meta http-equiv="refresh" content="0; url=/ui/orders?state=invalid&amp;x=%22%3E%3Cscript%3E">',
    );
    // From our own page there is a cookie, or none.
    const next = await ui.ask('/ui/orders', { headers: { ...led, 'Sec-Fetch-Site': 'same-origin' } });
    expect(next.status).toBe(401);
  });

  test('can neither frame nor read a page', async () => {
    const { headers } = await ui.page('/ui');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  const fetchForm = async (headers: Readonly<Record<string, string>>, text: string): Promise<number> => {
    const answer = await ui.ask('/ui/sign-in', { method: 'POST', headers, body: text });
    return answer.status;
  };
});
