// One GET over a connection that stands: the status, where a redirect leads, and the first bytes of the body as they came.
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { ProbeProblem } from './probe-problem.ts';
import { type Step, withinStep } from './step.ts';

export type Get = Pick<Step, 'deadlineMs' | 'signal'> & {
  readonly socket: Socket;
  readonly hostHeader: string;
  readonly path: string;
  readonly userAgent: string;
  /** What the answer was asked of, as the subject of a sentence. */
  readonly shownAs: string;
};

export type HttpAnswer = {
  readonly status: number;
  /** The Location of a redirect, whose body is not read. */
  readonly location: string | undefined;
  readonly body: Buffer;
  /** There is more of the body than is read. */
  readonly isCut: boolean;
};

/** A key authorization has less than 200 characters; what is longer is none (H01-5). */
export const MOST_BODY_BYTES = 1_024;
const MOST_HEADER_BYTES = 8 * 1_024;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The connection is of no use afterwards. Throws ProbeProblem where no whole HTTP answer comes in time. */
export async function get(asked: Get): Promise<HttpAnswer> {
  const { socket, deadlineMs, signal, shownAs } = asked;
  const late = (): ProbeProblem =>
    new ProbeProblem('connection', `${shownAs} did not send a whole answer within ${deadlineMs / 1000} s.`);
  try {
    return await withinStep<HttpAnswer>({ deadlineMs, signal, late }, (resolve, reject) => {
      const sent = request({
        createConnection: () => socket,
        path: asked.path,
        // Nothing is unpacked, so nothing is asked for packed.
        headers: { host: asked.hostHeader, 'user-agent': asked.userAgent, accept: '*/*', connection: 'close' },
        maxHeaderSize: MOST_HEADER_BYTES,
      });
      const fail = (error: NodeJS.ErrnoException): void => reject(problemOf(shownAs, error));
      const close = (): void => fail(new Error('closed'));
      sent.once('response', (response) => {
        sent.off('close', close);
        read(response, resolve, fail);
      });
      sent.on('error', fail);
      // All that is told of an answer that switches protocols.
      sent.once('close', close);
      sent.end();
      return () => sent.destroy();
    });
  } finally {
    socket.destroy();
  }
}

function read(response: IncomingMessage, resolve: (answer: HttpAnswer) => void, fail: (error: Error) => void): void {
  const { statusCode: status = 0, headers } = response;
  const none = Buffer.alloc(0);
  const location = redirects.has(status) ? headers.location : undefined;
  response.on('error', fail);
  if (location !== undefined || status !== 200) {
    resolve({ status, location, body: none, isCut: false });
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MOST_BODY_BYTES) {
      response.pause();
      resolve({ status, location, body: Buffer.concat(chunks).subarray(0, MOST_BODY_BYTES), isCut: true });
    }
  });
  response.once('end', () => resolve({ status, location, body: Buffer.concat(chunks), isCut: false }));
}

function problemOf(shownAs: string, { code = '' }: NodeJS.ErrnoException): ProbeProblem {
  return code.startsWith('HPE_')
    ? new ProbeProblem('incorrectResponse', `${shownAs} sent an answer that is not HTTP/1.1 or has huge headers.`)
    : new ProbeProblem('connection', `${shownAs} closed the connection before its answer was complete.`);
}
