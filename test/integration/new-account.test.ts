// newAccount in the core, on real Postgres: what one look-up tells of a key, who may register, and many at once.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accountOfKey } from '../../src/core/accounts.ts';
import type { AcmeDirectory } from '../../src/core/acme-requests.ts';
import { formatId } from '../../src/core/ids.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { bindingProof } from '../support/binding-proof.ts';
import { testCa } from '../support/ca.ts';
import { admin } from '../support/given.ts';
import { anAccountKey } from '../support/given-acme-key.ts';
import { acmeAccount, acmeDirectory, registerClient } from '../support/given-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { openPlanner } from '../support/plans.ts';

const MANY = 50;

let world: Awaited<ReturnType<typeof testCa>>;
let issuer: { readonly id: string };
let open: AcmeDirectory;
let closed: AcmeDirectory;
beforeAll(async () => {
  world = await testCa();
  issuer = await givenIntermediate(world.ca);
});
beforeEach(async () => {
  open = await given({ registration_mode: 'open' });
  closed = await given({ registration_mode: 'preregister' });
});
afterAll(() => world[Symbol.asyncDispose]());

const given = async (wanted: Parameters<typeof givenDirectory>[1]) =>
  acmeDirectory(world.ca, await givenDirectory(world.ca, { issuer, ...wanted }));
const times = <Result>(work: () => Promise<Result>) => Promise.allSettled(Array.from({ length: MANY }, work));
const accountsOf = ({ id }: AcmeDirectory) =>
  world.ca.database.db.selectFrom('acme_keys').selectAll().where('directory_id', '=', id).execute();
const tokenOf = async (directory: AcmeDirectory) => {
  const token = await givenExternalBinding(world.ca, directory);
  return { ...token, proof: bindingProof(token, formatId('eab', token.id)) };
};

describe('many at once', () => {
  test('ACC-18: with one key: one is made, and all are given it', async () => {
    const key = await anAccountKey();
    const outcomes = await times(() => registerClient(world.ca, open, { key }));
    const made = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason));
    const [account] = await accountsOf(open);
    expect(new Set(made.map((one) => one.account?.id ?? one))).toEqual(new Set([account?.id]));
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await accountsOf(open)).toHaveLength(1);
  });

  test('EAB-7: with one key and one token: one is made, and all are given it', async () => {
    const [key, { proof: binding }] = [await anAccountKey(), await tokenOf(closed)];
    const outcomes = await times(() => registerClient(world.ca, closed, { key, binding }));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await accountsOf(closed)).toHaveLength(1);
  });

  test('EAB-7: with one token and a key each: one is made, and the others are refused', async () => {
    const { proof: binding } = await tokenOf(closed);
    const outcomes = await times(() => registerClient(world.ca, closed, { binding }));
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refused).toHaveLength(MANY - 1);
    for (const error of refused)
      expect(error).toMatchObject({ type: 'unauthorized', status: 403, message: expect.stringContaining('was used') });
    expect(await accountsOf(closed)).toHaveLength(1);
  });
});

describe('EAB-3: the same words for', () => {
  const wrong = async (): Promise<readonly [string, ReturnType<typeof bindingProof>][]> => {
    const { ca } = world;
    const [token, deleted] = [await tokenOf(closed), await tokenOf(closed)];
    const [foreign, foreignSpent] = [await tokenOf(open), await tokenOf(open)];
    await registerClient(ca, open, { binding: foreignSpent.proof });
    const spent = await tokenOf(closed);
    await registerClient(ca, closed, { binding: spent.proof });
    await sql`update external_bindings set deleted_at = now() where id = ${deleted.id}`.execute(ca.database.db);
    const macKey = Buffer.alloc(32).toString('base64url');
    return [
      ['a wrong MAC', bindingProof(token, token.proof.kid, { macKey })],
      ['a MAC of another length', { ...token.proof, algorithm: 'HS512' }],
      ['a MAC that is empty', { ...token.proof, mac: Buffer.alloc(0) }],
      ['an unknown kid', bindingProof(token, 'nobody')],
      ['an unknown id', bindingProof(token, formatId('eab', closed.id))],
      ['a token of another directory', foreign.proof],
      ['a spent token of another directory', foreignSpent.proof],
      ['a deleted token', deleted.proof],
      ['a spent token with a wrong MAC', bindingProof(spent, spent.proof.kid, { macKey })],
    ];
  };

  test('a wrong MAC, an unknown kid, another directory, deleted, spent without proof', async () => {
    const texts = new Set<string>();
    for (const [what, binding] of await wrong()) {
      const error = await registerClient(world.ca, closed, { binding }).catch((reason: unknown) => reason);
      expect(error, what).toMatchObject({ type: 'unauthorized', status: 403 });
      texts.add(String(error));
    }
    expect(texts.size).toBe(1);
  });

  test('a decoy key is opened and verified where there is no token', async () => {
    const { ca } = world;
    const asked: string[] = [];
    const keys = {
      ...ca.keys,
      sealer: async (ref: string) => {
        asked.push(ref);
        return ca.keys.sealer(ref);
      },
    };
    const binding = bindingProof({ id: '', macKey: 'AAAA' }, 'nobody');
    await expect(registerClient({ ...ca, keys }, closed, { binding })).rejects.toMatchObject({ type: 'unauthorized' });
    expect(asked).toEqual(['wrap']);
  });
});

