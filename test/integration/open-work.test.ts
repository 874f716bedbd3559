// What ends with an account, however much there is of it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endAuthorizations, endProbes } from '../../src/store/open-work.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { type GivenClient, givenAuthorized, givenClient } from '../support/given-challenge.ts';

const BATCH = 2;

let given: TestCa;
let client: GivenClient;
let other: GivenClient;
beforeEach(async () => {
  given = await testCa();
  client = await givenClient(given.ca);
  other = await givenClient(given.ca);
  for (const state of ['pending', 'valid', 'pending', 'valid', 'pending', 'deactivated'] as const)
    await givenAuthorized(given.ca, client, { state });
  await givenAuthorized(given.ca, other, {});
});
afterEach(() => given[Symbol.asyncDispose]());

const authorizations = async ({ acmeKeyId }: GivenClient): Promise<readonly string[]> => {
  const query = given.ca.database.db.selectFrom('authorizations').select('state').where('acme_key_id', '=', acmeKeyId);
  return (await query.execute()).map(({ state }) => state).toSorted();
};
const challenges = async ({ acmeKeyId }: GivenClient): Promise<readonly string[]> => {
  const query = given.ca.database.db
    .selectFrom('authorizations')
    .innerJoin('challenges', 'challenges.authorization_id', 'authorizations.id')
    .select('challenges.state')
    .where('acme_key_id', '=', acmeKeyId);
  return (await query.execute()).map(({ state }) => state);
};

test('all authorizations of an account end, also where they are more than end at a time', async () => {
  const { database, clock } = given.ca;
  await database.inTransaction((tx) => endAuthorizations(tx, client.acmeKeyId, 'all', clock.now(), BATCH));
  expect(await authorizations(client)).toEqual([
    ...['deactivated', 'invalid', 'invalid', 'invalid', 'revoked', 'revoked'],
  ]);
  expect(await authorizations(other)).toEqual(['pending']);
});

test('nothing is looked for any more that is of the account, and nothing else ends', async () => {
  await given.ca.database.inTransaction((tx) =>
    endProbes(tx, client.acmeKeyId, { type: 'unauthorized', detail: 'The account was revoked.' }),
  );
  expect(new Set(await challenges(client))).toEqual(new Set(['invalid']));
  expect(await challenges(other)).toEqual(['processing']);
});
