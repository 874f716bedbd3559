// Holds an issued certificate against what was asked for, with OpenSSL in its strictest mode for the chain.
import { X509Certificate } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import type { Issued, LeafKey } from './client.ts';
import { run } from './run.ts';
import type { AcmeServer } from './server.ts';

const DAY_MS = 86_400_000;
/** Clients of one machine round and backdate by this much at most. */
const TOLERANCE_MS = 10 * 60_000;

const curves: Readonly<Record<LeafKey, string>> = { ec_256: 'prime256v1', rsa_2048: '2048' };

export type Expected = {
  readonly names: readonly string[];
  /** Any, where nothing was said. */
  readonly keyType?: LeafKey;
  readonly days?: number;
};

/** Throws a sentence that says in which way the certificate is not the one asked for. */
export async function checkIssued(
  server: Pick<AcmeServer, 'rootFile' | 'defaultDays'>,
  { names, keyType, days = server.defaultDays }: Expected,
  { chainFile, keyFile }: Issued,
): Promise<void> {
  const [leaf, ...issuers] = await chainOf(chainFile);
  if (leaf === undefined || issuers.length === 0) throw new Error(`${chainFile} holds no leaf with its issuer`);
  await verifyChain(server.rootFile, chainFile, leaf, issuers);
  expectSame('names', namesOf(leaf), [...names].sort());
  if (keyType !== undefined) expectSame('key', keyOf(leaf), curves[keyType]);
  expectSame('key file', await publicKeyOf(keyFile), leaf.publicKey.export({ type: 'spki', format: 'pem' }));
  const [begin, end] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (begin > Date.now()) throw new Error(`is valid from ${leaf.validFrom} only`);
  const expected = Date.now() + days * DAY_MS;
  if (Math.abs(end - expected) > TOLERANCE_MS) {
    throw new Error(`ends ${leaf.validTo}; expected ${new Date(expected).toUTCString()}, ${days} days from now`);
  }
}

/** Lower-case hex. */
export async function serialOf(chainFile: string): Promise<string> {
  const [leaf] = await chainOf(chainFile);
  return leaf?.serialNumber.toLowerCase() ?? '';
}

async function chainOf(file: string): Promise<readonly X509Certificate[]> {
  const text = await readFile(file, 'utf8');
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

async function verifyChain(
  rootFile: string,
  chainFile: string,
  leaf: X509Certificate,
  issuers: readonly X509Certificate[],
): Promise<void> {
  const [leafFile, issuersFile] = ['checked-leaf.pem', 'checked-issuers.pem'].map((name) =>
    join(dirname(chainFile), name),
  ) as [string, string];
  await writeFile(leafFile, leaf.toString());
  await writeFile(issuersFile, issuers.map((issuer) => issuer.toString()).join(''));
  const args = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', rootFile, '-untrusted', issuersFile];
  await run({ program: 'openssl', args: [...args, leafFile] });
}

/** The SANs, without their types: `shop.corp.example`, `127.0.0.1`. */
const namesOf = (leaf: X509Certificate): readonly string[] =>
  (leaf.subjectAltName ?? '')
    .split(', ')
    .map((entry) => entry.replace(/^(DNS|IP Address):/, ''))
    .sort();

function keyOf({ publicKey }: X509Certificate): string {
  const { namedCurve, modulusLength } = publicKey.asymmetricKeyDetails ?? {};
  return namedCurve ?? String(modulusLength);
}

async function publicKeyOf(keyFile: string): Promise<string> {
  const args = ['pkey', '-in', keyFile, '-pubout'];
  return run({ program: 'openssl', args });
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  throw new Error(`${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
}

/** As ACME clients write identifiers of either type on their command lines. */
export const isIpAddress = (name: string): boolean => isIP(name) !== 0;
