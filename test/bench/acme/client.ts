// An ACME client for any server of RFC 8555, as lean as can be: one account, a pool of nonces, and as many connections as
// there are orders in flight.
import { createHmac, createPrivateKey, hash, type KeyObject, sign } from 'node:crypto';
import { type Answer, Connection, type Origin } from './connection.ts';
import type { AccountJwk, Eab } from './run-load.ts';
import type { Tally } from './tally.ts';

export type Directory = { readonly newNonce: string; readonly newAccount: string; readonly newOrder: string };

export type Reply = {
  readonly location: string;
  /** As untyped as JSON.parse has it: what a server sends is checked where it is used, by failing. */
  readonly json: ReturnType<typeof JSON.parse>;
  readonly text: string;
};

export type AccountKey = {
  readonly key: KeyObject;
  readonly jwk: { readonly crv: string; readonly kty: string; readonly x: string; readonly y: string };
  readonly thumbprint: string;
};

const MOST_RETRIES = 5;

/** A refusal; the message is the problem's type and detail. */
class Refused extends Error {}

export async function openClient(directoryUrl: string, ca: string, tally: Tally): Promise<AcmeClient> {
  const origin = { url: new URL(directoryUrl), ca };
  const connection = new Connection(origin);
  const { status, body } = await connection.ask(directoryUrl);
  connection.close();
  if (status !== 200) throw new Error(`${directoryUrl} answers ${status}: ${body.slice(0, 300)}`);
  return new AcmeClient(origin, JSON.parse(body), tally);
}

export class AcmeClient {
  readonly directory: Directory;
  badNonces = 0;
  readonly #origin: Origin;
  readonly #tally: Tally;
  readonly #nonces: string[] = [];

  constructor(origin: Origin, directory: Directory, tally: Tally) {
    this.#origin = origin;
    this.directory = directory;
    this.#tally = tally;
  }

  connection(): Connection {
    return new Connection(this.#origin);
  }

  async newNonce(connection: Connection): Promise<string> {
    const { nonce } = await this.#timed('new-nonce', connection.ask(this.directory.newNonce, undefined, 'HEAD'));
    if (nonce === undefined) throw new Error('The server gave no nonce.');
    return nonce;
  }

  /** The account's URL. */
  async register(connection: Connection, account: AccountKey, eab?: Eab): Promise<string> {
    const payload = {
      termsOfServiceAgreed: true,
      ...(eab && { externalAccountBinding: bindingOf(account, eab, this.directory.newAccount) }),
    };
    const proof = { key: account.key, jwk: account.jwk };
    return (await this.post(connection, 'new-account', this.directory.newAccount, payload, proof)).location;
  }

  /** Posts a JWS, once more with another nonce when the server wants one. Throws what the server refuses. */
  async post(
    connection: Connection,
    kind: string,
    url: string,
    payload: object | undefined,
    { key, ...proof }: { readonly key: KeyObject } & ({ readonly kid: string } | Pick<AccountKey, 'jwk'>),
  ): Promise<Reply> {
    const body = payload === undefined ? '' : base64url(JSON.stringify(payload));
    for (let attempt = 0; ; attempt++) {
      const nonce = this.#nonces.pop() ?? (await this.newNonce(connection));
      const head = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...proof }));
      const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' });
      const jws = `{"protected":"${head}","payload":"${body}","signature":"${signature.toString('base64url')}"}`;
      const answer = await this.#timed(kind, connection.ask(url, jws));
      if (answer.nonce !== undefined) this.#nonces.push(answer.nonce);
      if (answer.status < 300) return replyOf(answer);
      const refused = refusal(kind, answer);
      if (!refused.message.includes('badNonce') || attempt === MOST_RETRIES) throw refused;
      this.badNonces++;
    }
  }

  async #timed(kind: string, asking: Promise<Answer>): Promise<Answer> {
    const begun = performance.now();
    const answer = await asking;
    this.#tally.took(kind, performance.now() - begun);
    return answer;
  }
}

export function accountKeyOf(privateJwk: AccountJwk): AccountKey {
  const { crv = '', kty = '', x = '', y = '' } = privateJwk;
  const jwk = { crv, kty, x, y };
  const thumbprint = hash('sha256', JSON.stringify(jwk), 'base64url');
  return { key: createPrivateKey({ key: privateJwk, format: 'jwk' }), jwk, thumbprint };
}

function bindingOf({ jwk }: AccountKey, { kid, hmacKey }: Eab, url: string): object {
  const head = base64url(JSON.stringify({ alg: 'HS256', kid, url }));
  const payload = base64url(JSON.stringify(jwk));
  const mac = createHmac('sha256', Buffer.from(hmacKey, 'base64url')).update(`${head}.${payload}`);
  return { protected: head, payload, signature: mac.digest('base64url') };
}

function replyOf({ location = '', body }: Answer): Reply {
  return { location, json: body.startsWith('{') ? JSON.parse(body) : undefined, text: body };
}

/** Without what differs from order to order, so that equal refusals count together. */
function refusal(kind: string, { status, body }: Answer): Refused {
  const { type = '', detail = body.slice(0, 200) } = body.startsWith('{') ? JSON.parse(body) : {};
  return new Refused(`${kind}: ${status} ${String(type).replace(/.*:/, '')} ${detail}`.replace(/[\w-]{20,}/g, '...'));
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
