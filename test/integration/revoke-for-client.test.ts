// revokeCert in the core, on real Postgres: who may revoke what, for which reason, and what follows from it.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AcmeAccount, AcmeDirectory } from '../../src/core/acme-requests.ts';
import { type ClientRevocation, revokeForClient } from '../../src/core/acme-revocation.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { crlEntry } from '../../src/x509/crl.ts';
import { testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin } from '../support/given.ts';
import { anAccountKey } from '../support/given-acme-key.ts';
import { acmeDirectory, givenClient } from '../support/given-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { type GivenCert, givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

type Wanted = Parameters<typeof givenIssuedCert>[2];
type Cert = GivenCert & { readonly key: Awaited<ReturnType<typeof anAccountKey>> };

let world: Awaited<ReturnType<typeof testCa>>;
let issuer: { readonly id: string };
let directory: AcmeDirectory;
let owner: AcmeAccount;
let other: AcmeAccount;
beforeAll(async () => {
  world = await testCa();
  issuer = await givenIntermediate(world.ca);
});
beforeEach(async () => {
  directory = await given();
  owner = await givenClient(world.ca, directory);
  other = await givenClient(world.ca, directory);
});
afterAll(() => world[Symbol.asyncDispose]());

const given = async () =>
  acmeDirectory(world.ca, await givenDirectory(world.ca, { issuer, registration_mode: 'open' }));

async function aCert(wanted: Wanted = {}, key?: Cert['key']): Promise<Cert> {
  const ofCert = key ?? (await anAccountKey());
  const account = { acmeKeyId: owner.id, directoryId: directory.id, signingCertId: issuer.id };
  return { ...(await givenIssuedCert(world.ca, account, { spki: ofCert.spki, ...wanted })), key: ofCert };
}

const revoke = (signer: ClientRevocation['signer'], cert: { readonly der: Buffer }, reason?: number, different = {}) =>
  revokeForClient(world.ca, {
    directory,
    signer,
    certificate: cert.der.toString('base64url'),
    reason,
    requestId: 'request-1',
    ...different,
  });

