import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { type RunningPostgres, startPostgres } from '../../src/postgres/cluster.ts';
import { openDatabase } from '../../src/store/database.ts';
import { DatabaseUnavailable } from '../../src/store/database-error.ts';

const run = promisify(execFile);
let folder: string;
/** Takes TLS connections only; its certificate is for `localhost`, signed by ca.crt. */
let postgres: RunningPostgres;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-tls-'));
  await chmod(folder, 0o755);
  await makeCa('ca');
  await makeCa('other-ca');
  await makeCertificate('server', '/CN=ignored', 'subjectAltName=DNS:localhost');
  await makeCertificate('client', '/CN=certified', 'extendedKeyUsage=clientAuth');
  await writeFile(
    join(folder, 'hba'),
    'hostssl all certified 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 scram-sha-256\n',
  );
  const settings = {
    fsync: 'off',
    ssl: 'on',
    ssl_cert_file: join(folder, 'server.crt'),
    ssl_key_file: join(folder, 'server.key'),
    ssl_ca_file: join(folder, 'ca.crt'),
    hba_file: join(folder, 'hba'),
  };
  postgres = await startPostgres({
    dataDir: join(folder, 'data'),
    places: await usualPlaces(process.env.PATH ?? ''),
    settings,
  });
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const openssl = (...args: readonly string[]) => run('openssl', args, { cwd: folder });
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

const makeCa = (name: string) =>
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-subj',
    `/CN=${name}`,
    '-days',
    '2',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.crt`,
  );

async function makeCertificate(name: string, subject: string, extension: string): Promise<void> {
  await openssl(
    'req',
    ...newKey,
    '-subj',
    subject,
    '-addext',
    extension,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
  );
  const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-copy_extensions', 'copy', '-days', '2'];
  await openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.crt`);
  // The server runs as nobody when root starts it.
  if (process.getuid?.() === 0) await chown(join(folder, `${name}.key`), 65_534, 65_534);
}

/** The server's URL with other parameters; {} stands for the folder of the certificates. */
function urlWith(host: string, parameters: string, user?: string): string {
  const url = new URL(postgres.url);
  url.hostname = host;
  url.search = parameters.replaceAll('{}', folder);
  if (user !== undefined) {
    url.username = user;
    url.password = '';
  }
  return url.href;
}

async function isEncrypted(url: string): Promise<boolean | undefined> {
  await using database = openDatabase({ url });
  const { rows } = await sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(
    database.db,
  );
  return rows[0]?.ssl;
}

test.for([
  ['localhost', 'sslmode=verify-full&sslrootcert={}/ca.crt'],
  ['localhost', 'sslmode=verify-full&sslrootcert={}/ca.crt&sslnegotiation=postgres'],
  ['127.0.0.1', 'sslmode=verify-ca&sslrootcert={}/ca.crt'],
  ['127.0.0.1', 'sslmode=require'],
  ['127.0.0.1', 'sslmode=require&sslrootcert={}/ca.crt'],
  ['127.0.0.1', 'sslmode=prefer'],
  ['127.0.0.1', ''],
  ['127.0.0.1', 'sslmode=allow'],
] as const)('%s with "%s" connects by TLS', async ([host, parameters]) => {
  expect(await isEncrypted(urlWith(host, parameters))).toBe(true);
});

test.for([
  ['127.0.0.1', 'sslmode=verify-full&sslrootcert={}/ca.crt', 'is for another name'],
  ['localhost', 'sslmode=verify-full&sslrootcert={}/other-ca.crt', 'is not signed by a CA that we trust'],
  ['127.0.0.1', 'sslmode=verify-ca&sslrootcert={}/other-ca.crt', 'is not signed by a CA that we trust'],
  ['127.0.0.1', 'sslmode=require&sslrootcert={}/other-ca.crt', 'is not signed by a CA that we trust'],
  ['localhost', 'sslrootcert=system', 'is not signed by a CA that we trust'],
  ['127.0.0.1', 'sslmode=disable', 'refused the login: check the user in DATABASE_URL, TLS options and pg_hba.conf'],
] as const)('%s with "%s" is refused', async ([host, parameters, sentence]) => {
  const refused = isEncrypted(urlWith(host, parameters));
  await expect(refused).rejects.toBeInstanceOf(DatabaseUnavailable);
  await expect(refused).rejects.toThrow(sentence);
});

test('a client certificate is a login', async () => {
  await using admin = openDatabase({ url: urlWith('127.0.0.1', 'sslmode=require') });
  await sql`create role certified login`.execute(admin.db);
  const tls = 'sslmode=verify-ca&sslrootcert={}/ca.crt';
  const withCertificate = urlWith('127.0.0.1', `${tls}&sslcert={}/client.crt&sslkey={}/client.key`, 'certified');
  expect(await isEncrypted(withCertificate)).toBe(true);
  await expect(isEncrypted(urlWith('127.0.0.1', tls, 'certified'))).rejects.toBeInstanceOf(DatabaseUnavailable);
});

test('a renewed root certificate is used by the next connection', async () => {
  await rm(join(folder, 'root.crt'), { force: true });
  await writeFile(join(folder, 'root.crt'), (await run('cat', [join(folder, 'other-ca.crt')])).stdout);
  await using database = openDatabase({ url: urlWith('localhost', 'sslmode=verify-full&sslrootcert={}/root.crt') });
  await expect(database.ping()).rejects.toThrow('is not signed by a CA that we trust');
  await writeFile(join(folder, 'root.crt'), (await run('cat', [join(folder, 'ca.crt')])).stdout);
  await database.ping();
});

test.for([
  ['sslmode=prefer', false],
  ['sslmode=allow', false],
] as const)('a server without TLS is used plainly with %s', async ([parameters, encrypted]) => {
  const url = new URL(inject('postgresUrl'));
  url.search = parameters;
  expect(await isEncrypted(url.href)).toBe(encrypted);
});

test('a server without TLS is refused with sslmode=require', async () => {
  const url = new URL(inject('postgresUrl'));
  url.search = 'sslmode=require';
  await expect(isEncrypted(url.href)).rejects.toThrow('does not support SSL');
});
