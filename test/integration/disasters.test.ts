// What docs/operations.md says of losses, tried: what the program says, what still works, and the way out.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runAcmery, type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { copyQuickstart } from '../support/quickstart.ts';

const run = promisify(execFile);
const client = join(import.meta.dirname, '../support/run-acme-client.ts');
const cleanUp = new AsyncDisposableStack();
let folder: string;
let database: TestDatabase;
const at = (...names: readonly string[]): string => join(folder, ...names);
/** Written for the objects of the folder. */
const outputs = (...names: readonly string[]): string => at('data/outputs/acmery-system', ...names);
const text = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

const env = (): Record<string, string> => ({ DATABASE_URL: database.url, ACMERY_MANIFESTS: at('manifests') });
const serve = async (): Promise<ServingAcmery> => {
  const acmery = await serveAcmery(at('data'), [], { env: env() });
  await acmery.untilReady();
  return acmery;
};

/** With the pair of a binding. */
async function enrol(acmery: ServingAcmery, name: string): Promise<string> {
  const pair = outputs(`${name}-eab`);
  await eventually('the pair is there', async () => (await text(join(pair, 'secret'))).length === 43, 30_000);
  const [kid, secret] = await Promise.all(['kid', 'secret'].map((key) => text(join(pair, key))));
  const args = [client, `${acmery.acmeUrl}/acme/web/directory`, kid ?? '', secret ?? '', 'shop.corp.example'];
  const { stdout } = await run(process.execPath, args, {
    env: { ...process.env, ACME_TRIES: '1', NODE_EXTRA_CA_CERTS: at('data/tls/ca.crt') },
  });
  return stdout;
}

vi.setConfig({ testTimeout: 60_000 });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-disasters-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));
  database = cleanUp.use(await testDatabase());
  await copyQuickstart(at('manifests'));
  const shop = await text(at('manifests/3-binding.yaml'));
  for (const name of ['one', 'two', 'three'])
    await writeFile(at(`manifests/${name}.yaml`), shop.replaceAll('shop', name));
  await using acmery = await serve();
  await enrol(acmery, 'shop');
});

afterAll(() => cleanUp.disposeAsync());

test('a lost key of a CA: who orders is told to wait, log and doctor name it, and all goes on once it is back', async () => {
  const status = await text(at('manifests/.status/signingcert.acmery-system.corp-issuing.yaml'));
  const [, keyFile = ''] = /secretName: (\S+)/.exec(status) ?? [];
  await rename(at('data/keys', keyFile), at(keyFile));
  await using acmery = await serve();
  let log = '';
  acmery.child.stderr?.on('data', (lines: string) => {
    log += lines;
  });
  await expect(enrol(acmery, 'one')).rejects.toThrow('The CA cannot use its keys for the moment.');
  await eventually('the log names the key', () => log.includes(`The key ${keyFile.replace('.pem', '')} is not in /`));
  const sick = await runAcmery(['doctor', '--data-dir', at('data')], { env: env() });
  expect(sick.stdout).toMatch(new RegExp(`\\[FAILED\\] {2}CA keys: missing: Corp Issuing \\(scrt_\\w+, ${keyFile}`));
  await rename(at(keyFile), at('data/keys', keyFile));
  expect(await enrol(acmery, 'two')).toMatch(/^-----BEGIN CERTIFICATE-----/);
  const well = await runAcmery(['doctor', '--data-dir', at('data')], { env: env() });
  expect(well.stdout).toContain('CA keys: 2 CA certs have theirs');
});

test('a lost wrap key: nothing starts, and the message says what to restore', async () => {
  await rename(at('data/keys/wrap.sealing-key.pem'), at('wrap'));
  const { code, stderr } = await runAcmery(['serve', '--data-dir', at('data'), '--log-level', 'error'], { env: env() });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^acmery: The key wrap is not in .*keys\. Restore the folder from a backup\.$/m);
  await rename(at('wrap'), at('data/keys/wrap.sealing-key.pem'));
});

test('a lost database: with the keys the CAs come back, and accounts and tokens are made anew', async () => {
  const roots = await text(outputs('web-acme/roots.pem'));
  const secret = await text(outputs('three-eab/secret'));
  await using fresh = await testDatabase();
  const lost = database;
  database = fresh;
  try {
    await using acmery = await serve();
    await eventually('there is another pair', async () => (await text(outputs('three-eab/secret'))) !== secret, 30_000);
    await writeFile(at('chain.pem'), await enrol(acmery, 'three'));
    await writeFile(at('roots.pem'), roots);
    const verified = await run('openssl', ['verify', '-CAfile', 'roots.pem', '-untrusted', 'chain.pem', 'chain.pem'], {
      cwd: folder,
    });
    expect(verified.stdout).toBe('chain.pem: OK\n');
    expect(await text(outputs('web-acme/roots.pem'))).toBe(roots);
  } finally {
    database = lost;
  }
});

test('lost keys and a lost database: CAs of the same names, with other keys', async () => {
  await rename(at('data/keys'), at('keys'));
  await using fresh = await testDatabase();
  const lost = database;
  database = fresh;
  try {
    await using acmery = await serve();
    let log = '';
    acmery.child.stderr?.on('data', (part: string) => {
      log += part;
    });
    await eventually('there is another CA', () => log.includes('Made the ec_256 key of CA cert Corp Issuing.'), 30_000);
  } finally {
    database = lost;
  }
});
