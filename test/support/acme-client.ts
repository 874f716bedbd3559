// An ACME client for tests: it does what RFC 8555 says, or, where a test asks for it, something else.
import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import { Agent, type RequestOptions, request } from 'node:https';
import { readAccountKey } from '../../src/core/account-key.ts';

/** Where a directory is: its public URL, and the socket behind it. */
export type AcmeTarget = { readonly directoryUrl: string; readonly port: number; readonly trust: string };

export type AcmeKey = {
  readonly alg: keyof typeof keyMakers;
  readonly privateKey: KeyObject;
  readonly publicPem: string;
  readonly jwk: Readonly<Record<string, string>>;
  readonly thumbprint: string;
};

export type AcmeAnswer = {
  readonly status: number;
  /** First value; names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** All values of a header. */
  all(name: string): readonly string[];
  readonly text: string;
  readonly bytes: Buffer;
  /** As untyped as JSON.parse has it; undefined where the reply is no JSON. */
  readonly json: ReturnType<typeof JSON.parse>;
};

export type Sent = {
  readonly key?: AcmeKey;
  /** How the key is named: the account URL of the client when absent. */
  readonly kid?: string;
  readonly withJwk?: boolean;
  /** Members of the protected header over the usual ones; undefined leaves a member out. */
  readonly header?: Readonly<Record<string, unknown>>;
  readonly nonce?: string;
  /** The JWS as it would be sent, and what is sent in its place. */
  readonly body?: (jws: FlatJws) => unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The URL that is asked, where it is not the one in the header. */
  readonly sendTo?: string;
};

export type FlatJws = { readonly protected: string; readonly payload: string; readonly signature: string };

const keyMakers = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};
const hashes = { ES256: 'sha256', ES384: 'sha384', ES512: 'sha512', RS256: 'sha256', EdDSA: undefined } as const;

/** A new account key. */
export function anAcmeKey(alg: AcmeKey['alg'] = 'ES256'): AcmeKey {
  const { privateKey, publicKey } = keyMakers[alg]();
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const { jwk, thumbprint } = readAccountKey(publicPem);
  return { alg, privateKey, publicPem, jwk, thumbprint: thumbprint.toString('base64url') };
}

