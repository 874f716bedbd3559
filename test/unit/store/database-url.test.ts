import { expect, test } from 'vitest';
import { parseDatabaseUrl } from '../../../src/store/connection.ts';
import { DatabaseUrlError } from '../../../src/store/database-error.ts';

test('all parts of a URL are read, escapes too', () => {
  const target = parseDatabaseUrl(
    'postgresql://us%40er:p%3Ass@db.example:6432/my%20db?application_name=other&connect_timeout=3&options=-c%20geqo%3Doff',
  );
  expect(target).toMatchObject({
    host: 'db.example',
    port: 6432,
    user: 'us@er',
    password: 'p:ss',
    database: 'my db',
    applicationName: 'other',
    connectTimeoutMs: 3000,
    options: '-c geqo=off',
  });
});

test('IPv6 hosts and Unix sockets are understood', () => {
  expect(parseDatabaseUrl('postgres://[::1]/db').host).toBe('::1');
  const socket = parseDatabaseUrl('postgres:///db?host=/run/postgresql&sslmode=require');
  expect(socket.host).toBe('/run/postgresql');
  expect(socket.encryptions()).toEqual([false]);
});

const unchecked = { rejectUnauthorized: false };
test.for([
  ['disable', [false]],
  ['allow', [false, unchecked]],
  ['prefer', [unchecked, false]],
  ['require', [unchecked]],
] as const)('sslmode=%s tries the same ways as libpq, in its order', ([mode, ways]) => {
  expect(parseDatabaseUrl(`postgres://db/x?sslmode=${mode}`).encryptions()).toMatchObject(ways);
});

test('without sslmode it is prefer, as with libpq', () => {
  expect(parseDatabaseUrl('postgres://db/x').encryptions()).toMatchObject([unchecked, false]);
});

test('sslrootcert=system means verify-full with the roots of the system', () => {
  const [tls, ...others] = parseDatabaseUrl('postgres://db/x?sslrootcert=system').encryptions();
  expect(tls).toMatchObject({ rejectUnauthorized: true });
  expect(tls).not.toHaveProperty('checkServerIdentity');
  expect(others).toEqual([]);
});

test.for([
  ['mysql://db/x', 'must have the form postgres://user:password@host:5432/database'],
  ['not a url, s3cret', 'must have the form'],
  ['postgres://a,b/x', 'several hosts'],
  [
    'postgres://db/x?sslmode=full',
    'sslmode=full is not one of disable, allow, prefer, require, verify-ca, verify-full',
  ],
  ['postgres://db/x?ssl=true', 'parameter ssl, which is not supported; supported are host, '],
  ['postgres://db/x?channel_binding=require', 'parameter channel_binding'],
  ['postgres://db/x?sslrootcert=system&sslmode=require', 'needs sslmode=verify-full, not require'],
  ['postgres://db/x?sslmode=verify-full', 'sslmode=verify-full needs a root certificate: set sslrootcert'],
  [
    'postgres://db/x?sslmode=require&sslrootcert=/no/such/file',
    'sslrootcert names /no/such/file, which cannot be read (ENOENT)',
  ],
  ['postgres://db/x?sslmode=require&sslcert=/no/such/file', 'sslcert names /no/such/file'],
  ['postgres://db/x?sslnegotiation=direct', 'sslnegotiation=direct needs sslmode=require or stronger'],
  ['postgres://db/x?require_auth=md5', 'require_auth can only be scram-sha-256'],
  ['postgres://db/x?connect_timeout=soon', 'connect_timeout=soon is not a number'],
  ['postgres://user:s3cret%@db/x', 'write it as %25'],
] as const)('%s is refused, without its password', ([url, sentence]) => {
  const parse = () => parseDatabaseUrl(url);
  expect(parse).toThrow(DatabaseUrlError);
  expect(parse).toThrow(sentence);
  expect(parse).not.toThrow('s3cret');
});
