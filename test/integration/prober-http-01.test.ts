import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Probe, ProbeOutcome } from '../../src/core/ports.ts';
import { type Applicant, anApplicant } from '../support/applicant.ts';
import { eventually } from '../support/eventually.ts';
import { selfSigned } from '../support/self-signed.ts';

const never = new AbortController().signal;
const token = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';
const keyAuthorization = `${token}.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI`;
const path = `/.well-known/acme-challenge/${token}`;
const url = `http://shop.corp.example${path}`;
const probe: Probe = {
  type: 'http-01',
  identifier: { type: 'dns', value: 'shop.corp.example' },
  token,
  keyAuthorization,
  accountUrl: 'https://acme.corp.example/acme/web/account/acmk_1',
  directoryId: 'directory',
};
const forAddress = (value: string): Probe => ({ ...probe, identifier: { type: 'ip', value } });

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

let applicant: Applicant;
beforeEach(async () => {
  applicant = await anApplicant();
});
afterEach(() => applicant[Symbol.asyncDispose]());

const valid: ProbeOutcome = { outcome: 'valid' };
const failed = (type: string, detail: unknown) => ({ outcome: 'failed', type, detail });
const page = (content: string | RequestListener, at = path) => applicant.pages.set(at, content);
const redirect =
  (location: string, status = 302): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { location }).end('moved');

describe('what is asked', () => {
  test('H01-1, H01-7: the path of the token, by the name alone, as somebody who says who it is', async () => {
    page(keyAuthorization);
    expect(await applicant.prober()(probe, never)).toEqual(valid);
    expect(applicant.requests).toEqual([
      {
        host: 'shop.corp.example',
        path,
        headers: { host: 'shop.corp.example', 'user-agent': 'Acmery/test', accept: '*/*', connection: 'close' },
      },
    ]);
  });

  test('H01-1: an address is asked without DNS', async () => {
    page(keyAuthorization);
    expect(await applicant.prober()(forAddress('127.0.0.1'), never)).toEqual(valid);
    expect(applicant.requests[0]?.host).toBe('127.0.0.1');
    expect(applicant.dns.queries).toEqual([]);
  });

  test('H01-1: an IPv6 address stands in brackets', async () => {
    await using v6 = await anApplicant({ addresses: ['::1'] });
    v6.pages.set(path, keyAuthorization);
    expect(await v6.prober()(forAddress('::1'), never)).toEqual(valid);
    expect(v6.requests[0]?.host).toBe('[::1]');
  });
});

describe('what is accepted', () => {
  test.each(['', '\n', '\r\n', ' \t\r\n\n'])('H01-2: the key authorization with %j after it', async (after) => {
    page(keyAuthorization + after);
    expect(await applicant.prober()(probe, never)).toEqual(valid);
  });

  test.each([
    ['a blank before it', ` ${keyAuthorization}`, 'that are something else'],
    ['a byte order mark', `\ufeff${keyAuthorization}`, 'that begin with a byte order mark'],
    ['HTML', `<html>${keyAuthorization}</html>`, 'that look like HTML'],
    ['the token alone', token, 'that are something else'],
    ['nothing', '', 'that are something else'],
    ['more after it', `${keyAuthorization}x`, 'which are the key authorization of another account key'],
    ['a part of it', keyAuthorization.slice(0, -1), 'which are the key authorization of another account key'],
    ['upper case', keyAuthorization.toUpperCase(), 'that are something else'],
  ])('H01-2: %s is refused, and not repeated', async (_what, body, likeness) => {
    page(body);
    const outcome = await applicant.prober()(probe, never);
    const type = likeness.startsWith('which') ? 'unauthorized' : 'incorrectResponse';
    const comma = likeness.startsWith('which') ? ',' : '';
    const size = Buffer.byteLength(body);
    const detail = `Expected the key authorization, with status 200; ${url} at 127.0.0.1 answered with ${size} bytes${comma} ${likeness}.`;
    expect(outcome).toEqual(failed(type, detail));
  });

  test.each([201, 204, 206, 304, 400, 403, 404, 500, 503])('H01-3: status %i is refused', async (status) => {
    page((_request, response) => response.writeHead(status).end(status === 204 ? undefined : keyAuthorization));
    const detail = `Expected the key authorization, with status 200; ${url} at 127.0.0.1 answered with status ${status}.`;
    expect(await applicant.prober()(probe, never)).toEqual(failed('incorrectResponse', detail));
  });
});

