// Keys on a real disk: written once, whole, for nobody else, and clear words when something is wrong with the files.
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { KeyMaterial } from '../../src/core/ports.ts';
import { openFileKeyStore } from '../../src/keys/file-key-store.ts';
import { keyAlgorithms } from '../../src/x509/algorithms.ts';
import { generatePrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { verifySignature } from '../../src/x509/signer.ts';
import { aCertificate } from '../unit/x509/builders.ts';

const ref = '01890a5d-ac96-774b-bcce-b302099a8057';
let folder = '';

beforeEach(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'acmery-keys-'));
  folder = join(parent, 'data', 'keys');
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
});

const aKeyMaterial = async (): Promise<KeyMaterial> => ({ pkcs8: pkcs8Of(await generatePrivateKey('ec_256')) });
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
const complaint = (action: Promise<unknown>) =>
  action.then(
    () => 'no complaint',
    (error: unknown) =>
      error instanceof Error && 'kind' in error ? `${String(error.kind)}: ${error.message}` : String(error),
  );

test('stores a key once: the first of many wins and all are given it', async () => {
  const stores = await Promise.all([openFileKeyStore(folder), openFileKeyStore(folder)]);
  const materials = await Promise.all(Array.from({ length: 8 }, aKeyMaterial));
  const stored = await Promise.all(
    materials.flatMap((material) => stores.map((store) => store.createOnce(ref, material))),
  );
  expect(new Set(stored.map(({ spki }) => spki.toString('hex'))).size).toBe(1);
  const late = await (await openFileKeyStore(folder)).createOnce(ref, await aKeyMaterial());
  expect(late.spki).toEqual(stored[0]?.spki);
  expect(await readdir(folder)).toEqual([`${ref}.pem`]);
});

test('files are for the owner alone, and so is the folder', async () => {
  const store = await openFileKeyStore(folder);
  await store.createOnce(ref, await aKeyMaterial());
  await store.createSealer('wrap');
  expect(await modeOf(folder)).toBe('700');
  for (const name of await readdir(folder)) expect(await modeOf(join(folder, name))).toBe('600');
});

test('a store opened later reads key, certificate and origin, and signs with it', async () => {
  const key = await generatePrivateKey('ec_384');
  const certificate = await aCertificate({}, key);
  const origin = { namespace: 'infra', name: 'root', uid: 'u1' };
  await (await openFileKeyStore(folder)).createOnce(ref, { pkcs8: pkcs8Of(key), certificate, origin });

  const store = await openFileKeyStore(folder);
  expect(await store.read(ref)).toEqual({ ref, spki: key.spki, certificate, origin });
  expect(await store.list()).toHaveLength(1);
  const signer = await store.signer(ref);
  const signature = await signer.sign(Buffer.from('tbs'));
  expect(await verifySignature(key.spki, keyAlgorithms.ec_384.signature.algorithm, Buffer.from('tbs'), signature)).toBe(
    true,
  );
  expect(await store.signer(ref)).toBe(signer);
});

test('finds a key by its origin: the same uid first, else the newest of that name', async () => {
  const store = await openFileKeyStore(folder);
  const origin = (uid: string) => ({ namespace: 'infra', name: 'root', uid });
  await store.createOnce('a1', { ...(await aKeyMaterial()), origin: origin('u1') });
  await store.createOnce('a2', { ...(await aKeyMaterial()), origin: origin('u2') });
  await store.createOnce('a3', { ...(await aKeyMaterial()), origin: { ...origin('u1'), name: 'other' } });
  await store.createOnce('a4', await aKeyMaterial());
  expect((await store.find(origin('u1')))?.ref).toBe('a1');
  expect((await store.find(origin('u9')))?.ref).toBe('a2');
  expect(await store.find({ ...origin('u1'), namespace: 'elsewhere' })).toBeUndefined();
});

test('a sealing key is made once and opens the boxes after a restart', async () => {
  const stores = await Promise.all(Array.from({ length: 4 }, () => openFileKeyStore(folder)));
  const sealers = await Promise.all(stores.map((store) => store.createSealer('wrap')));
  const boxes = sealers.map((sealer) => sealer.seal(Buffer.from('secret'), 'id'));
  const later = await (await openFileKeyStore(folder)).sealer('wrap');
  for (const box of boxes) expect(later.open(box, 'id').toString()).toBe('secret');
  expect(await (await openFileKeyStore(folder)).list()).toEqual([]);
});

test('a sealing key is not made by asking for it', async () => {
  const store = await openFileKeyStore(folder);
  expect(await complaint(store.sealer('wrap'))).toMatch(/^unavailable: The key wrap is not in .*Restore/);
  expect(await readdir(folder)).toEqual([]);
  await store.createSealer('wrap');
  await expect(store.sealer('wrap')).resolves.toBeDefined();
});

