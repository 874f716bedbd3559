// Revocation as relying parties meet it: openssl and Java look up where certificates say, on the plain HTTP listener.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { certificatePem, readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { toPem } from '../../src/x509/pem.ts';
import { admin } from '../support/given.ts';
import { givenApplicant } from '../support/given-applicant.ts';
import { buildDueCrls, crlOf } from '../support/given-crl.ts';
import { aRequest, certificatesOf, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { openssl } from '../support/openssl.ts';
import { type TestPublish, testPublish } from '../support/publish.ts';

const run = promisify(execFile);
const JAVA = join(import.meta.dirname, '../support/RevocationCheck.java');
const isThere = (command: string, argument: string) => spawnSync(command, [argument]).status === 0;
const hasOpenssl = isThere('openssl', 'version');
const hasJava = isThere('java', '--version');

const families = ['ec_256', 'ec_521', 'rsa_2048'] as const;
type Family = (typeof families)[number];
type Leaf = 'good' | 'revoked';
/** Files, in PEM. */
type World = Readonly<Record<'root' | 'issuer' | 'rootCrl' | Leaf, string>> & { readonly revoke: () => Promise<void> };
type Said = { readonly byCrl: string; readonly byOcsp: readonly string[]; readonly byJava: readonly string[] };

let folder = '';
let publish: TestPublish;
const worlds = new Map<Family, World>();
/** What is said of the certificate that is to be revoked, before it was. */
const before = new Map<Family, Said>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-revocation-'));
  publish = await testPublish({ isNamed: true });
  const { ca } = publish;
  // These clients look at the clock of the machine.
  ca.clock.advance(Date.now() - ca.clock.now().getTime());
  for (const family of families) worlds.set(family, await worldWith(family));
  const java = await byJava('revoked');
  for (const [family, world] of worlds) {
    const [crl, ocsp] = hasOpenssl ? [await byCrl(world, 'revoked'), await byOcsp(world, 'revoked')] : ['', []];
    before.set(family, { byCrl: crl, byOcsp: ocsp, byJava: java.get(family) ?? [] });
    await world.revoke();
  }
  await buildDueCrls(ca);
});
afterAll(async () => {
  await publish[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function given(family: Family): { readonly world: World; readonly saidBefore: Said } {
  const [world, saidBefore] = [worlds.get(family), before.get(family)];
  return world && saidBefore ? { world, saidBefore } : expect.fail(`no CA of family ${family}`);
}

/** A chain with its CRLs. */
async function worldWith(family: Family): Promise<World> {
  const { ca } = publish;
  const root = await givenRoot(ca, { private_key_type: family });
  const issuer = await givenIntermediate(ca, { parent: root, private_key_type: family });
  const applicant = await givenApplicant(ca, { ...permissive, issuer });
  const issue = async () => {
    const order = await givenReadyOrder(ca, applicant);
    await finalize(ca, applicant, order, await aRequest());
    const [cert] = await certificatesOf(ca, order.id);
    return cert ?? expect.fail('no certificate was issued');
  };
  const [good, revoked] = [await issue(), await issue()];
  await buildDueCrls(ca);
  const kept = async (name: string, text: string) => {
    const file = join(folder, `${family}-${name}.pem`);
    await writeFile(file, text);
    return file;
  };
  return {
    root: await kept('root', root.publicCert ?? ''),
    issuer: await kept('issuer', issuer.publicCert ?? ''),
    // A root names no CRL of its own: who wants to have that checked brings it.
    rootCrl: await kept('root-crl', toPem('X509 CRL', (await crlOf(ca, root)).der)),
    good: await kept('good', certificatePem(good.der)),
    revoked: await kept('revoked', certificatePem(revoked.der)),
    revoke: async () => void (await revokeIssuedCert(ca, admin, revoked.id, 'key_compromise')),
  };
}

/** openssl gets the CRLs of leaf and intermediate by itself. */
async function byCrl({ root, issuer, rootCrl, ...leaves }: World, leaf: Leaf): Promise<string> {
  const strict = ['-x509_strict', '-purpose', 'sslserver', '-crl_check_all', '-crl_download', '-CRLfile', rootCrl];
  const { text } = await openssl(['verify', ...strict, '-CAfile', root, '-untrusted', issuer, leaves[leaf]]);
  return text;
}

/** The root is asked about the intermediate, and that about the leaf. */
async function byOcsp({ root, issuer, ...leaves }: World, leaf: Leaf): Promise<readonly string[]> {
  const ask = async (by: string, cert: string) => {
    const [url = ''] = readCertificatePem(await readFile(cert, 'utf8')).extensions.ocspUrls ?? [];
    const trust = ['-CAfile', root, '-verify_other', issuer];
    const { text } = await openssl(['ocsp', '-issuer', by, '-cert', cert, ...trust, '-url', url]);
    const [, status] = /\.pem: (\w+)\n/.exec(text) ?? [];
    return text.includes('Response verify OK') ? `verified: ${status}` : text;
  };
  return [await ask(root, issuer), await ask(issuer, leaves[leaf])];
}

/** By OCSP and by CRL, of all CAs at once: Java takes long to start. */
async function byJava(leaf: Leaf): Promise<ReadonlyMap<Family, readonly string[]>> {
  if (!hasJava) return new Map();
  const asked = [...worlds].flatMap(([, world]) =>
    ['ocsp', 'crl'].flatMap((mode) => [mode, world.root, world.issuer, world[leaf]]),
  );
  const lines = (await run('java', [JAVA, ...asked])).stdout.trimEnd().split('\n');
  return new Map([...worlds.keys()].map((family, index) => [family, lines.slice(2 * index, 2 * index + 2)]));
}

test.for(families)(
  'openssl refuses a certificate of a CA of %s by its CRL once it is revoked',
  async (family, { skip }) => {
    if (!hasOpenssl) skip('the command openssl is not installed');
    const { world, saidBefore } = given(family);
    const refused = await byCrl(world, 'revoked');

    expect(saidBefore.byCrl).toContain(`${world.revoked}: OK`);
    expect(await byCrl(world, 'good')).toContain(`${world.good}: OK`);
    expect(refused).toContain('error 23 at 0 depth lookup: certificate revoked');
    expect(refused).not.toContain(': OK');
  },
);

test.for(families)('openssl is told of a CA of %s by OCSP once a certificate is revoked', async (family, { skip }) => {
  if (!hasOpenssl) skip('the command openssl is not installed');
  const { world, saidBefore } = given(family);

  expect(saidBefore.byOcsp).toEqual(['verified: good', 'verified: good']);
  expect(await byOcsp(world, 'good')).toEqual(['verified: good', 'verified: good']);
  expect(await byOcsp(world, 'revoked')).toEqual(['verified: good', 'verified: revoked']);
});

test('Java refuses certificates once they are revoked, by OCSP and by CRL', { timeout: 60_000 }, async ({ skip }) => {
  if (!hasJava) skip('the command java is not installed');
  const [good, revoked] = [await byJava('good'), await byJava('revoked')];
  const refusal = expect.stringMatching(/^0 REVOKED .*KEY_COMPROMISE/);

  for (const family of families) {
    expect(given(family).saidBefore.byJava, family).toEqual(['accepted', 'accepted']);
    expect(good.get(family), family).toEqual(['accepted', 'accepted']);
    expect(revoked.get(family), family).toEqual([refusal, refusal]);
  }
});
