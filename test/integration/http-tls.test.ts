// HTTPS: which certificate a connection sees, how it changes, what plain HTTP gets on that port.
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { openTlsFiles } from '../../src/http/tls-files.ts';
import { TlsSlot } from '../../src/http/tls-source.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { listening, row } from '../support/listening.ts';
import { selfSigned } from '../support/self-signed.ts';

const routes = [row('GET', '/a', () => ({ status: 200, body: 'ok' }))];

/** Name in the certificate that a new connection sees. */
async function nameSeenAt(port: number): Promise<string | string[] | undefined> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}

describe('an HTTPS listener', () => {
  test('answers with HSTS under a name that is not local, and client and request ids as over HTTP', async () => {
    const pair = selfSigned();
    await using server = await listening({ tls: new TlsSlot(pair), routes });
    const ask = async (host: string) => {
      const request = get(server.url('/a'), { ca: pair.certificate, servername: 'localhost', headers: { host } });
      const [response] = await once(request, 'response');
      response.resume();
      return response.headers;
    };

    expect(server.listener.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await ask('ca.example')).toMatchObject({ 'strict-transport-security': 'max-age=31536000' });
    expect(await ask('localhost:8443')).not.toHaveProperty('strict-transport-security');
    expect((await server.requests(2))[0]).toMatchObject({ client: '127.0.0.1', status: 200 });
  });

  test('shows a replaced certificate to new connections, while open ones go on', async () => {
    const first = selfSigned({ commonName: 'first' });
    const slot = new TlsSlot(first);
    await using server = await listening({ tls: slot, routes });
    const { port } = server.listener.address;
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: first.certificate });
    const ask = async () => {
      const [response] = await once(get(server.url('/a'), { agent }), 'response');
      const { localPort } = response.socket;
      response.resume();
      await once(response, 'end');
      return localPort;
    };

    const before = await ask();
    const seenBefore = await nameSeenAt(port);
    slot.replace(selfSigned({ commonName: 'second' }));

    expect([seenBefore, await nameSeenAt(port)]).toEqual(['first', 'second']);
    expect(await ask()).toBe(before);
    agent.destroy();
  });

  test('refuses TLS 1.1', async () => {
    await using server = await listening({ tls: new TlsSlot(selfSigned()), routes });
    const { port } = server.listener.address;
    const socket = connect({
      port,
      host: '127.0.0.1',
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'ALL@SECLEVEL=0',
    });

    const [error] = await once(socket, 'error');

    expect(error).toMatchObject({ code: expect.stringMatching(/ERR_SSL|ECONNRESET/) });
  });

  test.each(['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-CCM'])(
    'refuses %s: not authenticated encryption, or one that nobody needs',
    async (ciphers) => {
      await using server = await listening({ tls: new TlsSlot(selfSigned()), routes });
      const { port } = server.listener.address;
      const socket = connect({ port, host: '127.0.0.1', maxVersion: 'TLSv1.2', ciphers, rejectUnauthorized: false });

      const [error] = await Promise.race([once(socket, 'error'), once(socket, 'secureConnect')]);

      expect(error).toMatchObject({ code: expect.stringMatching(/ERR_SSL|ECONNRESET/) });
    },
  );

  test('tells plain HTTP to use https', async () => {
    await using server = await listening({ tls: new TlsSlot(selfSigned()), routes });
    using client = await server.raw();

    client.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');

    expect(await client.until(/https:\/\//)).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":"tls_expected"/);
  });

  test.each([
    ['silent', ''],
    ['stuck in its handshake', '\x16\x03\x01'],
  ])('ends a connection that stays %s', async (_what, bytes) => {
    await using server = await listening({ tls: new TlsSlot(selfSigned()), routes, limits: { headersMs: 40 } });
    using client = await server.raw();

    client.send(bytes);

    expect(await client.untilClosed()).not.toContain('HTTP');
  });
});

