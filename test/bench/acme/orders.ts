// A whole order as a client goes through it, from newOrder to the certificate in hand.
import { X509Certificate } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccountKey, AcmeClient, Reply } from './client.ts';
import type { Connection } from './connection.ts';
import type { Prepared } from './prepared.ts';
import type { Responder } from './responder.ts';
import type { AcmeLoad } from './run-load.ts';

export type Applying = {
  readonly client: AcmeClient;
  readonly account: AccountKey & { readonly url: string };
  readonly responder: Responder;
  readonly poll: AcmeLoad['poll'];
};

const GIVE_UP_MS = 30_000;
const unfinished: ReadonlySet<unknown> = new Set(['pending', 'processing']);

type Post = (kind: string, url: string, payload?: object) => Promise<Reply>;

/** An order that is left as it is born. */
export function beginOrder(applying: Applying, connection: Connection, name: string): Promise<Reply> {
  const { client } = applying;
  const payload = { identifiers: [{ type: 'dns', value: name }] };
  return poster(applying, connection)('new-order', client.directory.newOrder, payload);
}

/** Throws when it ends without a certificate for the name. */
export async function placeOrder(applying: Applying, connection: Connection, { name, csr }: Prepared): Promise<void> {
  const post = poster(applying, connection);
  const born = await beginOrder(applying, connection, name);
  const url = born.location;
  if (born.json.status === 'pending') {
    for (const authorization of born.json.authorizations) await prove(post, authorization, applying);
  }
  const finalized = await post('finalize', born.json.finalize, { csr });
  const order = await settled(
    post,
    'poll-order',
    url,
    finalized,
    applying.poll,
    new Set(['pending', 'ready', 'processing']),
  );
  if (order.json.status !== 'valid') throw new Error(`The order became ${order.json.status}.`);
  const { text } = await post('certificate', order.json.certificate);
  if (!text.startsWith('-----BEGIN CERTIFICATE-----')) throw new Error('What came is no certificate.');
  // One in a hundred is read: reading all of them would cost more than asking.
  if (Math.random() < 0.01 && new X509Certificate(text).checkHost(name) === undefined) {
    throw new Error('The certificate is for another name.');
  }
}

async function prove(post: Post, url: string, { account, responder, poll }: Applying): Promise<void> {
  const offered = await post('authorization', url);
  if (offered.json.status === 'valid') return;
  const challenge = offered.json.challenges.find(({ type }: { type: string }) => type === 'http-01');
  responder.answers.set(challenge.token, `${challenge.token}.${account.thumbprint}`);
  const answered = await post('challenge', challenge.url, {});
  // Some servers validate before they answer: then nothing is waited for.
  const first = answered.json.status === 'valid' ? await post('poll', url) : offered;
  const { json } = await settled(post, 'poll', url, first, poll, unfinished);
  responder.answers.delete(challenge.token);
  if (json.status === 'valid') return;
  const { error } = json.challenges.find(({ type }: { type: string }) => type === 'http-01');
  throw new Error(`The authorization became ${json.status}: ${error?.detail?.replace(/[\w.-]{16,}/g, '...')}`);
}

async function settled(
  post: Post,
  kind: string,
  url: string,
  first: Reply,
  { firstMs, factor }: AcmeLoad['poll'],
  waitWhile: ReadonlySet<unknown>,
): Promise<Reply> {
  let reply = first;
  let waitedMs = 0;
  for (let pauseMs = firstMs; waitWhile.has(reply.json.status); pauseMs *= factor) {
    if (waitedMs > GIVE_UP_MS) throw new Error(`It is still ${reply.json.status} after ${GIVE_UP_MS} ms.`);
    await pause(pauseMs);
    waitedMs += pauseMs;
    reply = await post(kind, url);
  }
  return reply;
}

const poster =
  ({ client, account }: Applying, connection: Connection): Post =>
  (kind, url, payload) =>
    client.post(connection, kind, url, payload, { key: account.key, kid: account.url });