describe('H01-4: redirects', () => {
  test.each([301, 302, 303, 307, 308])('status %i is followed, relative and absolute', async (status) => {
    page(redirect('/one?a=b', status));
    page(redirect(`http://other.example:${applicant.httpPort}/two`, status), '/one?a=b');
    page(keyAuthorization, '/two');
    expect(await applicant.prober()(probe, never)).toEqual(valid);
    const { httpPort } = applicant;
    expect(applicant.requests.map(({ host }) => host)).toEqual([
      'shop.corp.example',
      'shop.corp.example',
      `other.example:${httpPort}`,
    ]);
  });

  const chain = (length: number): void => {
    page(redirect('/1'));
    for (let hop = 1; hop < length; hop += 1) page(redirect(`/${hop + 1}`), `/${hop}`);
    page(keyAuthorization, `/${length}`);
  };

  test('ten are followed', async () => {
    chain(10);
    expect(await applicant.prober()(probe, never)).toEqual(valid);
  });

  test('eleven are not', async () => {
    chain(11);
    expect(await applicant.prober()(probe, never)).toEqual(
      failed('incorrectResponse', `${url} redirected more than 10 times.`),
    );
    expect(applicant.requests).toHaveLength(11);
  });

  test.each([
    ['a port of a service', 'http://shop.corp.example:22/', 'to a port other than 80, 443, '],
    ['a high port', 'https://shop.corp.example:8443/', 'to a port other than 80, 443, '],
    ['gopher', 'gopher://shop.corp.example/', 'to something that is neither http nor https'],
    ['a file', 'file:///etc/passwd', 'to something that is neither http nor https'],
    ['a script', 'javascript:alert(1)', 'to something that is neither http nor https'],
    ['data', `data:text/plain,${keyAuthorization}`, 'to something that is neither http nor https'],
    ['credentials', 'http://user:secret@shop.corp.example/', 'to a URL with credentials'],
    ['no host', 'http://', 'to something that is no URL'],
    ['a number that is no address', 'http://256.256.256.256/', 'to something that is no URL'],
  ])('SEC-4: %s is not followed, and not repeated', async (_what, location, reason) => {
    page(redirect(location));
    const outcome = await applicant.prober()(probe, never);
    expect(outcome).toEqual(
      failed('incorrectResponse', expect.stringContaining(`${url} at 127.0.0.1 redirected ${reason}`)),
    );
    expect(applicant.requests).toHaveLength(1);
  });

  test.each([
    ['127.0.0.2', 'http://127.0.0.2/'],
    ['127.0.0.2', 'http://0x7f.2/'],
    ['127.0.0.2', 'http://2130706434/'],
    ['127.0.0.2', 'http://0177.0.0.2/'],
    ['127.0.0.2', 'http://127.2/'],
    ['::ffff:7f00:2', 'http://[::ffff:127.0.0.2]/'],
    ['64:ff9b::7f00:2', 'http://[64:ff9b::7f00:2]/'],
    ['0.0.0.0', 'http://0/'],
    ['169.254.169.254', 'http://169.254.169.254/latest/meta-data'],
    ['169.254.169.254', 'http://0xa9fea9fe/latest/meta-data'],
    ['fe80::1', 'https://[fe80::1]/'],
    ['127.0.0.2', 'http://inside.example/'],
  ])('SEC-2, SEC-4: a redirect to %s, spelled %s, is not connected to', async (address, location) => {
    applicant.zone['inside.example'] = { a: ['127.0.0.2'] };
    page(redirect(location));
    const prober = applicant.prober({ policy: { allow: ['127.0.0.1'] } });
    const outcome = await prober(probe, never);
    const detail = `No connection to the host that redirect 1 of ${url} leads to: ${address} is `;
    expect(outcome).toEqual(failed('connection', expect.stringContaining(detail)));
    expect(outcome).not.toMatchObject({ detail: expect.stringContaining('inside') });
  });

  test('each hop is resolved by itself, and its certificate does not matter', async () => {
    const { certificate, key } = selfSigned({ commonName: 'somebody.else', toDays: -1 });
    const server = createHttpsServer({ cert: certificate, key }, (_request, response) =>
      response.end(keyAuthorization),
    );
    const tlsPort = await portOf(server);
    page(redirect('https://other.example/here'));
    expect(await applicant.prober({ tlsPort })(probe, never)).toEqual(valid);
    server.close();
    expect(applicant.dns.queries.map(({ name }) => name)).toEqual([
      'shop.corp.example',
      'shop.corp.example',
      'other.example',
      'other.example',
    ]);
  });
});

