// Revocations and what happens at the same moment: nothing is issued or made active past them, and they are whole or not at all.
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAccountKey } from '../../src/core/account-key.ts';
import { revokeForClient } from '../../src/core/acme-revocation.ts';
import type { Applicant } from '../../src/core/applicant.ts';
import type { Ca } from '../../src/core/ca.ts';
import { createExternalBinding } from '../../src/core/create-external-binding.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { finishPendingSigningCerts } from '../../src/core/pending-signing-certs.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { revokeSigningCert } from '../../src/core/revoke-signing-cert.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { generatePrivateKey, type PrivateKey } from '../../src/x509/private-key.ts';
import { publicKeyPem } from '../../src/x509/public-key.ts';
import { eventually } from '../support/eventually.ts';
import { admin, type GivenCa, givenCa } from '../support/given.ts';
import { applicantOf, givenApplicant } from '../support/given-applicant.ts';
import { aRequest, certificatesOf, dns, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { waitingQueries } from '../support/waiting.ts';

let given: GivenCa;
let ca: GivenCa['ca'];
beforeEach(async () => {
  given = await givenCa();
  ({ ca } = given);
});
afterEach(() => given[Symbol.asyncDispose]());

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing was refused',
    (error: unknown) => error,
  );

test('a request that has seen the CA cert before it was revoked makes no order', async () => {
  const issuer = await givenIntermediate(ca);
  const applicant = await givenApplicant(ca, { ...permissive, issuer });
  await givenReadyOrder(ca, applicant);

  await revokeSigningCert(ca, admin, issuer.id, 'superseded');

  expect(await refusal(givenReadyOrder(ca, applicant))).toMatchObject({
    status: 503,
    message: expect.stringContaining('is revoked'),
  });
});

describe('a CA cert whose parent is revoked while it is made', () => {
  let root: SingleSigningCertView;
  let upper: SingleSigningCertView;
  let parent: SingleSigningCertView;
  beforeEach(async () => {
    root = await givenRoot(ca);
    upper = await givenIntermediate(ca, { parent: root, path_length: 2, name: 'Upper' });
    parent = await givenIntermediate(ca, { parent: upper, path_length: 1, name: 'Parent' });
  });

  const rowsBelow = () =>
    ca.database.db.selectFrom('signing_certs').select(['id', 'state']).where('parent_id', '=', parent.id).execute();
  /** After it was signed, and before it is active. */
  const onceSigned = (work: () => Promise<unknown>): Ca => ({
    ...ca,
    keys: {
      ...ca.keys,
      createOnce: async (ref, material) => {
        await work();
        return ca.keys.createOnce(ref, material);
      },
    },
  });
  const revoke = ({ id }: SingleSigningCertView) => revokeSigningCert(ca, admin, id, 'superseded');

  test.each([
    ['itself', () => parent, 'CA cert Parent is revoked.'],
    ['above it', () => upper, 'CA cert Parent stands below CA cert Upper, which is revoked.'],
  ])('%s is refused, and nothing of it stays', async (_, which, message) => {
    const keysBefore = (await ca.keys.list()).length;

    const refused = await refusal(
      givenIntermediate(
        onceSigned(() => revoke(which())),
        { parent },
      ),
    );

    expect(refused).toMatchObject({ kind: 'cannot_sign', message });
    expect(await rowsBelow()).toEqual([]);
    expect((await ca.keys.list()).length).toBe(keysBefore);
  });

  test('is refused by the database, where the revocation is being committed at that moment', async () => {
    const { db } = ca.database;
    const both = await db.transaction().execute(async (tx) => {
      await sql`lock table revocations in share mode`.execute(tx);
      const revoking = revoke(parent);
      await waitingQueries(db, 1);
      // Its parent cannot be held: it waits before it begins, or, begun before, before it is active.
      const making = refusal(givenIntermediate(ca, { parent }));
      await waitingQueries(db, 2);
      return () => Promise.all([revoking, making]);
    });

    const [revoked, refused] = await both();

    expect(revoked.revokedAt).toBeDefined();
    expect(refused).toMatchObject({ kind: 'cannot_sign' });
    expect(await rowsBelow()).toEqual([]);
  });

  test('waits, signed, for the revocation that has its parent, and is then refused', async () => {
    const { db } = ca.database;
    let revoking: ReturnType<typeof revoke> | undefined;
    const { promise: end, resolve: release } = Promise.withResolvers<void>();
    const held = db.transaction().execute(async (tx) => {
      await sql`lock table revocations in share mode`.execute(tx);
      await end;
    });
    const making = refusal(
      givenIntermediate(
        onceSigned(async () => {
          revoking = revoke(parent);
          await waitingQueries(db, 1);
        }),
        { parent },
      ),
    );
    await eventually('the revocation was begun', () => revoking !== undefined);
    await waitingQueries(db, 2);
    release();
    await Promise.all([held, revoking]);

    expect(await making).toMatchObject({ kind: 'cannot_sign' });
    expect(await rowsBelow()).toEqual([]);
  });

  test('and whose process died is dropped by the sweep', async () => {
    const { promise: stored, resolve: isStored } = Promise.withResolvers<void>();
    const dying: Ca = {
      ...ca,
      keys: {
        ...ca.keys,
        createOnce: async (ref, material) => {
          await ca.keys.createOnce(ref, material);
          isStored();
          return new Promise<never>(() => {});
        },
      },
    };
    void givenIntermediate(dying, { parent });
    await stored;
    await revoke(parent);
    ca.clock.advance(11 * 60_000);

    await finishPendingSigningCerts(ca);

    expect(await rowsBelow()).toEqual([]);
    expect(given.logLines.join('')).toContain('unfinished CA cert without a key dropped');
  });
});