const stateOf = ({ id }: { readonly id: string }) =>
  world.ca.database.db
    .selectFrom('issued_certs')
    .select(['state', 'reason', 'revoked_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
const revocationOf = ({ serial }: GivenCert) =>
  world.ca.database.db.selectFrom('revocations').selectAll().where('serial', '=', serial).executeTakeFirstOrThrow();
const isBlocked = async ({ thumbprint }: { readonly thumbprint: Buffer }) => {
  const { db } = world.ca.database;
  const row = await db.selectFrom('used_keys').select('why').where('thumbprint', '=', thumbprint).executeTakeFirst();
  return row?.why === 'compromised';
};

type Authorized = {
  readonly value?: string;
  readonly type?: 'dns' | 'ip';
  readonly wildcard?: boolean;
  readonly auto?: boolean;
  readonly state?: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  readonly expires_at?: Date;
};

async function authorized(...all: readonly Authorized[]): Promise<void> {
  const now = world.ca.clock.now();
  for (const one of all) {
    const usual = { type: 'dns', value: 'shop.corp.example', wildcard: false, auto: false, state: 'valid' } as const;
    const fixed = { id: newUuid(now), acme_key_id: other.id, created_at: now, validated_at: now };
    const row = { ...fixed, ...usual, expires_at: new Date(now.getTime() + 1000), ...one };
    await world.ca.database.db.insertInto('authorizations').values(row).execute();
  }
}

describe('REV-1, SEC-34: a certificate is revoked by', () => {
  test('the account that it was issued to', async () => {
    const cert = await aCert();
    await revoke({ account: owner }, cert);
    expect(await stateOf(cert)).toEqual({ state: 'revoked', reason: 0, revoked_at: world.ca.clock.now() });
    const record = await world.ca.database.db
      .selectFrom('audit')
      .select(['action', 'actor_kind', 'actor', 'request_id'])
      .where('object_id', '=', cert.id)
      .execute();
    expect(record).toEqual([
      { action: 'revoke', actor_kind: 'acme_key', actor: formatId('acmk', owner.id), request_id: 'request-1' },
    ]);
  });

  test('its key, which is no account; the record names the certificate', async () => {
    const cert = await aCert();
    await revoke({ key: cert.key }, cert, 4);
    expect(await stateOf(cert)).toMatchObject({ state: 'revoked', reason: 4 });
    const { rows } = await sql`select actor from audit where object_id = ${cert.id}`.execute(world.ca.database.db);
    expect(rows).toEqual([{ actor: `key of ${formatId('icrt', cert.id)}` }]);
  });

  test('an account with authorizations for all its names', async () => {
    const cert = await aCert({ names: ['shop.corp.example', '*.corp.example', '10.0.0.7', 'fd00::7'] });
    await authorized(
      {},
      { value: 'corp.example', wildcard: true },
      { type: 'ip', value: '10.0.0.7' },
      { type: 'ip', value: 'fd00::7' },
    );
    await revoke({ account: other }, cert, 5);
    expect(await stateOf(cert)).toMatchObject({ state: 'revoked', reason: 5 });
  });
});

describe('REV-6, SEC-34: no right to revoke has', () => {
  const refused = async (signer: ClientRevocation['signer'], cert: Cert) => {
    await expect(revoke(signer, cert)).rejects.toMatchObject({ type: 'unauthorized', status: 403 });
    expect(await stateOf(cert)).toMatchObject({ state: 'valid' });
  };

  test('SEC-9: another account, the key of another certificate, the key of an account', async () => {
    const [cert, another] = [await aCert(), await aCert()];
    await refused({ account: other }, cert);
    await refused({ key: another.key }, cert);
    await refused({ key: { ...owner, jwk: {} } }, cert);
  });

  test.each<[string, Authorized]>([
    ['was given without a challenge', { auto: true }],
    ['has ended', { expires_at: new Date('2026-05-17T12:00:00Z') }],
    ['is pending', { state: 'pending' }],
    ['is invalid', { state: 'invalid' }],
    ['is deactivated', { state: 'deactivated' }],
    ['is revoked', { state: 'revoked' }],
    ['is for the wildcard', { wildcard: true }],
    ['is for another name', { value: 'corp.example' }],
    ['is of another type', { type: 'ip' }],
  ])('an account whose authorization %s', async (_, authorization) => {
    const cert = await aCert();
    await authorized(authorization);
    await refused({ account: other }, cert);
  });

  test('an account with authorizations for all names but one', async () => {
    const cert = await aCert({ names: ['shop.corp.example', 'till.corp.example'] });
    await authorized({});
    await refused({ account: other }, cert);
  });

  test('an account with the authorization of the name, for the wildcard', async () => {
    const cert = await aCert({ names: ['*.corp.example'] });
    await authorized({ value: 'corp.example' }, { value: 'shop.corp.example' });
    await refused({ account: other }, cert);
  });
});

describe('REV-6: malformed is', () => {
  const malformed = { type: 'malformed', status: 400 };

  test('a certificate of another directory, and one that only says that it is ours', async () => {
    const cert = await aCert();
    const elsewhere = await given();
    const account = await givenClient(world.ca, elsewhere);
    await expect(revoke({ account }, cert, 0, { directory: elsewhere })).rejects.toMatchObject(malformed);
    await expect(revoke({ key: cert.key }, cert, 0, { directory: elsewhere })).rejects.toMatchObject(malformed);
    // REV-9: the serial number of one of ours, in a certificate of somebody else.
    const foreign = await foreignCa({ serial: cert.serial, subject: { CN: 'Corp Issuing' } });
    await expect(revoke({ account: owner }, foreign)).rejects.toMatchObject(malformed);
    expect(await stateOf(cert)).toMatchObject({ state: 'valid' });
  });

  test('REV-9: a certificate of ours with one bit changed', async () => {
    const cert = await aCert();
    const der = Buffer.from(cert.der);
    der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
    await expect(revoke({ account: owner }, { der })).rejects.toMatchObject(malformed);
  });

  test('an expired certificate', async () => {
    const cert = await aCert({ validForDays: 1 });
    world.ca.clock.advance(DAY_MS);
    await expect(revoke({ account: owner }, cert)).rejects.toMatchObject(malformed);
    await expect(revoke({ key: cert.key }, cert, 1)).rejects.toMatchObject(malformed);
  });

  test('what is no certificate in base64url', async () => {
    const { der } = await aCert();
    const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
    const text = der.toString('base64url');
    const texts = [
      '',
      'AAAA',
      pem,
      der.toString('base64'),
      `${text}=`,
      `${text} `,
      `${text}A`,
      Buffer.concat([der, der]).toString('base64url'),
    ];
    for (const certificate of texts)
      await expect(revoke({ account: owner }, { der }, 0, { certificate }), certificate).rejects.toMatchObject(
        malformed,
      );
  });
});

describe('reasons', () => {
  test.each([0, 1, 3, 4, 5])('REV-5: a client may give %i', async (reason) => {
    const cert = await aCert();
    await revoke({ account: owner }, cert, reason);
    expect(await stateOf(cert)).toMatchObject({ state: 'revoked', reason });
  });

  test.each([2, 6, 7, 8, 9, 10, 11, -1, 1e9])(
    'REV-5: a client may not give %i, and hears what it may',
    async (reason) => {
      const cert = await aCert();
      await expect(revoke({ account: owner }, cert, reason)).rejects.toMatchObject({
        type: 'badRevocationReason',
        status: 400,
        message: expect.stringContaining('0, 1, 3, 4, 5'),
      });
      expect(await stateOf(cert)).toMatchObject({ state: 'valid' });
    },
  );

  test.each([undefined, 0])('REV-4: with the reason %s the entry has no reason', async (reason) => {
    const cert = await aCert();
    await revoke({ account: owner }, cert, reason);
    const { entry } = await revocationOf(cert);
    expect(entry).toEqual(crlEntry(cert.serial, world.ca.clock.now(), 'unspecified'));
  });
});

describe('REV-3: revoked already', () => {
  const alreadyRevoked = { type: 'alreadyRevoked', status: 400 };

  test('is what the second hears, by whatever right', async () => {
    const cert = await aCert();
    await revoke({ account: owner }, cert);
    await authorized({});
    for (const signer of [{ account: owner }, { account: other }, { key: cert.key }])
      await expect(revoke(signer, cert, 4)).rejects.toMatchObject(alreadyRevoked);
    await expect(revoke({ account: owner }, cert, 1)).rejects.toMatchObject(alreadyRevoked);
    expect(await stateOf(cert)).toMatchObject({ reason: 0 });
    expect(await isBlocked(cert.key)).toBe(false);
  });

  test('is what all but one of many at once hear', async () => {
    const cert = await aCert();
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => revoke({ account: owner }, cert)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(alreadyRevoked);
  });

  test('by an administrator: key_compromise shown by the key becomes its reason, on the CRL too', async () => {
    const { ca } = world;
    const cert = await aCert();
    const revokedAt = ca.clock.now();
    await revokeIssuedCert(ca, admin, cert.id, 'superseded');
    await sql`delete from crls`.execute(ca.database.db);
    ca.clock.advance(60_000);

    await revoke({ key: cert.key }, cert, 1);

    expect(await stateOf(cert)).toEqual({ state: 'revoked', reason: 1, revoked_at: revokedAt });
    expect(await revocationOf(cert)).toMatchObject({
      revoked_at: revokedAt,
      changed_at: ca.clock.now(),
      entry: crlEntry(cert.serial, revokedAt, 'keyCompromise'),
    });
    expect(await isBlocked(cert.key)).toBe(true);
    const crls = await ca.database.db.selectFrom('crls').select(['signing_cert_id', 'dirty_since']).execute();
    expect(crls).toEqual([{ signing_cert_id: issuer.id, dirty_since: ca.clock.now() }]);
    const { rows } = await sql`select detail from audit where object_id = ${cert.id} order by id desc limit 1`.execute(
      ca.database.db,
    );
    expect(rows).toEqual([
      { detail: { before: { revoke_reason: 'superseded' }, after: { revoke_reason: 'key_compromise' } } },
    ]);
    // Once: there is nothing left to make worse.
    await expect(revoke({ key: cert.key }, cert, 1)).rejects.toMatchObject(alreadyRevoked);
  });

  test('for key_compromise by its account: the key still ends its other certificates', async () => {
    const cert = await aCert();
    const another = await aCert({}, cert.key);
    await revoke({ account: owner }, cert, 1);
    expect(await stateOf(another)).toMatchObject({ state: 'valid' });
    await revoke({ key: cert.key }, cert, 1);
    expect(await stateOf(another)).toMatchObject({ state: 'revoked', reason: 1 });
  });
});

describe('REV-8: key_compromise', () => {
  test('shown by the key blocks it and revokes its other live certificates, in all directories', async () => {
    const { ca } = world;
    const cert = await aCert();
    const elsewhere = await given();
    const account = await givenClient(ca, elsewhere);
    const ids = { acmeKeyId: account.id, directoryId: elsewhere.id, signingCertId: issuer.id };
    const [foreign, earlier, unrelated] = [
      await givenIssuedCert(ca, ids, { spki: cert.key.spki }),
      await aCert({}, cert.key),
      await aCert(),
    ];
    await revokeIssuedCert(ca, admin, earlier.id, 'superseded');
    await revoke({ key: cert.key }, cert, 1);
    for (const one of [cert, foreign]) expect(await stateOf(one)).toMatchObject({ state: 'revoked', reason: 1 });
    expect(await stateOf(earlier)).toMatchObject({ reason: 4 });
    expect(await stateOf(unrelated)).toMatchObject({ state: 'valid' });
    expect(await isBlocked(cert.key)).toBe(true);
  });

  test('of its account blocks the key, and leaves its other certificates', async () => {
    const cert = await aCert();
    const another = await aCert({}, cert.key);
    await revoke({ account: owner }, cert, 1);
    expect(await isBlocked(cert.key)).toBe(true);
    expect(await stateOf(another)).toMatchObject({ state: 'valid' });
  });

  test('of an account that holds its names blocks nothing: it has not shown the key', async () => {
    const cert = await aCert();
    await authorized({});
    await revoke({ account: other }, cert, 1);
    expect(await stateOf(cert)).toMatchObject({ state: 'revoked', reason: 1 });
    expect(await isBlocked(cert.key)).toBe(false);
  });

  test('another reason, shown by the key, blocks nothing', async () => {
    const cert = await aCert();
    await revoke({ key: cert.key }, cert, 4);
    expect(await isBlocked(cert.key)).toBe(false);
  });
});