describe('H01-5: bounds', () => {
  const wrong = (size: string) =>
    failed(
      'incorrectResponse',
      `Expected the key authorization, with status 200; ${url} at 127.0.0.1 answered with ${size} that are something else.`,
    );

  test('a body that never ends is left after a kilobyte', async () => {
    page((_request, response) => {
      const write = (): void =>
        void (response.write('x'.repeat(4_096)) ? setImmediate(write) : response.once('drain', write));
      write();
    });
    expect(await applicant.prober()(probe, never)).toEqual(wrong('more than 1024 bytes'));
  });

  test('the key authorization before a kilobyte of blanks is refused', async () => {
    page(keyAuthorization + ' '.repeat(1_024));
    expect(await applicant.prober()(probe, never)).toEqual(
      failed('unauthorized', expect.stringContaining('more than 1024 bytes')),
    );
  });

  test('what is packed is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    page((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    expect(await applicant.prober()(probe, never)).toEqual(wrong('more than 1024 bytes'));
  });

  test('a server that sends a byte now and then is left at the deadline', async () => {
    page((request, response) => {
      const timer = setInterval(() => response.write('x'), 10);
      request.socket.once('close', () => clearInterval(timer));
    });
    expect(await applicant.prober({ stepMs: 100 })(probe, never)).toEqual(
      failed('connection', `${url} at 127.0.0.1 did not send a whole answer within 0.1 s.`),
    );
  });

  test('headers that never end are refused', async () => {
    page((_request, response) => response.writeHead(200, { 'x-filler': 'x'.repeat(20_000) }).end(keyAuthorization));
    expect(await applicant.prober()(probe, never)).toEqual(
      failed('incorrectResponse', `${url} at 127.0.0.1 sent an answer that is not HTTP/1.1 or has huge headers.`),
    );
  });

  test('many slow redirects end at the deadline of the whole', async () => {
    page((_request, response) => void setTimeout(() => response.writeHead(302, { location: path }).end(), 60));
    expect(await applicant.prober({ totalMs: 150 })(probe, never)).toEqual(
      failed('connection', 'shop.corp.example was not validated within 0.15 s.'),
    );
  });

  const tcp = async (talk: (socket: Socket) => void): Promise<ProbeOutcome> => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => talk(socket));
    });
    const httpPort = await portOf(server);
    try {
      return await applicant.prober({ httpPort, stepMs: 200 })(probe, never);
    } finally {
      server.close();
    }
  };

  test.each<[string, string, (socket: Socket) => void]>([
    [
      'something that is not HTTP',
      'sent an answer that is not HTTP/1.1',
      (socket) => socket.end('220 mail.corp ESMTP\r\n'),
    ],
    ['nothing', 'closed the connection before its answer was complete', (socket) => socket.end()],
    ['a reset', 'closed the connection before its answer was complete', (socket) => socket.resetAndDestroy()],
    [
      'a part of the body',
      'closed the connection before its answer was complete',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n${keyAuthorization}`),
    ],
    [
      'an upgrade',
      'closed the connection before its answer was complete',
      (socket) => socket.end('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    ],
    ['silence', 'did not send a whole answer within 0.2 s', () => undefined],
  ])('CHA-12: a server that answers with %s: %s', async (_what, detail, talk) => {
    expect(await tcp(talk)).toEqual(
      failed(expect.stringMatching(/^(connection|incorrectResponse)$/) as never, expect.stringContaining(detail)),
    );
  });

  test('an answer that ends with the connection is accepted', async () => {
    expect(await tcp((socket) => socket.end(`HTTP/1.0 200 OK\r\n\r\n${keyAuthorization}`))).toEqual(valid);
  });

  test('an abort ends the probe with its reason', async () => {
    const stop = new AbortController();
    const reason = new Error('the worker ends');
    page(() => stop.abort(reason));
    await expect(applicant.prober()(probe, stop.signal)).rejects.toBe(reason);
    await expect(applicant.prober()(probe, stop.signal)).rejects.toBe(reason);
    expect(applicant.requests).toHaveLength(1);
  });
});

describe('SEC-4: what a target sends is never repeated', () => {
  const secret = 'swordfish';
  test.each<[string, RequestListener]>([
    ['the body', (_request, response) => response.end(secret)],
    ['a header', (_request, response) => response.writeHead(404, { 'x-secret': secret }).end()],
    ['the reason', (_request, response) => response.writeHead(500, secret).end()],
    ['the port of a redirect', redirect(`http://${secret}.example:1234/${secret}`)],
    ['the host of a redirect', redirect(`http://${secret}.example/${secret}`)],
    ['the host of a secure redirect', redirect(`https://${secret}.example/${secret}`)],
  ])('%s', async (_what, talk) => {
    applicant.zone['swordfish.example'] = { a: ['127.0.0.2'] };
    page(talk);
    const outcome = await applicant.prober()(probe, never);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(JSON.stringify(outcome)).not.toContain(secret);
  });
});

