// The errors of the database as the rest of the program may see them: no client, no statement, no values.
import pg from 'pg';

/** The database cannot be asked now; the same call may succeed later. */
export class DatabaseUnavailable extends Error {
  /** SQLSTATE or system error code, where there is one. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.name = 'DatabaseUnavailable';
    this.code = code;
  }
}

/** There was no connection to be had, so that nothing was sent. */
export class NotConnected extends DatabaseUnavailable {}

/** The database refused a statement. `constraint` is the name that callers map to a kind of refusal. */
export class DatabaseError extends Error {
  /** SQLSTATE. */
  readonly code: string;
  readonly constraint: string | undefined;
  readonly table: string | undefined;
  readonly column: string | undefined;

  constructor(message: string, from: Pick<pg.DatabaseError, 'code' | 'constraint' | 'table' | 'column'>) {
    super(message);
    this.name = 'DatabaseError';
    this.code = from.code ?? 'XX000';
    this.constraint = from.constraint;
    this.table = from.table;
    this.column = from.column;
  }
}

/** The database URL, or a file that it names, cannot be used. */
export class DatabaseUrlError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseUrlError';
  }
}

/** Who answers may be another program: it lets us in, or wants the password, without proving that it knows it. */
export class UnprovenServer extends Error {
  readonly code = 'UNPROVEN';
}

/** SQLSTATE classes and codes that say that the server, and not the statement, is at fault. */
const unavailableStates = /^(08|53|58|57P|57014|55P03|25006|25P03|26000)/;

/** After these the connection is of no more use, although the server has not closed it. */
const spoiltStates = /^(25006|26000)/;

/** What a code means when a connection is made; `at` is host and port. */
const connectSentences: Readonly<Record<string, (at: string) => string>> = {
  ECONNREFUSED: (at) =>
    `Postgres at ${at} does not accept connections: check that it runs and that DATABASE_URL names it.`,
  ENOTFOUND: (at) => `The host of ${at} is not known: check DATABASE_URL and the name service.`,
  EAI_AGAIN: (at) => `The host of ${at} is not known for the moment: the name service does not answer.`,
  ENOENT: (at) => `There is no Postgres socket at ${at}: check that it runs and that DATABASE_URL names it.`,
  '28P01': (at) => `Postgres at ${at} refused the password: check DATABASE_URL.`,
  '28000': (at) => `Postgres at ${at} refused the login: check the user in DATABASE_URL, TLS options and pg_hba.conf.`,
  '3D000': (at) => `Postgres at ${at} has no such database: create it, or correct DATABASE_URL.`,
  '53300': (at) => `Postgres at ${at} has no free connection: raise its max_connections, or lower ours.`,
  '57P03': (at) => `Postgres at ${at} is starting or stopping.`,
  UNPROVEN: (at) =>
    `What answers at ${at} did not prove that it knows the password of the database: another program may have taken the port.`,
  ERR_TLS_CERT_ALTNAME_INVALID: (at) =>
    `The certificate of Postgres at ${at} is for another name: use that name in DATABASE_URL, or sslmode=verify-ca.`,
  SELF_SIGNED_CERT_IN_CHAIN: (at) => untrusted(at),
  DEPTH_ZERO_SELF_SIGNED_CERT: (at) => untrusted(at),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: (at) => untrusted(at),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: (at) => untrusted(at),
};

const untrusted = (at: string) =>
  `The certificate of Postgres at ${at} is not signed by a CA that we trust: set sslrootcert in DATABASE_URL to its CA.`;

/** Translates what was thrown while a connection was made; everything that prevents one makes the database unavailable. */
export function connectError(error: unknown, at: string): Error {
  const code = codeOf(error);
  const sentence = code === undefined ? undefined : connectSentences[code]?.(at);
  const message = error instanceof Error ? error.message : 'unknown reason';
  return new NotConnected(sentence ?? `No connection to Postgres at ${at}: ${message}`, code);
}

/** Translates what was thrown by a statement; what neither the server nor the connection reported stays as it is. */
export function statementError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) {
    return isConnectionFailure(error)
      ? new DatabaseUnavailable(`The database went away: ${error.message}`, codeOf(error))
      : error;
  }
  const message = withoutValues(error);
  if (unavailableStates.test(error.code ?? '') || isStalePlan(error))
    return new DatabaseUnavailable(message, error.code);
  return new DatabaseError(message, error);
}

/** True when the connection that gave this error must not be used again. */
export const spoilsConnection = (error: unknown) =>
  error instanceof pg.DatabaseError
    ? spoiltStates.test(error.code ?? '') || isStalePlan(error)
    : error instanceof Error && error.message === 'Query read timeout';

/** A migration changed the columns of a prepared statement; a new connection prepares it anew. */
const isStalePlan = (error: pg.DatabaseError) => error.routine === 'RevalidateCachedQuery';

/** The driver reports these without a code. */
const connectionMessages = /^(Connection terminated|Query read timeout|Client (has encountered|was closed))/;

const isConnectionFailure = (error: unknown): error is Error =>
  error instanceof Error && (connectionMessages.test(error.message) || ('syscall' in error && 'code' in error));

/** Class 22 messages end in the refused value: 'invalid input syntax for type uuid: "..."'. */
const withoutValues = (error: pg.DatabaseError) =>
  error.code?.startsWith('22') ? error.message.replace(/:.*$/s, '') : error.message;

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
