// CRLs as relying parties meet them: what is on them, when there is a new one, and who builds it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { claimCrls, postponeCrl, refreshCrl, sweepCrls } from '../../src/core/crls.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { CaError } from '../../src/core/errors.ts';
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { findPublishedCrl } from '../../src/core/published-crls.ts';
import { claimRemovedKeys, removeKey } from '../../src/core/removed-keys.ts';
import { publishCrls } from '../../src/core/revoke.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { certificatePem } from '../../src/x509/certificate-pem.ts';
import { findCrlEntry } from '../../src/x509/crl-reader.ts';
import { testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { admin } from '../support/given.ts';
import { buildDueCrls, crlOf, reasonOn } from '../support/given-crl.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenAccount } from '../support/given-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { openssl } from '../support/openssl.ts';

const HOUR_MS = 3_600_000;
const wholeSeconds = (ms: number): number => ms - (ms % 1_000);
const RUN_REVOCATION = join(import.meta.dirname, '..', 'support', 'run-revocation.ts');

/** An intermediate with an account that orders from it, and its first CRL. */
async function given() {
  const { ca, ...running } = await testCa();
  const root = await givenRoot(ca);
  const issuer = await givenIntermediate(ca, { parent: root });
  const account = await givenAccount(ca, issuer);
  await buildDueCrls(ca);
  const { db } = ca.database;
  const rowOf = (id: string) =>
    db.selectFrom('crls').selectAll().where('signing_cert_id', '=', id).executeTakeFirstOrThrow();
  return {
    ca,
    root,
    issuer,
    account,
    db,
    cert: (wanted = {}) => givenIssuedCert(ca, account, wanted),
    revoke: (id: string) => revokeIssuedCert(ca, admin, id, 'superseded'),
    row: () => rowOf(issuer.id),
    ...running,
  };
}

const withSigner = (ca: Ca, signer: Ca['keys']['signer']): Ca => ({ ...ca, keys: { ...ca.keys, signer } });

test('a new CA has an empty CRL, which openssl accepts', async () => {
  await using world = await given();
  const { ca, issuer } = world;
  const crl = await crlOf(ca, issuer);

  const said = await openssl(['crl', '-inform', 'DER', '-in', 'crl.der', '-CAfile', 'ca.pem', '-noout', '-text'], {
    'crl.der': crl.der,
    'ca.pem': issuer.publicCert ?? '',
  });

  expect(said.text).toContain('verify OK');
  expect(said.text).toContain('No Revoked Certificates.');
  expect(said.text).toMatch(/X509v3 Authority Key Identifier:/);
  expect(crl.extensions.crlNumber).toBe(BigInt(ca.clock.now().getTime()));
  expect(crl.extensions.all).toHaveLength(2);
  expect((crl.nextUpdate?.getTime() ?? 0) - crl.thisUpdate.getTime()).toBe(7 * DAY_MS - 1_000);
});

test('REV-7: openssl refuses a revoked certificate by the CRLs of its chain, and no other', async () => {
  await using world = await given();
  const { ca, root, issuer } = world;
  const [revoked, good] = [await world.cert(), await world.cert()];
  await world.revoke(revoked.id);
  await buildDueCrls(ca);
  const crls = await Promise.all(
    [root, issuer].map(async (one) => {
      const { text } = await openssl(['crl', '-inform', 'DER', '-in', 'crl.der'], {
        'crl.der': (await crlOf(ca, one)).der,
      });
      return text;
    }),
  );
  const verify = async (der: Buffer) =>
    openssl(
      [
        ...['verify', '-crl_check_all', '-attime', String((ca.clock.now().getTime() / 1000) | 0), '-CAfile', 'root'],
        ...['-untrusted', 'issuer', '-CRLfile', 'crls', 'leaf'],
      ],
      { root: root.publicCert ?? '', issuer: issuer.publicCert ?? '', crls: crls.join(''), leaf: certificatePem(der) },
    );

  expect(await verify(good.der)).toMatchObject({ ok: true });
  const refused = await verify(revoked.der);
  expect(refused.ok).toBe(false);
  expect(refused.text).toContain('certificate revoked');
  expect(reasonOn(await crlOf(ca, issuer), revoked.serial)).toBe('superseded');
});

test('thisUpdate lies a minute back, but never before a revocation on the list', async () => {
  await using world = await given();
  const { ca, issuer } = world;
  const crlAfter = async (ms: number) => {
    ca.clock.advance(ms);
    await publishCrls(ca, [issuer.id]);
    await buildDueCrls(ca);
    return crlOf(ca, issuer);
  };
  const { id, serial } = await world.cert();
  ca.clock.advance(10 * 60_000);
  await world.revoke(id);
  const soon = await crlAfter(30_000);
  const later = await crlAfter(10 * 60_000);

  const revokedAt = findCrlEntry(soon, serial)?.revokedAt.getTime() ?? Number.NaN;
  expect(soon.thisUpdate.getTime()).toBe(revokedAt);
  expect(later.thisUpdate.getTime()).toBe(wholeSeconds(ca.clock.now().getTime() - 60_000));
});

test('nothing is built before it is due, and each CRL anew after 12 hours', async () => {
  await using world = await given();
  const { ca } = world;
  const first = await crlOf(ca, world.issuer);
  ca.clock.advance(12 * HOUR_MS - 1_000);
  expect(await buildDueCrls(ca)).toBe(0);
  ca.clock.advance(1_000);
  expect(await buildDueCrls(ca)).toBe(2);

  const second = await crlOf(ca, world.issuer);
  expect(second.thisUpdate.getTime() - first.thisUpdate.getTime()).toBe(12 * HOUR_MS);
});

test('revocations before the CRL is built share it; one while it is built makes the next one due', async () => {
  await using world = await given();
  const { ca, issuer } = world;
  const [one, two, late] = [await world.cert(), await world.cert(), await world.cert()];
  await world.revoke(one.id);
  await world.revoke(two.id);
  const slow = withSigner(ca, async (ref) => {
    const signer = await ca.keys.signer(ref);
    return { ...signer, sign: (tbs) => world.revoke(late.id).then(() => signer.sign(tbs)) };
  });
  ca.clock.advance(200);
  const [claim, ...others] = await claimCrls(ca, 20, 60_000);
  expect(others).toEqual([]);
  if (claim !== undefined) await refreshCrl(slow, claim);

  expect((await crlOf(ca, issuer)).entryCount).toBe(2);
  expect(await world.row()).toMatchObject({ lease_until: null, attempts: 0, dirty_since: ca.clock.now() });
  expect(await buildDueCrls(ca)).toBe(1);
  expect(reasonOn(await crlOf(ca, issuer), late.serial)).toBe('superseded');
  expect(await buildDueCrls(ca)).toBe(0);
});

test('the number grows when the clock is set back, and when an older database is restored', async () => {
  await using world = await given();
  const { ca, issuer, db } = world;
  const older = await world.row();
  const numberNow = async () => (await crlOf(ca, issuer)).extensions.crlNumber ?? 0n;
  const first = await numberNow();
  ca.clock.advance(-DAY_MS);
  await publishCrls(ca, [issuer.id]);
  await buildDueCrls(ca);
  const second = await numberNow();
  expect(second).toBe(first + 1n);
  ca.clock.advance(DAY_MS + 1_000);
  await publishCrls(ca, [issuer.id]);
  await buildDueCrls(ca);
  const third = await numberNow();

  await db.deleteFrom('crls').where('signing_cert_id', '=', issuer.id).execute();
  await db.insertInto('crls').values(older).execute();
  ca.clock.advance(1_000);
  await publishCrls(ca, [issuer.id]);
  await buildDueCrls(ca);

  expect(third).toBeGreaterThan(second);
  expect(await numberNow()).toBeGreaterThan(third);
});

test('an expired certificate leaves after it has stood on one CRL past its end', async () => {
  await using world = await given();
  const { ca, issuer } = world;
  const { id, serial } = await world.cert({ validForDays: 1 });
  await world.revoke(id);
  await buildDueCrls(ca);
  const isOnNext = async () => {
    await publishCrls(ca, [issuer.id]);
    await buildDueCrls(ca);
    return reasonOn(await crlOf(ca, issuer), serial) !== undefined;
  };

  ca.clock.advance(DAY_MS + 5 * 60_000);
  expect(await isOnNext()).toBe(true);
  ca.clock.advance(60_000);
  expect(await isOnNext()).toBe(false);
});

test('SEC-42: what a process that was killed between the revocation and its mark left behind is found by the sweep', async () => {
  await using world = await given();
  const { ca, issuer, db } = world;
  const { id, serial } = await world.cert();
  const { promise: killed, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const holding = db.transaction().execute(async (tx) => {
    await sql`lock table crls in share row exclusive mode`.execute(tx);
    isLocked();
    await killed;
  });
  await locked;
  const time = ca.clock.now().toISOString();
  const child = spawn(process.execPath, [RUN_REVOCATION, world.databaseUrl, time, id], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  await eventually('the revocation is committed', async () => {
    const { rows } = await sql`select from revocations where serial = ${serial}`.execute(db);
    return rows.length === 1;
  });
  child.kill('SIGKILL');
  await exited;
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'revoking'`.execute(db);
  await eventually('its connection is gone', async () => {
    const { rows } = await sql`select from pg_stat_activity where application_name = 'revoking'`.execute(db);
    return rows.length === 0;
  });
  release();
  await holding;
  expect(await world.row()).toMatchObject({ dirty_since: null });

  await sweepCrls(ca);
  expect(await buildDueCrls(ca)).toBe(1);

  expect(reasonOn(await crlOf(ca, issuer), serial)).toBe('superseded');
});

test('the sweep finds a revocation that was committed late, behind one that is on the list', async () => {
  await using world = await given();
  const { ca, issuer, db } = world;
  const [listed, late] = [await world.cert(), await world.cert()];
  // CRLs have whole seconds: the one on the list is not newer than it.
  ca.clock.advance(800);
  await world.revoke(listed.id);
  await buildDueCrls(ca);
  const before = await world.row();
  ca.clock.advance(-1_000);
  await world.revoke(late.id);
  ca.clock.advance(1_000);
  // As if who revoked it had ended before the mark.
  const { due_at } = before;
  await db.updateTable('crls').set({ dirty_since: null, due_at }).where('signing_cert_id', '=', issuer.id).execute();
  expect(await buildDueCrls(ca)).toBe(0);

  await sweepCrls(ca);

  expect(await buildDueCrls(ca)).toBe(1);
  expect(reasonOn(await crlOf(ca, issuer), late.serial)).toBe('superseded');
});

test('the sweep gives a CA without a CRL its first one, and leaves alone what is as it should be', async () => {
  await using world = await given();
  const { ca, root, issuer, db } = world;
  const { id } = await world.cert();
  await world.revoke(id);
  await buildDueCrls(ca);
  // Longer ago than a commit can be late, before a CRL that is a minute back.
  ca.clock.advance(2 * 60_000 + 1_000);
  await sweepCrls(ca);
  await buildDueCrls(ca);
  await sweepCrls(ca);
  expect(await buildDueCrls(ca)).toBe(0);
  await db.deleteFrom('crls').where('signing_cert_id', '=', root.id).execute();

  await sweepCrls(ca);

  expect(await buildDueCrls(ca)).toBe(1);
  expect((await crlOf(ca, root)).entryCount).toBe(0);
  expect((await crlOf(ca, issuer)).entryCount).toBe(1);
});

test('while the key cannot be used the last CRL stays, and the build comes again later', async () => {
  await using world = await given();
  const { ca, issuer } = world;
  const { id } = await world.cert();
  const before = await crlOf(ca, issuer);
  await world.revoke(id);
  ca.clock.advance(200);
  const [claim] = await claimCrls(ca, 20, 60_000);
  if (claim === undefined) throw new Error('nothing was due');
  const broken = withSigner(ca, async () => {
    throw new CaError('unavailable', 'The key store is away.');
  });

  await expect(refreshCrl(broken, claim)).rejects.toThrow('The key store is away.');
  await postponeCrl(ca, claim, new Date(ca.clock.now().getTime() + 1_000));

  expect((await crlOf(ca, issuer)).der).toEqual(before.der);
  expect(await buildDueCrls(ca)).toBe(0);
  ca.clock.advance(1_000);
  expect(await buildDueCrls(ca)).toBe(1);
  expect((await crlOf(ca, issuer)).entryCount).toBe(1);
});

test('a CRL that the key of another CA signed is never published', async () => {
  await using world = await given();
  const { ca, root, issuer } = world;
  const before = await crlOf(ca, issuer);
  await publishCrls(ca, [issuer.id]);
  ca.clock.advance(200);
  const [claim] = await claimCrls(ca, 20, 60_000);
  if (claim === undefined) throw new Error('nothing was due');

  const confused = withSigner(ca, () => ca.keys.signer(root.id));
  await expect(refreshCrl(confused, claim)).rejects.toThrow('is not signed by the key of its CA cert');

  expect((await crlOf(ca, issuer)).der).toEqual(before.der);
});

test('who lost the lease replaces nothing', async () => {
  await using world = await given();
  const { ca, issuer } = world;
  await publishCrls(ca, [issuer.id]);
  ca.clock.advance(200);
  const [slow] = await claimCrls(ca, 20, 1_000);
  ca.clock.advance(1_000);
  const [next] = await claimCrls(ca, 20, 60_000);
  if (slow === undefined || next === undefined) throw new Error('nothing was due');
  const before = await crlOf(ca, issuer);

  await refreshCrl(ca, slow);
  expect((await crlOf(ca, issuer)).der).toEqual(before.der);
  await refreshCrl(ca, next);
  const after = await crlOf(ca, issuer);
  expect(after.extensions.crlNumber).toBeGreaterThan(before.extensions.crlNumber ?? 0n);
  await refreshCrl(ca, slow);
  expect((await crlOf(ca, issuer)).der).toEqual(after.der);
});

test('the last CRL of a deleted CA outlives its revoked certificates, and stays where it was', async () => {
  await using world = await given();
  const { ca, issuer, db } = world;
  const { id, serial, expiresAt } = await world.cert({ validForDays: 90 });
  await world.revoke(id);
  await db.updateTable('directories').set({ deleted_at: ca.clock.now() }).execute();
  await deleteSigningCert(ca, admin, issuer.id);

  for (const claim of await claimRemovedKeys(ca, 20, 60_000)) await removeKey(ca, claim);

  expect((await ca.keys.list()).map(({ ref }) => ref)).not.toContain(issuer.id);
  const last = await crlOf(ca, issuer);
  expect(last.nextUpdate?.getTime()).toBeGreaterThan(expiresAt.getTime());
  expect(reasonOn(last, serial)).toBe('superseded');
  // Whatever marks it now, nobody can build another one.
  await publishCrls(ca, [issuer.id]);
  await buildDueCrls(ca);
  expect((await crlOf(ca, issuer)).der).toEqual(last.der);
  expect(await world.row()).toMatchObject({ due_at: null, lease_until: null });
});

test('a key that is gone already does not keep a deleted CA from being settled', async () => {
  await using world = await given();
  const { ca, root, db } = world;
  const { id } = await givenRoot(ca, { name: 'Another' });
  await ca.keys.remove(id);
  await deleteSigningCert(ca, admin, id);

  for (const claim of await claimRemovedKeys(ca, 20, 60_000)) await removeKey(ca, claim);

  const keyed = await db.selectFrom('signing_certs').select('id').where('key_ref', 'is not', null).execute();
  expect(keyed.map((row) => row.id)).toEqual([root.id, world.issuer.id]);
});

test('a thousand revocations at once make a handful of CRLs, each built by one of two workers', async () => {
  const running = await testCa();
  await using _running = running;
  const now = () => new Date();
  const ca = { ...running.ca, clock: { now, signingTime: now, advance: () => {} } };
  const issuer = await givenRoot(ca);
  const account = await givenAccount(ca, issuer);
  const { id } = await givenIssuedCert(ca, account);
  await sql`
    insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                              serial, key_thumbprint, subjects, der)
    select gen_random_uuid(), order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
           int8send(number), key_thumbprint, subjects, int8send(number)
      from issued_certs, generate_series(1, 999) as number where id = ${id}`.execute(ca.database.db);
  const ids = await ca.database.db.selectFrom('issued_certs').select('id').execute();

  await using _one = startWorker(ca);
  await using _other = startWorker(ca);
  await eventually('the first CRL is there', async () => (await findPublishedCrl(ca, issuer.id)) !== undefined);
  // More at once would wait for a connection longer than a caller may.
  for (let from = 0; from < ids.length; from += 100) {
    const wave = ids.slice(from, from + 100);
    await Promise.all(wave.map((cert) => revokeIssuedCert(ca, admin, cert.id, 'superseded')));
  }
  await eventually('all are on the CRL', async () => (await crlOf(ca, issuer)).entryCount === 1_000, 30_000);

  const numbers = running.logLines.flatMap((line) => {
    const { message, number } = JSON.parse(line);
    return message === 'CRL published' ? [number] : [];
  });
  expect(numbers.length).toBeLessThan(50);
  expect(new Set(numbers).size).toBe(numbers.length);
});