describe('which address is connected to', () => {
  test('H01-6: IPv6 is preferred', async () => {
    await using both = await anApplicant({
      zone: { '*': { a: ['127.0.0.1'], aaaa: ['::1'] } },
      addresses: ['127.0.0.1', '::1'],
    });
    const from: (string | undefined)[] = [];
    both.pages.set(path, (request, response) => {
      from.push(request.socket.localAddress);
      response.end(keyAuthorization);
    });
    expect(await both.prober()(probe, never)).toEqual(valid);
    expect(from).toEqual(['::1']);
  });

  test('H01-6: where nothing listens there, IPv4 is tried, once', async () => {
    applicant.zone['*'] = { a: ['127.0.0.1', '127.0.0.3'], aaaa: ['::1'] };
    page(keyAuthorization);
    expect(await applicant.prober()(probe, never)).toEqual(valid);
    await using away = await anApplicant({ zone: { '*': { a: ['127.0.0.2', '127.0.0.1'], aaaa: ['::1'] } } });
    const { httpPort } = away;
    const detail = `No connection to shop.corp.example: ::1 port ${httpPort} refused the connection. 127.0.0.2 port ${httpPort} refused the connection.`;
    expect(await away.prober()(probe, never)).toEqual(failed('connection', detail));
  });

  test('H01-6: a wrong answer over IPv6 is the answer', async () => {
    await using both = await anApplicant({
      zone: { '*': { a: ['127.0.0.1'], aaaa: ['::1'] } },
      addresses: ['127.0.0.1', '::1'],
    });
    both.pages.set(path, (request, response) => {
      response.end(request.socket.localAddress === '127.0.0.1' ? keyAuthorization : 'no');
    });
    expect(await both.prober()(probe, never)).toEqual(
      failed('incorrectResponse', expect.stringContaining('at ::1 answered')),
    );
  });

  test('H01-8: an address that is denied is not connected to, and the other one is', async () => {
    applicant.zone['*'] = { a: ['127.0.0.1'], aaaa: ['fe80::1'] };
    page(keyAuthorization);
    expect(await applicant.prober()(probe, never)).toEqual(valid);
  });

  test.each([
    ['127.0.0.1', 'a'],
    ['0.0.0.0', 'a'],
    ['169.254.169.254', 'a'],
    ['224.0.0.1', 'a'],
    ['::1', 'aaaa'],
    ['::', 'aaaa'],
    ['::ffff:127.0.0.1', 'aaaa'],
    ['64:ff9b::7f00:1', 'aaaa'],
    ['fe80::1', 'aaaa'],
    ['fd00:ec2::254', 'aaaa'],
  ] as const)('SEC-1: a name with the address %s is not connected to', async (address, type) => {
    applicant.zone['shop.corp.example'] = { [type]: [address] };
    page(keyAuthorization);
    expect(await applicant.prober({ policy: { allow: [] } })(probe, never)).toEqual(
      failed(
        'connection',
        expect.stringMatching(/^No connection to shop\.corp\.example: .* is an? .*, which this CA does not contact\.$/),
      ),
    );
    expect(applicant.requests).toEqual([]);
  });

  test('SEC-1: our own listeners are not connected to, whatever is allowed', async () => {
    const ownListeners = [{ address: '0.0.0.0', port: applicant.httpPort }];
    page(keyAuthorization);
    expect(await applicant.prober({ policy: { ownListeners } })(probe, never)).toEqual(
      failed(
        'connection',
        `No connection to shop.corp.example: 127.0.0.1 port ${applicant.httpPort} is the CA itself.`,
      ),
    );
  });

  test('SEC-3: of a name that is another address each time, the one that was judged is connected to', async () => {
    let asked = 0;
    applicant.zone['shop.corp.example'] = (type) => {
      if (type !== 'A') return 'nodata';
      asked += 1;
      return { a: [asked % 2 === 1 ? '127.0.0.1' : '127.0.0.2'] };
    };
    page(redirect(path));
    const prober = applicant.prober({ policy: { allow: ['127.0.0.1'] } });
    // The first look-up is good and serves the connection; the hop after it is looked up and judged anew.
    expect(await prober(probe, never)).toEqual(
      failed('connection', expect.stringContaining('127.0.0.2 is a loopback')),
    );
    expect(applicant.requests).toHaveLength(1);
    expect(asked).toBe(2);
  });

  test.each([
    ['nxdomain', 'AAAA gave NXDOMAIN, A gave NXDOMAIN'],
    ['nodata', 'AAAA gave NODATA, A gave NODATA'],
    ['servfail', 'AAAA gave SERVFAIL, A gave SERVFAIL'],
    ['refused', 'AAAA gave REFUSED, A gave REFUSED'],
    ['silent', 'AAAA gave no answer in time, A gave no answer in time'],
  ] as const)('CHA-12: without an address (%s) it is a dns error', async (script, answers) => {
    const zone = { 'shop.corp.example': script };
    await using hasty = await anApplicant({ zone, dnsTimeoutMs: script === 'silent' ? 50 : 5_000 });
    expect(await hasty.prober()(probe, never)).toEqual(
      failed('dns', `No address was found for shop.corp.example: ${answers}.`),
    );
  });

  test('one family is enough where the other cannot be looked up', async () => {
    applicant.zone['shop.corp.example'] = (type) => (type === 'AAAA' ? 'servfail' : { a: ['127.0.0.1'] });
    page(keyAuthorization);
    expect(await applicant.prober()(probe, never)).toEqual(valid);
  });
});