/** A flattened JWS; text is the payload as it is, `''` that of POST-as-GET. */
export function signedJws(key: AcmeKey, header: Readonly<Record<string, unknown>>, payload: unknown): FlatJws {
  const encoded = {
    protected: base64url(JSON.stringify(header)),
    payload: base64url(typeof payload === 'string' ? payload : JSON.stringify(payload)),
  };
  const data = Buffer.from(`${encoded.protected}.${encoded.payload}`);
  const signature = sign(hashes[key.alg], data, { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return { ...encoded, signature: signature.toString('base64url') };
}

export class AcmeClient implements Disposable {
  readonly target: AcmeTarget;
  readonly key: AcmeKey;
  /** Set by `register`, or given. */
  kid: string | undefined;
  readonly #agent: Agent;
  #directory: Record<string, string> | undefined;
  #nonces: string[] = [];

  constructor(target: AcmeTarget, { key = anAcmeKey(), kid }: { readonly key?: AcmeKey; readonly kid?: string } = {}) {
    this.target = target;
    this.key = key;
    this.kid = kid;
    this.#agent = new Agent({ keepAlive: true, ca: target.trust, servername: 'localhost' });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /** Any request to the listener, whatever host the URL names. */
  send(
    method: string,
    url: string,
    {
      headers = {},
      body,
    }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer } = {},
  ): Promise<AcmeAnswer> {
    const [, host = '', path = '/'] = /^https:\/\/([^/]*)(.*)$/.exec(url) ?? [];
    return answerOf(
      {
        agent: this.#agent,
        method,
        host: '127.0.0.1',
        port: this.target.port,
        path,
        headers: { Host: host, ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }), ...headers },
      },
      body,
    );
  }

  get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<AcmeAnswer> {
    return this.send('GET', url, { headers });
  }

  async directory(): Promise<Record<string, string>> {
    this.#directory ??= (await this.get(this.target.directoryUrl)).json;
    if (this.#directory === undefined) throw new Error('There is no directory.');
    return this.#directory;
  }

  /** The URL of an endpoint of the directory. */
  async url(name: string): Promise<string> {
    return (await this.directory())[name] ?? '';
  }

  /** One that no request has used yet. */
  async nonce(): Promise<string> {
    const kept = this.#nonces.pop();
    if (kept !== undefined) return kept;
    const { headers } = await this.send('HEAD', await this.url('newNonce'));
    return headers['replay-nonce'] ?? '';
  }

  /** A signed POST; the payload is POST-as-GET's when it is not given. Keeps the nonce of the reply. */
  async post(url: string, payload: unknown = '', sent: Sent = {}): Promise<AcmeAnswer> {
    const { key = this.key, kid = this.kid, withJwk = false, sendTo = url } = sent;
    const header = {
      alg: key.alg,
      ...(withJwk ? { jwk: key.jwk } : { kid }),
      nonce: sent.nonce ?? (sent.header && 'nonce' in sent.header ? undefined : await this.nonce()),
      url,
      ...sent.header,
    };
    const jws = signedJws(key, header, payload);
    const body = sent.body?.(jws) ?? jws;
    const answer = await this.send('POST', sendTo, {
      headers: { 'Content-Type': sent.contentType ?? 'application/jose+json', ...sent.headers },
      body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
    const nonce = answer.headers['replay-nonce'];
    if (nonce !== undefined) this.#nonces.push(nonce);
    return answer;
  }

  /** newAccount; further requests are of this account. `members` may hold an externalAccountBinding. */
  async register(members: Readonly<Record<string, unknown>> = {}): Promise<AcmeAnswer> {
    const answer = await this.post(
      await this.url('newAccount'),
      { termsOfServiceAgreed: true, ...members },
      { withJwk: true },
    );
    this.kid = answer.headers.location ?? this.kid;
    return answer;
  }

  /** The value of externalAccountBinding for this client's key. */
  async binding(keyId: string, mac: (data: string) => Buffer, header: Readonly<Record<string, unknown>> = {}) {
    const encodedHeader = base64url(
      JSON.stringify({ alg: 'HS256', kid: keyId, url: await this.url('newAccount'), ...header }),
    );
    const payload = base64url(JSON.stringify(this.key.jwk));
    return { protected: encodedHeader, payload, signature: mac(`${encodedHeader}.${payload}`).toString('base64url') };
  }

  /** newOrder for DNS names and addresses. */
  async newOrder(names: readonly string[], members: Readonly<Record<string, unknown>> = {}): Promise<AcmeAnswer> {
    const identifiers = names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value }));
    return this.post(await this.url('newOrder'), { identifiers, ...members });
  }

  /** `order` is the JSON of one. */
  finalize(order: { readonly finalize: string }, csr: Buffer): Promise<AcmeAnswer> {
    return this.post(order.finalize, { csr: csr.toString('base64url') });
  }

  keyAuthorization(token: string): string {
    return `${token}.${this.key.thumbprint}`;
  }

  /** The value of the TXT record of dns-01. */
  keyDigest(token: string): string {
    return hash('sha256', this.keyAuthorization(token), 'base64url');
  }
}

export const base64url = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

function answerOf(options: RequestOptions, body: string | Buffer | undefined): Promise<AcmeAnswer> {
  return new Promise((resolve, reject) => {
    request(options, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const all = (name: string) => reply.headersDistinct[name.toLowerCase()] ?? [];
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString();
        const isJson = /json/.test(reply.headers['content-type'] ?? '') && text !== '';
        resolve({
          status: reply.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(reply.headersDistinct).map(([name, values]) => [name, values?.[0]]),
          ),
          all,
          text,
          bytes,
          json: isJson ? JSON.parse(text) : undefined,
        });
      });
    })
      .on('error', reject)
      .end(body);
  });
}