describe('REV-8: a key that its holder gives up while certificates are issued for it', () => {
  let key: PrivateKey;
  let applicant: Applicant;
  let first: { readonly der: Buffer };
  beforeEach(async () => {
    key = await generatePrivateKey('ec_256');
    applicant = await givenApplicant(ca, permissive);
    const order = await givenReadyOrder(ca, applicant);
    await finalize(ca, applicant, order, await aRequest({ key }));
    const [cert] = await certificatesOf(ca, order.id);
    if (cert === undefined) throw new Error('no certificate was issued');
    first = cert;
  });

  const giveUp = () =>
    revokeForClient(ca, {
      directory: applicant.directory,
      signer: { key: readAccountKey(publicKeyPem(key.spki)) },
      certificate: first.der.toString('base64url'),
      reason: 1,
      requestId: 'request-1',
    });
  const ofName = async (name: string) => ({
    order: await givenReadyOrder(ca, applicant, { identifiers: [dns(name)] }),
    csr: await aRequest({ key, names: [dns(name)] }),
  });
  const liveCerts = () =>
    ca.database.db.selectFrom('issued_certs').select(['id', 'subjects']).where('state', '=', 'valid').execute();
  const stateOf = async ({ id }: { readonly id: string }) =>
    (await ca.database.db.selectFrom('orders').select('state').where('id', '=', id).executeTakeFirstOrThrow()).state;

  test('none is live afterwards: not one that was being completed, and had looked at the key before it was blocked', async () => {
    const { db } = ca.database;
    const { order, csr } = await ofName('late.corp.example');
    const { promise: end, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
    let held: Promise<void> | undefined;
    const slow: Ca = {
      ...ca,
      keys: {
        ...ca.keys,
        signer: async (ref) => {
          const signer = await ca.keys.signer(ref);
          const sign = async (tbs: Buffer) => {
            held ??= db.transaction().execute(async (tx) => {
              await sql`select from orders where id = ${order.id} for update`.execute(tx);
              isLocked();
              await end;
            });
            await locked;
            return signer.sign(tbs);
          };
          return { ...signer, sign };
        },
      },
    };
    const finalizing = finalize(slow, applicant, order, csr);
    await locked;
    // The statement that completes the order has begun, and waits for its row.
    await waitingQueries(db, 1);
    const giving = giveUp();
    await waitingQueries(db, 2);
    release();
    await Promise.all([held, giving, finalizing]);

    expect(await liveCerts()).toEqual([]);
    expect(await stateOf(order)).toMatch(/^(valid|invalid)$/);
  });

  test('none is issued that is reserved after its certificates were looked for, before the commit', async () => {
    const { db } = ca.database;
    const { order, csr } = await ofName('late.corp.example');
    const all = await db.transaction().execute(async (tx) => {
      await sql`lock table revocations in share mode`.execute(tx);
      const giving = giveUp();
      await waitingQueries(db, 1);
      const refused = await refusal(finalize(ca, applicant, order, csr));
      return () => Promise.all([giving, refused]);
    });
    const [, refused] = await all();

    expect(refused).toMatchObject({ kind: 'conflict' });
    expect(await liveCerts()).toEqual([]);
    expect(await refusal(finalize(ca, applicant, order, csr))).toMatchObject({ type: 'badCSR' });
  });

  test('an order that is in work for it ends at once, and says why', async () => {
    const { order, csr } = await ofName('stuck.corp.example');
    const broken: Ca = {
      ...ca,
      keys: {
        ...ca.keys,
        signer: async (ref) => ({
          ...(await ca.keys.signer(ref)),
          sign: () => Promise.reject(new Error('the module is away')),
        }),
      },
    };
    expect(await finalize(broken, applicant, order, csr)).toMatchObject({ state: 'processing' });

    await giveUp();

    expect(await stateOf(order)).toBe('invalid');
    expect(given.logLines.join('')).toContain('its private key is known to others');
    expect(await liveCerts()).toEqual([]);
  });
});

describe('an account key that is revoked with its certificates', () => {
  const issued = async (applicant: Applicant) => {
    const order = await givenReadyOrder(ca, applicant);
    await finalize(ca, applicant, order, await aRequest());
  };
  const states = async (table: 'issued_certs' | 'orders') =>
    (await ca.database.db.selectFrom(table).select('state').execute()).map(({ state }) => state).sort();

  test('leaves no open order and no live certificate, whatever its client does at that moment', async () => {
    const { db } = ca.database;
    const applicant = await givenApplicant(ca, permissive);
    await issued(applicant);
    const order = await givenReadyOrder(ca, applicant, { identifiers: [dns('open.corp.example')] });
    const csr = await aRequest({ names: [dns('open.corp.example')] });
    const all = await db.transaction().execute(async (tx) => {
      await sql`lock table revocations in share mode`.execute(tx);
      const revoking = revokeAcmeKey(ca, admin, applicant.account.id, { certificates: 'superseded' });
      await waitingQueries(db, 1);
      const work = [
        refusal(finalize(ca, applicant, order, csr)),
        refusal(newOrder(ca, applicant, { identifiers: [dns('new.corp.example')] })),
      ];
      await waitingQueries(db, 3);
      return () => Promise.all([revoking, ...work]);
    });

    const [, ...refused] = await all();

    expect(refused).toMatchObject([{ type: 'orderNotReady' }, { type: 'unauthorized' }]);
    expect(await states('issued_certs')).toEqual(['revoked']);
    expect(await states('orders')).toEqual(['invalid', 'valid']);
  });

  test('is whole or not at all: where its certificates cannot be revoked, the account and its orders are as before', async () => {
    const { db } = ca.database;
    const applicant = await givenApplicant(ca, permissive);
    await issued(applicant);
    await givenReadyOrder(ca, applicant, { identifiers: [dns('open.corp.example')] });
    await sql`alter table revocations add constraint full_disk check (false) not valid`.execute(db);

    await expect(revokeAcmeKey(ca, admin, applicant.account.id, { certificates: 'superseded' })).rejects.toThrow(
      'full_disk',
    );

    expect(await states('issued_certs')).toEqual(['valid']);
    expect(await states('orders')).toEqual(['ready', 'valid']);
    const { slug } = applicant.directory;
    expect((await applicantOf(ca, { accountId: applicant.account.id, slug })).account.state).toBe('valid');
    expect(await db.selectFrom('audit').select('id').where('action', '=', 'revoke').execute()).toEqual([]);
  });

  test('the same of a directory and its tokens, and of a CA cert and its revocation', async () => {
    const { db } = ca.database;
    const { directory } = await givenApplicant(ca, permissive);
    await createExternalBinding(ca, admin, { directory_id: directory.id, name: '', order_validations: 'challenge' });
    await sql`alter table external_bindings add constraint full_disk check (deleted_at is null)`.execute(db);
    await sql`alter table revocations add constraint full_disk check (false)`.execute(db);

    await expect(deleteDirectory(ca, admin, directory.id)).rejects.toThrow('full_disk');
    await expect(revokeSigningCert(ca, admin, directory.signing_cert_id, 'superseded')).rejects.toThrow('full_disk');

    const rows = db.selectFrom('directories').select('deleted_at').where('id', '=', directory.id);
    expect(await rows.execute()).toEqual([{ deleted_at: null }]);
    const cas = db.selectFrom('signing_certs').select('state').where('id', '=', directory.signing_cert_id);
    expect(await cas.execute()).toEqual([{ state: 'active' }]);
  });
});