describe('a slow target leaves room for others', () => {
  test('beyond its share of connections or probes nothing is tried, and what ends makes room', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    page((_request, response) => void released.then(() => response.end(keyAuthorization)));
    const arrived = (count: number) => eventually(`${count} arrived`, () => applicant.requests.length === count);
    applicant.zone['elsewhere.example'] = { a: ['127.0.0.2'] };
    const prober = applicant.prober({ perAddress: 2, perDirectory: 3 });
    const slow = [prober(probe, never), prober({ ...probe, directoryId: 'other' }, never)];
    await arrived(2);
    const busy = { outcome: 'busy' };
    expect(await prober(probe, never)).toEqual(busy);
    const elsewhere = { ...probe, identifier: { type: 'dns', value: 'elsewhere.example' } } as const;
    expect(await prober(elsewhere, never)).toMatchObject({ outcome: 'failed' });
    release();
    expect(await Promise.all(slow)).toEqual([valid, valid]);
    await eventually('there is room', async () => (await prober(probe, never)).outcome === 'valid');
  });

  test('a directory has its share too', async () => {
    page(() => undefined);
    const stop = new AbortController();
    const prober = applicant.prober({ perDirectory: 1 });
    const slow = prober(probe, stop.signal);
    await eventually('it has arrived', () => applicant.requests.length === 1);
    expect(await prober(probe, never)).toEqual({ outcome: 'busy' });
    page(keyAuthorization);
    expect(await prober({ ...probe, directoryId: 'other' }, never)).toEqual(valid);
    stop.abort();
    await expect(slow).rejects.toThrow();
    expect(await prober(probe, never)).toEqual(valid);
  });
});
