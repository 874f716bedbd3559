// TLS on a connection that stands, whatever certificate the target has: what a challenge asks of it is checked by others.
import { connect, createSecureContext, type TLSSocket } from 'node:tls';
import type { Connection } from './connect.ts';
import { ProbeProblem } from './probe-problem.ts';
import { type Step, withinStep } from './step.ts';

type Handshake = Pick<Step, 'deadlineMs' | 'signal'> & {
  /** Undefined for an address, which SNI cannot say. */
  readonly serverName: string | undefined;
  readonly protocol: string;
  /** What is expected, for the message: a server name that a redirect gave is not repeated (SEC-4). */
  readonly expected: string;
};

// One for all, because making it is what costs. Nothing older than TLS 1.2 (ALP-2, SEC-14), and nobody is trusted.
const secureContext = createSecureContext({ minVersion: 'TLSv1.2', ca: [] });

/** By the code that OpenSSL or the system gives. */
const failures: Readonly<Record<string, string>> = {
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'does not offer this protocol',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'does not speak TLS 1.2 or newer',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'does not speak TLS 1.2 or newer',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'does not know the server name',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': 'refused the handshake',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS on this port',
  ECONNRESET: 'closed the connection during the handshake',
};

/** Throws ProbeProblem `tls` unless the handshake is done in time. */
export async function startTls({ socket, address }: Connection, handshake: Handshake): Promise<TLSSocket> {
  const { deadlineMs, signal, serverName, protocol, expected } = handshake;
  const problem = (what: string): ProbeProblem => new ProbeProblem('tls', `Expected ${expected}; ${address} ${what}.`);
  const late = (): ProbeProblem => problem(`did not finish it within ${deadlineMs / 1000} s`);
  const secure = connect({
    socket,
    secureContext,
    ALPNProtocols: [protocol],
    rejectUnauthorized: false,
    ...(serverName !== undefined && { servername: serverName }),
  });
  await withinStep<void>({ deadlineMs, signal, late }, (resolve, reject) => {
    secure.once('secureConnect', resolve);
    secure.on('error', (error: NodeJS.ErrnoException) =>
      reject(problem(failures[error.code ?? ''] ?? `failed it: ${error.code ?? error.name}`)),
    );
    return () => secure.destroy();
  });
  return secure;
}
