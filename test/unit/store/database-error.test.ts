import pg from 'pg';
import { expect, test } from 'vitest';
import {
  connectError,
  DatabaseError,
  DatabaseUnavailable,
  spoilsConnection,
  statementError,
} from '../../../src/store/database-error.ts';

const fromServer = (message: string, fields: Partial<pg.DatabaseError>) =>
  Object.assign(new pg.DatabaseError(message, message.length, 'error'), fields, { client: { password: 's3cret' } });

test('a refused statement keeps code and names, and loses client, detail and values', () => {
  const refused = fromServer('duplicate key value violates unique constraint "directories_slug_key"', {
    code: '23505',
    constraint: 'directories_slug_key',
    table: 'directories',
    detail: 'Key (slug)=(s3cret) already exists.',
  });
  const error = statementError(refused);
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error).toMatchObject({ code: '23505', constraint: 'directories_slug_key', table: 'directories' });
  expect(JSON.stringify([error, Object.entries(error ?? {}), String(error)])).not.toContain('s3cret');
});

test('the refused value is cut from the message of a data exception', () => {
  const error = statementError(fromServer('invalid input syntax for type uuid: "s3cret"', { code: '22P02' }));
  expect(error).toMatchObject({ message: 'invalid input syntax for type uuid', code: '22P02' });
});

test.for(['08006', '53300', '57P01', '57P03', '57014', '55P03', '25006', '58030'])(
  'state %s says that the database is unavailable',
  (code) => {
    expect(statementError(fromServer('words', { code }))).toMatchObject({ name: 'DatabaseUnavailable', code });
  },
);

test.for([
  new Error('Connection terminated unexpectedly'),
  new Error('Query read timeout'),
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }),
])('%s says that the database is unavailable', (error) => {
  expect(statementError(error)).toBeInstanceOf(DatabaseUnavailable);
});

test('a bug of ours is not dressed up as a fault of the database', () => {
  const bug = new TypeError('x is not a function');
  expect(statementError(bug)).toBe(bug);
});

test.for([
  ['ECONNREFUSED', 'Postgres at db:5432 does not accept connections'],
  ['ENOTFOUND', 'The host of db:5432 is not known'],
  ['28P01', 'Postgres at db:5432 refused the password'],
  ['3D000', 'has no such database'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another name'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'is not signed by a CA that we trust'],
  ['EODD', 'No connection to Postgres at db:5432: words'],
] as const)('%s while connecting is told by what to check', ([code, sentence]) => {
  const error = connectError(Object.assign(new Error('words'), { code }), 'db:5432');
  expect(error).toBeInstanceOf(DatabaseUnavailable);
  expect(error.message).toContain(sentence);
});

test('connections to a read-only server or with stale plans are not used again', () => {
  expect(spoilsConnection(fromServer('words', { code: '25006' }))).toBe(true);
  expect(spoilsConnection(fromServer('words', { code: '0A000', routine: 'RevalidateCachedQuery' }))).toBe(true);
  expect(spoilsConnection(fromServer('words', { code: '23505' }))).toBe(false);
});
