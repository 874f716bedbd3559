// The network of somebody who asks for certificates: DNS, a web server and a TLS server on loopback, scripted by tests.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createSecureContext, createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { ChallengeProber, Probe } from '../../src/core/ports.ts';
import { type AddressPolicyOptions, createAddressPolicy } from '../../src/prober/address-policy.ts';
import { createProber, type ProberOptions } from '../../src/prober/probers.ts';
import { createResolver, type DnsResolver } from '../../src/prober/resolver.ts';
import { type AlpnPair, alpnCertificate } from './alpn-certificate.ts';
import { type FakeDns, fakeDns, type Script, type Zone } from './fake-dns.ts';

export type Challenge = Pick<Probe, 'type' | 'identifier' | 'token' | 'keyAuthorization' | 'accountUrl'>;

type Seen = {
  readonly host: string | undefined;
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

export type Applicant = AsyncDisposable & {
  readonly dns: FakeDns;
  /** May be changed at any time. `*`, which stands for all other names, is 127.0.0.1 unless it is given. */
  readonly zone: Record<string, Script>;
  readonly resolver: DnsResolver;
  readonly httpPort: number;
  readonly tlsPort: number;
  /** What the web server answers, by path; all else is 404. */
  readonly pages: Map<string, string | RequestListener>;
  /** What the web server was asked, in the order of arrival. */
  readonly requests: readonly Seen[];
  /** What the TLS server shows, by server name; handshakes for other names fail. */
  readonly certificates: Map<string, AlpnPair>;
  /** Does what a client of the challenge does. */
  answer(challenge: Challenge): Promise<void>;
  /** A prober that may connect to loopback, and validates at the ports of these servers. */
  prober(changes?: Partial<ProberOptions> & { readonly policy?: Partial<AddressPolicyOptions> }): ChallengeProber;
  /** The same for a server in a process of its own. */
  readonly settings: Readonly<Record<string, string>>;
};

type Options = {
  readonly zone?: Zone;
  /** Where the servers listen, on the same ports everywhere. */
  readonly addresses?: readonly string[];
  readonly tls?: TlsOptions;
  /** For names whose servers are silent. */
  readonly dnsTimeoutMs?: number;
};

const LOOPBACK = ['127.0.0.0/8', '::1'];

export async function anApplicant({
  zone: given = {},
  addresses = ['127.0.0.1'],
  tls = {},
  dnsTimeoutMs = 5_000,
}: Options = {}) {
  await using opened = new AsyncDisposableStack();
  const zone: Record<string, Script> = { '*': { a: ['127.0.0.1'] }, ...given };
  const dns = opened.use(await fakeDns(zone));
  const pages = new Map<string, string | RequestListener>();
  const requests: Seen[] = [];
  const certificates = new Map<string, AlpnPair>();

  const serve: RequestListener = (request, response) => {
    requests.push({ host: request.headers.host, path: request.url, headers: request.headers });
    const page = pages.get(request.url ?? '');
    if (typeof page === 'function') return page(request, response);
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'application/octet-stream' });
    response.end(page ?? 'not found');
  };
  const tlsOptions: TlsOptions = {
    ALPNProtocols: ['acme-tls/1'],
    SNICallback: (name, done) => {
      const pair = certificates.get(name);
      if (pair === undefined) return done(new Error(`there is no certificate for ${name}`));
      done(null, createSecureContext({ cert: pair.certificate, key: pair.key, ...tls }));
    },
    ...tls,
  };
  const httpPort = await listen(opened, () => createHttpServer({ keepAlive: false }, serve), addresses);
  const tlsPort = await listen(opened, () => createTlsServer(tlsOptions, (socket) => socket.end()), addresses);
  const resolver = createResolver({ servers: [dns.address], timeoutMs: dnsTimeoutMs, tries: 1 });

  const prober: Applicant['prober'] = ({ policy, ...changes } = {}) =>
    createProber({
      resolver,
      addressPolicy: createAddressPolicy({
        allow: LOOPBACK,
        deny: [],
        ownListeners: [],
        localAddresses: () => [],
        ...policy,
      }),
      httpPort,
      tlsPort,
      userAgent: 'Acmery/test',
      ...changes,
    });

  const running = opened.move();
  return {
    dns,
    zone,
    resolver,
    httpPort,
    tlsPort,
    pages,
    requests,
    certificates,
    prober,
    answer: (challenge) => answers[challenge.type]({ zone, pages, certificates }, challenge),
    settings: {
      ACMERY_VALIDATION_RESOLVERS: dns.address,
      ACMERY_VALIDATION_HTTP_PORT: String(httpPort),
      ACMERY_VALIDATION_TLS_PORT: String(tlsPort),
      ACMERY_VALIDATION_ALLOW: LOOPBACK.join(','),
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  } satisfies Applicant;
}

type Places = Pick<Applicant, 'zone' | 'pages' | 'certificates'>;

const answers: Readonly<Record<Challenge['type'], (places: Places, challenge: Challenge) => Promise<void>>> = {
  'http-01': async ({ pages }, { token, keyAuthorization }) => {
    pages.set(`/.well-known/acme-challenge/${token}`, keyAuthorization);
  },
  'dns-01': async ({ zone }, { identifier, keyAuthorization }) => {
    zone[`_acme-challenge.${identifier.value}`] = { txt: [txtOf(keyAuthorization)] };
  },
  'dns-account-01': async ({ zone }, { identifier, keyAuthorization, accountUrl }) => {
    zone[`${accountLabel(accountUrl)}._acme-challenge.${identifier.value}`] = { txt: [txtOf(keyAuthorization)] };
  },
  'tls-alpn-01': async ({ certificates }, { identifier, keyAuthorization }) => {
    certificates.set(serverNameOf(identifier), await alpnCertificate(identifier, keyAuthorization));
  },
};

export const txtOf = (keyAuthorization: string): string =>
  createHash('sha256').update(keyAuthorization).digest('base64url');

/** The first label of dns-account-01, counted out bit by bit. */
export function accountLabel(accountUrl: string): string {
  let value = BigInt(`0x${createHash('sha256').update(accountUrl).digest('hex').slice(0, 20)}`);
  let text = '';
  for (let digit = 0; digit < 16; digit += 1) {
    text = 'abcdefghijklmnopqrstuvwxyz234567'.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return `_${text}`;
}

/** Short forms are not understood: give IPv6 in all its groups as the key of `certificates` yourself. */
const serverNameOf = ({ type, value }: Challenge['identifier']): string =>
  type === 'ip' ? `${value.split('.').reverse().join('.')}.in-addr.arpa` : value;

/** One server for each address, all on the port that the first was given. */
async function listen(
  opened: AsyncDisposableStack,
  make: () => Server,
  addresses: readonly string[],
  port = 0,
): Promise<number> {
  const [address, ...rest] = addresses;
  if (address === undefined) return port;
  const server = make();
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(port, address);
  await once(server, 'listening');
  opened.defer(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  const { port: given } = server.address() as AddressInfo;
  return listen(opened, make, rest, given);
}
