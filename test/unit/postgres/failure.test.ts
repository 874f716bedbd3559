import { expect, test } from 'vitest';
import { explainFileError, explainOutput, isPortTaken } from '../../../src/postgres/failure.ts';

const outputs: readonly (readonly [string, RegExp])[] = [
  [
    'PANIC:  could not write to file "pg_wal/xlogtemp.29": No space left on device',
    /^The disk that holds \/data is full/,
  ],
  ['LOG:  could not bind IPv4 address "127.0.0.1": Address already in use', /taken by another program/],
  ['FATAL:  lock file "postmaster.pid" already exists', /^Another Postgres server still works on \/data/],
  ['FATAL:  pre-existing shared memory block (key 7, ID 0) is still in use', /^Another Postgres server/],
  ['FATAL:  could not map anonymous shared memory: Cannot allocate memory', /did not get its shared memory/],
  ['PANIC:  could not locate a valid checkpoint record', /^The database in \/data is damaged: restore/],
  ['initdb: error: could not look up effective user ID 4711: user does not exist', /needs a name for the user/],
  ['FATAL:  could not open file "global/pg_filenode.map": Permission denied', /^\/data is not readable and writable/],
  ['LOG:  starting\nFATAL:  something new\n', /^Postgres did not start on \/data: FATAL: {2}something new$/],
  ['', /^Postgres did not start on \/data: it wrote nothing\.$/],
];

test.for(outputs)('%j is explained by what to do', ([output, sentence]) => {
  const cause = new Error('status 1');
  const error = explainOutput('/data', output, { cause });
  expect(error.message).toMatch(sentence);
  expect(error.message).not.toContain('\n');
  expect(error.cause).toMatchObject({ cause });
});

test('only a taken port is worth another try', () => {
  expect(isPortTaken(explainOutput('/data', 'Address already in use', { cause: undefined }))).toBe(true);
  expect(isPortTaken(explainOutput('/data', 'Permission denied', { cause: undefined }))).toBe(false);
});

test.for([
  ['EACCES', '/data/postgres is not readable and writable for this user'],
  ['EROFS', '/data/postgres is not readable and writable for this user'],
  ['ENOSPC', 'The disk that holds /data is full'],
  ['ENOTDIR', '/data/postgres is not a folder'],
] as const)('%s below the data folder is explained by what to do', ([code, sentence]) => {
  const error = Object.assign(new Error(code), { code, path: '/data/postgres' });
  expect(explainFileError('/data', error)).toMatchObject({ message: expect.stringContaining(sentence), cause: error });
});

test('other errors pass unchanged', () => {
  const error = Object.assign(new Error('odd'), { code: 'EMFILE' });
  expect(explainFileError('/data', error)).toBe(error);
});
