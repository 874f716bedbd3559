// The log: what a line holds, in both forms, and what it never holds.
import { describe, expect, test } from 'vitest';
import { capturedLog } from '../../support/captured-log.ts';

const SECRET = 'hunter2-hunter2-hunter2';

describe('a JSON line', () => {
  test('holds level, time, message and the fields, and nothing of the process', () => {
    const { log, records } = capturedLog();

    log.info({ door: 'acme', status: 200 }, 'request');

    expect(records()).toEqual([
      { level: 'info', time: expect.stringMatching(/^\d{4}-.*Z$/), door: 'acme', status: 200, message: 'request' },
    ]);
  });

  test('takes a message alone, percent signs and all', () => {
    const { log, records } = capturedLog();

    log.warn('100%% of %s and %d');

    expect(records()).toMatchObject([{ level: 'warn', message: '100%% of %s and %d' }]);
  });

  test('carries the fields of its child log', () => {
    const { log, records } = capturedLog();

    log.child({ door: 'api' }).child({ requestId: 'r1' }).error({ status: 500 }, 'request');

    expect(records()).toMatchObject([{ door: 'api', requestId: 'r1', status: 500 }]);
  });

  test('is not written below the level', () => {
    const { log, lines } = capturedLog({ level: 'warn' });

    log.info('no');
    log.debug('no');
    log.warn('yes');

    expect(lines).toHaveLength(1);
  });
});

describe('errors', () => {
  test('are written with name, code, message, stack and causes, without what hangs on them', () => {
    const { log, records, text } = capturedLog();
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', client: { host: 'db' } });
    const error = Object.assign(new Error('query failed', { cause }), {
      code: '57P01',
      client: { connectionParameters: { database: 'hanging-on' } },
    });

    log.error({ error }, 'internal error');

    expect(records()).toMatchObject([
      {
        error: {
          name: 'Error',
          code: '57P01',
          message: 'query failed',
          stack: expect.stringContaining('log.test.ts'),
          cause: { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' },
        },
      },
    ]);
    expect(text()).not.toContain('hanging-on');
    expect(text()).not.toContain('"client"');
  });

  test('keep the errors inside an AggregateError', () => {
    const { log, records } = capturedLog();

    log.error({ error: new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]) }, 'away');

    expect(records()).toMatchObject([
      { error: { errors: [{ message: '::1 refused' }, { message: '127.0.0.1 refused' }] } },
    ]);
  });

  test('that cause each other in a circle end', () => {
    const { log, lines } = capturedLog();
    const first = new Error('first');
    first.cause = new Error('second', { cause: first });

    log.error({ error: first }, 'circle');

    expect(lines).toHaveLength(1);
  });
});

