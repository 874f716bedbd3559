// http-01 (RFC 8555 section 8.3, RFC 8738): a GET at port 80, redirects followed, and the body compared.
import { isIP, type Socket } from 'node:net';
import type { Probe, ProbeFailure, ProbeOutcome } from '../core/ports.ts';
import { type Connection, connectTo } from './connect.ts';
import { startTls } from './handshake.ts';
import { get, type HttpAnswer, MOST_BODY_BYTES } from './http-get.ts';
import type { Network, Prober } from './network.ts';
import { ProbeProblem } from './probe-problem.ts';
import { type Hop, nextHop } from './redirect.ts';

const MOST_REDIRECTS = 10;

export const probeHttp01: Prober = async (network, probe, signal) => {
  const { identifier, token } = probe;
  const host = identifier.value;
  // H01-1: the name alone, whatever port stands in for 80.
  const hostHeader = isIP(host) === 6 ? `[${host}]` : host;
  const path = `/.well-known/acme-challenge/${token}`;
  const url = `http://${hostHeader}${path}`;
  const first: Hop = { secure: false, host, port: network.httpPort, path, hostHeader, url };

  let hop = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const { answer, shownAs } = await ask(network, hop, { url, redirects }, signal);
    if (answer.location === undefined) return judge(answer, probe, shownAs);
    const next = nextHop(answer.location, hop, network);
    if (typeof next === 'string')
      throw new ProbeProblem('incorrectResponse', `${shownAs} redirected ${next}, which is not followed.`);
    hop = next;
  }
  throw new ProbeProblem('incorrectResponse', `${url} redirected more than ${MOST_REDIRECTS} times.`);
};

type Asked = { readonly answer: HttpAnswer; readonly shownAs: string };

async function ask(
  network: Network,
  hop: Hop,
  { url, redirects }: { readonly url: string; readonly redirects: number },
  signal: AbortSignal,
): Promise<Asked> {
  const { stepMs: deadlineMs, userAgent } = network;
  const { host, port, hostHeader, path } = hop;
  const target = redirects === 0 ? host : `the host that redirect ${redirects} of ${url} leads to`;
  const connection = await connectTo(network, { host, port, shownAs: target }, signal);
  try {
    const socket = hop.secure ? await secured(connection, host, { deadlineMs, signal }) : connection.socket;
    const shownAs = `${url} at ${connection.address}${redirects === 0 ? '' : ` (after ${redirects} redirects)`}`;
    const answer = await get({ socket, hostHeader, path, userAgent, shownAs, deadlineMs, signal });
    return { answer, shownAs };
  } finally {
    connection.socket.destroy();
  }
}

const secured = (
  connection: Connection,
  host: string,
  step: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<Socket> =>
  startTls(connection, {
    ...step,
    serverName: isIP(host) === 0 ? host : undefined,
    protocol: 'http/1.1',
    expected: 'a TLS handshake, as the redirect to https says',
  });

/** H01-2, H01-3. */
function judge({ status, body, isCut }: HttpAnswer, probe: Probe, shownAs: string): ProbeOutcome {
  const expected = 'the key authorization, with status 200';
  if (status !== 200)
    throw new ProbeProblem('incorrectResponse', `Expected ${expected}; ${shownAs} answered with status ${status}.`);
  const text = body.toString('latin1').replace(/[ \t\r\n]+$/, '');
  if (!isCut && text === probe.keyAuthorization) return { outcome: 'valid' };
  const size = isCut ? `more than ${MOST_BODY_BYTES} bytes` : `${body.length} bytes`;
  const { type, what } = likeness(text, probe);
  throw new ProbeProblem(type, `Expected ${expected}; ${shownAs} answered with ${size}${what}.`);
}

/** What it looks like, without a byte of it. */
function likeness(text: string, { token }: Probe): { readonly type: ProbeFailure; readonly what: string } {
  const type = 'incorrectResponse';
  if (text.startsWith(`${token}.`))
    return { type: 'unauthorized', what: ', which are the key authorization of another account key' };
  if (text.startsWith('\u00ef\u00bb\u00bf')) return { type, what: ' that begin with a byte order mark' };
  if (/^\s*</.test(text)) return { type, what: ' that look like HTML' };
  return { type, what: ' that are something else' };
}