test('removes a key for good, twice without complaint', async () => {
  const store = await openFileKeyStore(folder);
  await store.createOnce(ref, await aKeyMaterial());
  await store.signer(ref);
  await store.remove(ref);
  await store.remove(ref);
  expect(await store.read(ref)).toBeUndefined();
  expect(await complaint(store.signer(ref))).toMatch(/^unavailable: The key .* is not in .*Restore/);
});

test('what a crash left half written is never a key, and goes away', async () => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const left = join(folder, '.unfinished-0011');
  await writeFile(left, '-----BEGIN PRIVATE KEY-----\nMIGH', { mode: 0o600 });
  const store = await openFileKeyStore(folder);
  expect(await store.list()).toEqual([]);
  expect(await readdir(folder)).toEqual(['.unfinished-0011']);
  const yesterday = new Date(Date.now() - 86_400_000);
  await utimes(left, yesterday, yesterday);
  await openFileKeyStore(folder);
  expect(await readdir(folder)).toEqual([]);
});

test('refuses a key file or a folder that others can read, and says how to repair it', async () => {
  const store = await openFileKeyStore(folder);
  await store.createOnce(ref, await aKeyMaterial());
  await chmod(join(folder, `${ref}.pem`), 0o640);
  expect(await complaint(store.read(ref))).toMatch(/^unavailable: The key file .* \(mode 0640\)\..*chmod 600/);
  await chmod(folder, 0o755);
  expect(await complaint(openFileKeyStore(folder))).toMatch(
    /^unavailable: The key folder .* \(mode 0755\)\..*chmod 700/,
  );
});

test('says that a damaged file must be restored, and shows nothing of it', async () => {
  const store = await openFileKeyStore(folder);
  await store.createOnce(ref, await aKeyMaterial());
  await store.createSealer('wrap');
  const path = join(folder, `${ref}.pem`);
  const whole = await readFile(path, 'utf8');
  const certificate = await aCertificate({}, await generatePrivateKey('ec_256'));
  const strange = `${whole}-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`;
  const damaged = [
    '',
    whole.slice(0, -20),
    whole.replace('MIGH', 'MIGI'),
    `Acmery-Origin: {\n${whole}`,
    strange,
    'x'.repeat(200_000),
  ];
  for (const text of damaged) {
    await writeFile(path, text);
    const words = await complaint(store.read(ref));
    expect(words).toMatch(/^unavailable: The key file .* is damaged.*Restore/);
    expect(words).not.toContain('MIGH');
  }
  expect(await complaint(store.read(ref))).toContain('too large');
  await truncate(join(folder, 'wrap.sealing-key.pem'), 60);
  expect(await complaint((await openFileKeyStore(folder)).sealer('wrap'))).toMatch(/damaged/);
});

test('does not follow a symbolic link', async () => {
  const store = await openFileKeyStore(folder);
  await store.createOnce('a1', await aKeyMaterial());
  await symlink(join(folder, 'a1.pem'), join(folder, `${ref}.pem`));
  expect(await complaint(store.read(ref))).toMatch(/^unavailable: .*symbolic link/);
});

test.each(['../a', 'a/b', '', '.', 'A', 'a.pem', 'a\0', 'x'.repeat(81), '-a'])(
  'refuses the reference "%s"',
  async (bad) => {
    const store = await openFileKeyStore(folder);
    await expect(store.createOnce(bad, await aKeyMaterial())).rejects.toThrow(RangeError);
    await expect(store.read(bad)).rejects.toThrow(RangeError);
    await expect(store.remove(bad)).rejects.toThrow(RangeError);
    await expect(store.sealer(bad)).rejects.toThrow(RangeError);
    await expect(store.createSealer(bad)).rejects.toThrow(RangeError);
  },
);

test('refuses to store what is no key, or a certificate for another key', async () => {
  const store = await openFileKeyStore(folder);
  await expect(store.createOnce(ref, { pkcs8: Buffer.of(5, 0) })).rejects.toMatchObject({ name: 'X509Error' });
  const certificate = await aCertificate({}, await generatePrivateKey('ec_256'));
  await expect(store.createOnce(ref, { ...(await aKeyMaterial()), certificate })).rejects.toThrow('not for the key');
  expect(await store.list()).toEqual([]);
});

test('says what is wrong with a folder that cannot be used', async () => {
  await mkdir(join(folder, '..'), { recursive: true });
  await writeFile(folder, 'a file');
  expect(await complaint(openFileKeyStore(folder))).toMatch(/^unavailable: Acmery cannot make the key folder .*EEXIST/);
  expect(await complaint(openFileKeyStore(join(folder, 'keys')))).toMatch(/^unavailable: .*ENOTDIR. A file stands/);
});
