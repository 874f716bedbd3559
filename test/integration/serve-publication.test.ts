// Revocations and the processes that publish them: killed, started again, and beside each other; and what is watched of it.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { readCertificateChainPem } from '../../src/x509/certificate-pem.ts';
import { findCrlEntry, parseCrl } from '../../src/x509/crl-reader.ts';
import { runAcmery, type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const run = promisify(execFile);
const CLIENT = join(import.meta.dirname, '../support/run-acme-client.ts');
const DOCUMENT = join(import.meta.dirname, '../../docs/crl.md');
/** Of processes on a machine that may be busy. */
const LONG_MS = 120_000;

const cleanUp = new AsyncDisposableStack();
let database: TestDatabase;
let dataDir: string;
let authorization: string;
let issuing: string;
let directory: string;
beforeAll(async () => {
  database = cleanUp.use(await testDatabase());
  dataDir = await mkdtemp(join(tmpdir(), 'acmery-publication-'));
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  const env = { DATABASE_URL: database.url };
  const args = ['token', 'create', '--name', 'ci', '--permission', 'admin', '--data-dir', dataDir];
  await runAcmery(['migrate', '--data-dir', dataDir], { env });
  authorization = `Bearer ${(await runAcmery(args, { env })).stdout.trim()}`;
  await using acmery = await served();
  const root = await made(acmery, 'signing_cert', { cert_type: 'root', name: 'Root', ...online });
  const fields = { cert_type: 'intermediate', name: 'Issuing', signing_cert_id: root.id, ...online };
  issuing = (await made(acmery, 'signing_cert', fields)).id;
  const names = { allowed_dns_identifiers: ['**.corp.example'] };
  directory = (await made(acmery, 'directory', { name: 'Web', slug: 'web', signing_cert_id: issuing, ...names })).id;
  await acmery.stop('SIGTERM');
}, LONG_MS);
afterAll(() => cleanUp.disposeAsync());

const online = { key_availability: 'online', private_key_type: 'ec_256' };
const paths = { signing_cert: 'signing_certs', directory: 'directories', external_binding: 'external_bindings' };

async function served(): Promise<ServingAcmery> {
  const acmery = await serveAcmery(dataDir, [], { env: { DATABASE_URL: database.url } });
  await acmery.untilReady();
  return acmery;
}

async function made(acmery: ServingAcmery, kind: keyof typeof paths, fields: Readonly<Record<string, unknown>>) {
  const { status, body } = await acmery.api(`/v1/${paths[kind]}`, { authorization }, 'POST', { [kind]: fields });
  expect(status, body).toBe(201);
  return JSON.parse(body);
}

/** A certificate that an ACME client got from it. */
async function issued(acmery: ServingAcmery): Promise<{ readonly id: string; readonly serial: Buffer }> {
  const token = { directory_id: directory, name: 'shop', order_validations: 'auto_approve' };
  const { id: kid, mac_key } = await made(acmery, 'external_binding', token);
  const url = `${acmery.acmeUrl}/acme/web/directory`;
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(dataDir, 'tls', 'ca.crt') };
  const { stdout } = await run(process.execPath, [CLIENT, url, kid, mac_key, 'shop.corp.example'], { env });
  const [leaf] = readCertificateChainPem(stdout);
  const serial = parseCertificate(leaf?.der ?? Buffer.alloc(0)).serial;
  const query = `directory_id=${directory}&serial=${serial.toString('hex')}`;
  const { body } = await acmery.api(`/v1/issued_certs?${query}`, { authorization });
  return { id: JSON.parse(body).collection[0].id, serial };
}

const revoke = (acmery: ServingAcmery, id: string) =>
  acmery.api(`/v1/issued_certs/${id}`, { authorization }, 'DELETE', { issued_cert: { revoke_reason: 'superseded' } });

async function publishedCrl(acmery: ServingAcmery) {
  const reply = await fetch(`${acmery.httpUrl}/crl/${issuing}.crl`);
  return parseCrl(Buffer.from(await reply.arrayBuffer()));
}
const isOnCrl = async (acmery: ServingAcmery, serial: Buffer) =>
  findCrlEntry(await publishedCrl(acmery), serial) !== undefined;
const metricsOf = async (acmery: ServingAcmery) => (await fetch(`${acmery.opsUrl}/metrics`)).text();
const buildsOf = async (acmery: ServingAcmery) =>
  Number(/^acmery_crl_builds_total\{outcome="published"\} (\d+)$/m.exec(await metricsOf(acmery))?.[1] ?? 0);

