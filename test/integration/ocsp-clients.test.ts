// OCSP as openssl and Java ask for it, and believe it: their own requests, their own checks of what comes.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { revokeIssuedCerts } from '../../src/core/revoke.ts';
import { certificatePem } from '../../src/x509/certificate-pem.ts';
import { admin } from '../support/given.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenAccount } from '../support/given-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { ocspRequest, readOcspAnswer } from '../support/ocsp.ts';
import { type TestPublish, testPublish } from '../support/publish.ts';

const run = promisify(execFile);
const JAVA = join(import.meta.dirname, '../support/OcspCheck.java');
const isThere = (command: string, argument: string) => spawnSync(command, [argument]).status === 0;
const hasOpenssl = isThere('openssl', 'version');
const hasJava = isThere('java', '--version');

let folder = '';
let publish: TestPublish;
const families = ['ec_384', 'rsa_2048'] as const;
type Family = (typeof families)[number];
type World = { readonly url: string; readonly path: string; readonly issuerPem: string };
const worlds = new Map<Family, World>();

const file = (family: Family, name: string) => join(folder, `${family}-${name}.pem`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-ocsp-'));
  publish = await testPublish();
  const { ca } = publish;
  // These clients look at the clock of the machine.
  ca.clock.advance(Date.now() - ca.clock.now().getTime());
  for (const family of families) {
    const root = await givenRoot(ca, { private_key_type: family });
    const issuer = await givenIntermediate(ca, { parent: root, private_key_type: family });
    const account = await givenAccount(ca, issuer);
    const [good, revoked] = [await givenIssuedCert(ca, account), await givenIssuedCert(ca, account)];
    const stranger = await givenIssuedCert(ca, account);
    await ca.database.db.deleteFrom('issued_certs').where('id', '=', stranger.id).execute();
    await ca.database.inTransaction((tx) =>
      revokeIssuedCerts(tx, admin, { id: revoked.id }, 'key_compromise', ca.clock.now()),
    );
    const issuerPem = issuer.publicCert ?? '';
    await writeFile(file(family, 'root'), root.publicCert ?? '');
    await writeFile(file(family, 'issuer'), issuerPem);
    await writeFile(file(family, 'anchors'), `${root.publicCert}${issuerPem}`);
    for (const [name, { der }] of Object.entries({ good, revoked, stranger }))
      await writeFile(file(family, name), certificatePem(der));
    const path = `/ocsp/${formatId('scrt', issuer.id)}`;
    worlds.set(family, { url: `${publish.url}${path}`, path, issuerPem });
  }
});
afterAll(async () => {
  await publish[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const worldOf = (family: Family): World => worlds.get(family) ?? expect.fail(`no CA of family ${family}`);

async function openssl(family: Family, cert: string, options: readonly string[]): Promise<string> {
  const about = ['-issuer', file(family, 'issuer'), '-cert', file(family, cert)];
  const trust = ['-CAfile', file(family, 'anchors'), '-url', worldOf(family).url];
  const { stdout, stderr } = await run('openssl', ['ocsp', ...options, ...about, ...trust]);
  return stdout + stderr;
}

test.for(
  families.flatMap((family) =>
    [['-no_nonce'], ['-nonce'], ['-sha256', '-nonce']].map((options) => [family, options] as const),
  ),
)('openssl with a CA of %s and %j believes each answer', async ([family, options], { skip }) => {
  if (!hasOpenssl) skip('the command openssl is not installed');
  const said = { good: ': good', revoked: ': revoked', stranger: ': unknown' };
  for (const [cert, words] of Object.entries(said)) {
    const output = await openssl(family, cert, options);
    expect(output).toContain('Response verify OK');
    expect(output).toContain(`${file(family, cert)}${words}`);
    expect(output).not.toMatch(/WARNING/);
    if (cert === 'revoked') expect(output).toContain('Reason: keyCompromise');
  }
});

test.for(families)(
  'openssl finds nothing wrong with the certificate of the responder of a CA of %s',
  async (family, { skip }) => {
    if (!hasOpenssl) skip('the command openssl is not installed');
    const { path, issuerPem } = worldOf(family);
    const { bytes } = await publish.post(path, 'application/ocsp-request', ocspRequest(issuerPem, [Buffer.of(1)]));
    const { certificate } = await readOcspAnswer(bytes, issuerPem);
    await writeFile(file(family, 'responder'), certificatePem(certificate));
    const trust = ['-CAfile', file(family, 'root'), '-untrusted', file(family, 'issuer')];
    const { stdout } = await run('openssl', [
      ...['verify', '-x509_strict', '-purpose', 'ocsphelper', ...trust],
      file(family, 'responder'),
    ]);
    expect(stdout).toContain(': OK');
  },
);

test.for([
  ['ec_384', false],
  ['rsa_2048', true],
] as const)(
  'Java with a CA of %s (nonce: %s) accepts what is good and nothing else',
  { timeout: 30_000 },
  async ([family, nonce], { skip }) => {
    if (!hasJava) skip('the command java is not installed');
    const { url } = worldOf(family);
    const java = async (cert: string) => {
      const files = [file(family, 'root'), file(family, cert), file(family, 'issuer')];
      const { stdout } = await run('java', [`-Djdk.security.certpath.ocspNonce=${nonce}`, JAVA, url, ...files]);
      return stdout.trim();
    };
    const said = await Promise.all(['good', 'revoked', 'stranger'].map(java));
    expect(said).toEqual([
      'accepted',
      expect.stringMatching(/^REVOKED .*KEY_COMPROMISE/),
      expect.stringMatching(/^UNDETERMINED_REVOCATION_STATUS/),
    ]);
  },
);