test.each(['HS256', 'HS384', 'HS512'] as const)('EAB-2: a MAC by %s is verified', async (algorithm) => {
  const token = await tokenOf(closed);
  const binding = bindingProof(token, token.proof.kid, { algorithm });
  await expect(registerClient(world.ca, closed, { binding })).resolves.toMatchObject({ isNew: true });
});

test('EAB-8: the kid of a token is its id, and its key id where it has one', async () => {
  const token = await givenExternalBinding(world.ca, closed, { key_id: 'till.7_A-b' });
  const binding = bindingProof(token, 'till.7_A-b');
  const { account } = await registerClient(world.ca, closed, { binding });
  expect(await acmeAccount(world.ca, account.id)).toMatchObject({ eab_jws: binding.jws });
});

test('EAB-5: a binding that is sent without need is verified, and spent', async () => {
  const { proof } = await tokenOf(open);
  const binding = { ...proof, mac: Buffer.alloc(32) };
  await expect(registerClient(world.ca, open, { binding })).rejects.toMatchObject({ type: 'unauthorized' });
  const { account } = await registerClient(world.ca, open, { binding: proof });
  expect(account.externalAccountBinding).toBe(proof.jws);
});

test('EAB-9, SEC-29: neither the MAC key nor the proof is in the log or the audit log', async () => {
  const { ca, logLines } = world;
  const token = await tokenOf(closed);
  await registerClient(ca, closed, { binding: token.proof });
  const { rows } = await sql<{ text: string }>`select audit::text as text from audit`.execute(ca.database.db);
  const written = [...logLines, ...rows.map(({ text }) => text)].join('\n');
  for (const secret of [token.macKey ?? '', token.proof.mac.toString('base64url')])
    expect(written).not.toContain(secret);
});

test('EAB-10: of an account that is revoked, key and token are of no more use', async () => {
  const { ca } = world;
  const [key, { proof: binding }] = [await anAccountKey(), await tokenOf(closed)];
  const { account } = await registerClient(ca, closed, { key, binding });
  await revokeAcmeKey(ca, admin, account.id);
  await expect(registerClient(ca, closed, { key, binding })).rejects.toMatchObject({
    type: 'unauthorized',
    message: expect.stringContaining('revoked'),
  });
  await expect(registerClient(ca, closed, { binding })).rejects.toMatchObject({ type: 'unauthorized' });
});

test('ACC-1: the records name the account as the one who made itself', async () => {
  const { ca } = world;
  const { account } = await registerClient(ca, open, { contacts: ['mailto:ops@corp.example'] });
  const records = await ca.database.db
    .selectFrom('audit')
    .select(['action', 'actor_kind', 'actor', 'request_id'])
    .where('object_id', '=', account.id)
    .execute();
  expect(records).toEqual([
    { action: 'create', actor_kind: 'acme_key', actor: formatId('acmk', account.id), request_id: 'request-1' },
  ]);
});

test('ACC-2, G-29: a known key costs one look-up', async () => {
  const { ca, databaseUrl } = world;
  const key = await anAccountKey();
  await registerClient(ca, open, { key });
  await using planner = openPlanner(ca.database, databaseUrl);
  const work = (db: typeof ca.database.db) =>
    accountOfKey({ ...ca, database: { ...ca.database, db } as typeof ca.database }, open, key);
  expect(await planner.plansOf('force_generic_plan', work)).toHaveLength(1);
});