describe('SEC-42: a revocation', () => {
  test(
    'whose process is killed before it reached a CRL is on it when the next one has started',
    async () => {
      const { db } = database.db;
      const first = await served();
      const { id, serial } = await issued(first);
      const { promise: killed, resolve: release } = Promise.withResolvers<void>();
      const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
      // Nobody can mark the CRL, or build it, before the process is gone.
      const holding = db.transaction().execute(async (tx) => {
        await sql`lock table crls in share mode`.execute(tx);
        isLocked();
        await killed;
      });
      await locked;
      const asked = revoke(first, id).catch(() => undefined);
      await eventually('the revocation is committed', async () => {
        const { rows } = await sql`select from revocations where serial = ${serial}`.execute(db);
        return rows.length === 1;
      });
      await first.stop('SIGKILL');
      await asked;
      await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      release();
      await holding;
      const { rows } = await sql`
      select from crls join revocations r using (signing_cert_id)
       where r.serial = ${serial} and dirty_since is null and this_update < r.changed_at and due_at > now()`.execute(
        db,
      );
      expect(rows).toHaveLength(1);

      await using second = await served();

      await eventually('it is on the CRL', () => isOnCrl(second, serial), 20_000);
      expect(await second.stop('SIGTERM')).toMatchObject({ code: 0 });
    },
    LONG_MS,
  );

  test(
    'makes one CRL, however many replicas work; and when one is killed, the other makes the next',
    async () => {
      await using one = await served();
      await using other = await served();
      const [first, second] = [await issued(one), await issued(other)];
      const numberOf = async (acmery: ServingAcmery) => (await publishedCrl(acmery)).extensions.crlNumber;
      const builds = async () => (await buildsOf(one)) + (await buildsOf(other));
      const before = await builds();

      expect((await revoke(one, first.id)).status).toBe(200);
      await eventually('it is on the CRL', () => isOnCrl(one, first.serial), 20_000);

      expect(await isOnCrl(other, first.serial)).toBe(true);
      expect(await numberOf(one)).toBe(await numberOf(other));
      expect((await builds()) - before).toBe(1);

      await one.stop('SIGKILL');
      expect((await revoke(other, second.id)).status).toBe(200);
      await eventually('the other one has built it', () => isOnCrl(other, second.serial), 20_000);
      expect(await isOnCrl(other, first.serial)).toBe(true);
    },
    LONG_MS,
  );
});

type Rules = {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
};

describe('docs/crl.md', () => {
  test(
    'names metrics that /metrics has, in its table and in its alert rules',
    async () => {
      const text = await readFile(DOCUMENT, 'utf8');
      await using acmery = await served();
      const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
      const rules = (load(yaml) as Rules).groups.flatMap((group) => group.rules);
      const named = new Set(text.match(/acmery_\w+/g));
      const labelled = [...text.matchAll(/(acmery_\w+)\{(\w+)/g)];
      await eventually('the ages are known', async () =>
        (await metricsOf(acmery)).includes(`acmery_crl_this_update_timestamp_seconds{signing_cert="${issuing}"}`),
      );

      const metrics = await metricsOf(acmery);

      expect(rules.map(({ alert }) => alert)).toContain('AcmeryCrlHalfLife');
      expect(rules.every(({ expr }) => /acmery_crl_\w+/.test(expr))).toBe(true);
      for (const name of named) expect(metrics, name).toContain(`# TYPE ${name} `);
      for (const [, name, label] of labelled) expect(metrics).toMatch(new RegExp(`^${name}\\{${label}="`, 'm'));
      const value = (name: string) =>
        Number(new RegExp(`^${name}\\{signing_cert="${issuing}"\\} (\\S+)$`, 'm').exec(metrics)?.[1]);
      const life =
        value('acmery_crl_next_update_timestamp_seconds') - value('acmery_crl_this_update_timestamp_seconds');
      expect(life).toBe(7 * 86_400 - 1);
    },
    LONG_MS,
  );

  test('has rules that promtool accepts', async ({ skip }) => {
    const isHere = await run('promtool', ['--version']).catch(() => undefined);
    if (isHere === undefined) return skip('promtool is not installed');
    const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(await readFile(DOCUMENT, 'utf8')) ?? [];
    const file = join(dataDir, 'rules.yaml');
    await writeFile(file, yaml);
    expect((await run('promtool', ['check', 'rules', file])).stdout).toContain('SUCCESS');
  });
});
