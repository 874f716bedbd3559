// Reads a database URL the way libpq does, TLS options included, where the driver's own reading of them differs.
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, getCACertificates } from 'node:tls';
import { DatabaseUrlError } from './database-error.ts';

/** Plain, or TLS with these options. */
export type Encryption = false | ConnectionOptions;

export type ConnectionTarget = {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly applicationName: string | undefined;
  readonly connectTimeoutMs: number | undefined;
  readonly options: string | undefined;
  readonly negotiation: 'postgres' | 'direct';
  /** The server has to prove that it knows the password, and is never sent it. */
  readonly requiresScram: boolean;
  /** To be tried in this order. Reads the certificate files, so that renewed ones are used by the next connection. */
  readonly encryptions: () => readonly [Encryption, ...Encryption[]];
};

type Mode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** How libpq combines plain connections and TLS. https://www.postgresql.org/docs/current/libpq-ssl.html */
const modes: Readonly<Record<Mode, (tls: () => ConnectionOptions) => readonly [Encryption, ...Encryption[]]>> = {
  disable: () => [false],
  allow: (tls) => [false, tls()],
  prefer: (tls) => [tls(), false],
  require: (tls) => [tls()],
  'verify-ca': (tls) => [tls()],
  'verify-full': (tls) => [tls()],
};

const parameters = [
  ...['host', 'port', 'user', 'password', 'dbname', 'application_name', 'connect_timeout', 'options'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'sslnegotiation', 'require_auth'],
];

/** Throws DatabaseUrlError, whose message never holds the password. */
export function parseDatabaseUrl(text: string): ConnectionTarget {
  const { url, settings } = readUrl(text);
  const host = settings.get('host') ?? (decode(url.hostname.replace(/^\[|\]$/g, '')) || 'localhost');
  if (host.includes(','))
    throw new DatabaseUrlError('The database URL names several hosts; give the one to connect to.');
  const mode = readMode(settings);
  const target: ConnectionTarget = {
    host,
    port: Number(settings.get('port') ?? (url.port || '5432')),
    user: settings.get('user') ?? (decode(url.username) || undefined),
    password: settings.get('password') ?? (decode(url.password) || undefined),
    database: settings.get('dbname') ?? (decode(url.pathname.slice(1)) || undefined),
    applicationName: settings.get('application_name'),
    connectTimeoutMs: secondsAsMs(settings.get('connect_timeout')),
    options: settings.get('options'),
    negotiation: readNegotiation(settings, mode),
    requiresScram: readRequiredAuth(settings),
    // libpq does not encrypt Unix sockets, whatever the mode.
    encryptions: host.startsWith('/') ? () => [false] : () => modes[mode](() => tlsOptions(mode, settings)),
  };
  target.encryptions();
  return target;
}

function readUrl(text: string): { readonly url: URL; readonly settings: ReadonlyMap<string, string> } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new DatabaseUrlError('The database URL must have the form postgres://user:password@host:5432/database.');
  }
  const settings = new Map(url.searchParams);
  const unknown = [...settings.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) {
    throw new DatabaseUrlError(
      `The database URL has the parameter ${unknown}, which is not supported; supported are ${parameters.join(', ')}.`,
    );
  }
  return { url, settings };
}

function readMode(settings: ReadonlyMap<string, string>): Mode {
  const usesSystemRoots = settings.get('sslrootcert') === 'system';
  const mode = settings.get('sslmode') ?? (usesSystemRoots ? 'verify-full' : 'prefer');
  if (!isMode(mode)) {
    throw new DatabaseUrlError(`sslmode=${mode} is not one of ${Object.keys(modes).join(', ')}.`);
  }
  if (usesSystemRoots && mode !== 'verify-full') {
    throw new DatabaseUrlError(
      `sslrootcert=system needs sslmode=verify-full, not ${mode}: anybody can get a public certificate.`,
    );
  }
  return mode;
}

const isMode = (text: string): text is Mode => Object.hasOwn(modes, text);

function readNegotiation(settings: ReadonlyMap<string, string>, mode: Mode): 'postgres' | 'direct' {
  const negotiation = settings.get('sslnegotiation') ?? 'postgres';
  if (negotiation !== 'postgres' && negotiation !== 'direct') {
    throw new DatabaseUrlError(`sslnegotiation=${negotiation} is not one of postgres, direct.`);
  }
  if (negotiation === 'direct' && ['disable', 'allow', 'prefer'].includes(mode)) {
    throw new DatabaseUrlError(`sslnegotiation=direct needs sslmode=require or stronger, not ${mode}.`);
  }
  return negotiation;
}

function readRequiredAuth(settings: ReadonlyMap<string, string>): boolean {
  const required = settings.get('require_auth');
  if (required === undefined || required === 'scram-sha-256') return required !== undefined;
  throw new DatabaseUrlError('require_auth can only be scram-sha-256 here.');
}

/** Any mode checks the server's chain when a root certificate is there; only verify-full checks the host's name. */
function tlsOptions(mode: Mode, settings: ReadonlyMap<string, string>): ConnectionOptions {
  const ca = readRoots(mode, settings.get('sslrootcert'));
  return {
    rejectUnauthorized: ca !== undefined,
    ...(ca !== undefined && { ca }),
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...readClientCertificate(settings),
  };
}

function readRoots(mode: Mode, path: string | undefined): string[] | undefined {
  if (path === 'system') return getCACertificates('system');
  const usual = join(homedir(), '.postgresql', 'root.crt');
  if (path !== undefined) return [readNamed('sslrootcert', path)];
  if (existsSync(usual)) return [readNamed('sslrootcert', usual)];
  if (!mode.startsWith('verify-')) return undefined;
  throw new DatabaseUrlError(
    `sslmode=${mode} needs a root certificate: set sslrootcert to a file or to "system", or put it at ${usual}.`,
  );
}

function readClientCertificate(settings: ReadonlyMap<string, string>): ConnectionOptions {
  const usual = join(homedir(), '.postgresql', 'postgresql');
  const certificate = settings.get('sslcert') ?? (existsSync(`${usual}.crt`) ? `${usual}.crt` : undefined);
  if (certificate === undefined) return {};
  const passphrase = settings.get('sslpassword');
  return {
    cert: readNamed('sslcert', certificate),
    key: readNamed('sslkey', settings.get('sslkey') ?? `${usual}.key`),
    ...(passphrase !== undefined && { passphrase }),
  };
}

function readNamed(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : 'unknown reason';
    throw new DatabaseUrlError(`${parameter} names ${path}, which cannot be read (${reason}).`, error);
  }
}

/** libpq: zero and negative numbers wait for ever. */
function secondsAsMs(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (!/^-?\d+$/.test(seconds)) throw new DatabaseUrlError(`connect_timeout=${seconds} is not a number of seconds.`);
  return Math.max(0, Number(seconds)) * 1000;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new DatabaseUrlError('The database URL holds a % that does not begin an escape: write it as %25.', error);
  }
}