describe('no secret is written', () => {
  const privateKey = `-----BEGIN EC PRIVATE KEY-----\n${SECRET}\n-----END EC PRIVATE KEY-----`;
  const shapes: readonly (readonly [string, Record<string, unknown>])[] = [
    ['an authorization header', { headers: { authorization: `Bearer ${SECRET}` } }],
    ['a header of another case', { headers: { 'Proxy-Authorization': SECRET, 'Set-Cookie': [SECRET] } }],
    ['a token', { token: SECRET, bootstrapToken: SECRET, api_tokens: [SECRET] }],
    ['keys', { body: { external_binding: { mac_key: SECRET, macKey: SECRET } }, private_key: privateKey }],
    ['a key object', { wrapKey: { bytes: SECRET } }],
    ['an hmac', { hmac: SECRET, 'mac-key': SECRET }],
    ['the private members of a JWK', { jwk: { kty: 'EC', crv: 'P-256', x: 'x', d: SECRET } }],
    ['a URL with a password', { url: `postgres://acmery:${SECRET}@db:5432/acmery` }],
    ['a URL with an odd password', { url: `postgres://acmery:${SECRET}/@${SECRET}@db/acmery` }],
    ['a password as a parameter', { detail: `host=db password=${SECRET} dbname=x`, url: `/x?token=${SECRET}&a=1` }],
    ['a URL with a parameter of a longer name', { url: `/x?access_token=${SECRET}`, note: `PGPASSWORD=${SECRET}` }],
    ['an API token in a path', { path: `/v1/acmery_${SECRET}${'x'.repeat(43 - SECRET.length)}` }],
    ['the token of a ServiceAccount', { note: `token eyJhbGciOiJub25lIn0.eyJ${SECRET}.c2ln is not valid` }],
    ['a sealing key', { text: `-----BEGIN ACMERY SEALING KEY-----\n${SECRET}\n-----END ACMERY SEALING KEY-----` }],
    ['a PEM key in a list deep inside', { a: { b: { c: [{ note: `see ${privateKey}` }] } } }],
    ['a PEM key without its end', { note: privateKey.slice(0, -10) }],
    ['bytes', { body: Buffer.from(SECRET), array: new Uint8Array(Buffer.from(SECRET)) }],
    ['an error', { error: new Error(`bad URL postgres://u:${SECRET}@h`, { cause: new Error(`Bearer ${SECRET}`) }) }],
  ];
  const encodings = [SECRET, JSON.stringify([...Buffer.from(SECRET)]).slice(1, -1)];

  for (const format of ['json', 'text'] as const) {
    test.each(shapes)(`${format}: %s`, (_what, fields) => {
      const { log, lines, text } = capturedLog({ format });

      log.info(fields, 'fields');
      log.child(fields).info('child');

      expect(lines).toHaveLength(2);
      for (const encoding of encodings) expect(text()).not.toContain(encoding);
    });

    test(`${format}: a secret inside the message`, () => {
      const { log, text } = capturedLog({ format });

      log.error(`cannot reach postgres://acmery:${SECRET}@db/acmery`);
      log.error({ n: 1 }, `sent Bearer ${SECRET}`);

      expect(text()).not.toContain(SECRET);
      expect(text()).toContain('acmery:[redacted]@db/acmery');
    });
  }

  test('a field says nothing by a function of its own', () => {
    const { log, records, text } = capturedLog();
    const toJSON = () => SECRET;

    log.info({ toJSON, inner: { toJSON, a: 1 }, list: [toJSON] }, 'fields');

    expect(records()).toMatchObject([{ inner: { a: 1 }, list: [null], message: 'fields' }]);
    expect(text()).not.toContain(SECRET);
  });

  // A minute or more for each in a program that looks at every pair of places.
  test.each(['://', '://a:', '-eyJ', 'eyJ.eyJ', 'token', '-----BEGIN PRIVATE KEY', '-----BEGIN A', 'Bearer '])(
    'a text of nothing but "%s" is looked through in time by its length',
    (part) => {
      const { log, lines } = capturedLog();

      log.info({ text: part.repeat(400_000 / part.length) }, 'long');

      expect(lines).toHaveLength(1);
    },
  );

  test('what merely looks like one stays readable', () => {
    const { log, records } = capturedLog();
    const fields = {
      url: 'https://ca.example:8443/acme/web/order/1',
      keyType: 'ec_256',
      jwk: { kty: 'EC', x: 'x' },
      k: 1,
      p: 'p',
    };

    log.info(fields, 'basic constraints checked for http://[::1]:8080/');

    expect(records()).toMatchObject([{ ...fields, message: 'basic constraints checked for http://[::1]:8080/' }]);
  });
});

describe('the text form', () => {
  test('is one line of time, level, message and key=value', () => {
    const { log, text } = capturedLog({ format: 'text' });

    log.info(
      { door: 'acme', url: 'https://localhost:8443', names: ['a', 'b'], note: 'two words', none: '' },
      'listening',
    );

    expect(text()).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3}Z info {2}listening door=acme url=https:\/\/localhost:8443 names=\["a","b"\] note="two words" none=""\n$/,
    );
  });

  test('stays one line, and cannot steer the terminal, whatever stands in a field', () => {
    const { log, text } = capturedLog({ format: 'text' });

    const fields = { path: '/a\r\n12:00 info forged', 'k\ney': '\u001b[2J\u009b31m', name: 'a\u202egnp\u{e0041}' };
    log.info(fields, 'line\nbreak\u2028');

    expect(text().match(/\n/g)).toHaveLength(1);
    for (const character of '\r\u001b\u009b\u2028\u202e\u{e0041}') expect(text()).not.toContain(character);
  });

  test('shows an error with its cause and the nearest places of our own', () => {
    const { log, text } = capturedLog({ format: 'text' });

    log.error({ error: new TypeError('no such thing', { cause: new Error('deeper') }) }, 'internal error');

    expect(text()).toMatch(/error="TypeError: no such thing" at=\S*log\.test\.ts:\d+:\d+.* cause="Error: deeper"/);
    expect(text()).not.toContain('node_modules');
    expect(text().match(/\n/g)).toHaveLength(1);
  });

  test('has colour only where it is asked for', () => {
    const without = capturedLog({ format: 'text' });
    const withColour = capturedLog({ format: 'text', colour: true });

    without.log.warn({ a: 1 }, 'x');
    withColour.log.warn({ a: 1 }, 'x');

    expect(without.text()).not.toContain('\u001b');
    expect(withColour.text()).toContain('\u001b[33mwarn');
  });
});