describe('certificate files', () => {
  async function givenFiles({
    intervalMs = 3_600_000,
    ...pair
  }: Partial<ReturnType<typeof selfSigned>> & { intervalMs?: number } = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'acmery-tls-'));
    const [certificateFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const write = async ({ certificate, key }: { certificate?: string; key?: string }) => {
      if (certificate !== undefined) await writeFile(certificateFile, certificate);
      if (key !== undefined) await writeFile(keyFile, key);
    };
    await write({ ...selfSigned({ commonName: 'first' }), ...pair });
    const captured = capturedLog();
    const events = createEvents(captured.log, createMetrics());
    const open = () => openTlsFiles({ certificateFile, keyFile, intervalMs, now: () => new Date(), events });
    return {
      ...captured,
      folder,
      certificateFile,
      keyFile,
      write,
      open,
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
    };
  }

  test('that change are shown by the listener, and bad ones are refused once while the last good pair stays', async () => {
    await using given = await givenFiles();
    await using files = await given.open();
    await using server = await listening({ tls: files.source, routes });
    const { port } = server.listener.address;

    await given.write(selfSigned({ commonName: 'second' }));
    await files.reload();
    const second = await nameSeenAt(port);
    await given.write({ key: selfSigned().key });
    await files.reload();
    await files.reload();
    const stillSecond = await nameSeenAt(port);
    await given.write(selfSigned({ commonName: 'third' }));
    await files.reload();

    expect([second, stillSecond, await nameSeenAt(port)]).toEqual(['second', 'second', 'third']);
    expect(given.records().map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'info: serving certificate rotated; new connections get it',
      'error: new serving certificate refused; the last good one stays in use',
      'info: serving certificate rotated; new connections get it',
    ]);
    expect(given.records()[1]).toMatchObject({ reason: expect.stringContaining('the key does not belong') });
  });

  test('are looked at by themselves, and may hide behind links that are swapped as Kubernetes does', async () => {
    await using given = await givenFiles({ intervalMs: 10 });
    const next = selfSigned({ commonName: 'next' });
    await using files = await given.open();
    const { promise: changed, resolve } = Promise.withResolvers<unknown>();
    files.source.onChange(resolve);

    for (const [file, content] of [
      [given.certificateFile, next.certificate],
      [given.keyFile, next.key],
    ] as const) {
      await writeFile(`${file}.real`, content);
      await rm(file);
      await symlink(`${file}.real`, file);
    }

    expect(await changed).toMatchObject({ certificate: next.certificate });
  });

  test('that come back to the pair in use are no news, and the same fault later is told again', async () => {
    const good = selfSigned();
    await using given = await givenFiles(good);
    await using files = await given.open();

    for (const key of ['bad', good.key, 'bad']) {
      await given.write({ key });
      await files.reload();
    }

    expect(given.records().map(({ level }) => level)).toEqual(['error', 'error']);
  });

  test('that are removed later are refused by name', async () => {
    await using given = await givenFiles();
    await using files = await given.open();

    await rm(given.keyFile);
    await files.reload();

    expect(given.records()).toMatchObject([
      { level: 'error', reason: expect.stringContaining(`${given.keyFile} cannot be read`) },
    ]);
  });

  const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n';
  const legacy =
    '-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMIIB\n-----END EC PRIVATE KEY-----\n';
  test.each([
    ['an expired certificate', selfSigned({ fromDays: -3, toDays: -1 }), 'the certificate ended at 20'],
    ['a certificate of the future', selfSigned({ fromDays: 1 }), "is this machine's clock right?"],
    ['a key of another certificate', { key: selfSigned().key }, 'the key does not belong to the certificate'],
    ['no certificate', { certificate: 'hello' }, 'the certificate file holds no PEM certificate'],
    ['no key', { key: '' }, 'the key file holds no PEM private key'],
    ['an encrypted key', { key: encrypted }, 'encrypted with a passphrase'],
    ['an encrypted key of the old form', { key: legacy }, 'encrypted with a passphrase'],
  ])('%s cannot serve, in one sentence that names the files', async (_what, pair, sentence) => {
    await using given = await givenFiles(pair);

    const error = await given.open().catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ name: 'TlsPairError', message: expect.stringContaining(sentence) });
    expect(error).toMatchObject({ message: expect.stringContaining(given.certificateFile) });
  });
});
