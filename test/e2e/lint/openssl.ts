// `openssl verify` in its strictest mode: every chain with the CRLs of all its CAs, and what was revoked is refused.
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { toPem } from '../../../src/x509/pem.ts';
import { run } from '../run.ts';
import type { Finding, Linter, SampleFile } from './linter.ts';

export const opensslVerify: Linter = {
  name: 'openssl',
  source: 'this machine',
  async fetch() {
    const version = await run({ program: 'openssl', args: ['version'] });
    return { version: version.split(' ')[1] ?? '', lint };
  },
};

async function lint(files: readonly SampleFile[]): Promise<readonly Finding[]> {
  const certificates = files.filter(({ kind }) => kind === 'certificate');
  const chain = {
    CAfile: certificates.filter(({ role }) => role === 'root'),
    untrusted: certificates.filter(({ role }) => role === 'intermediate'),
    CRLfile: files.filter(({ kind }) => kind === 'crl'),
  };
  const options: string[] = [];
  for (const [option, members] of Object.entries(chain))
    if (members.length > 0) options.push(`-${option}`, await pemFile(`chain-${option}`, members));
  const findings = await Promise.all(certificates.map((certificate) => verify(options, certificate)));
  return findings.flat();
}

async function verify(options: readonly string[], certificate: SampleFile): Promise<readonly Finding[]> {
  const { name: sample, file, role } = certificate;
  const pem = await pemFile(file, [certificate]);
  const args = ['verify', '-x509_strict', '-crl_check_all', ...options, pem];
  const refusal = await run({ program: 'openssl', args }).then(() => undefined, String);
  if (role !== 'revoked')
    return refusal === undefined ? [] : [{ sample, id: 'refused', severity: 'error', details: refusal }];
  if (refusal?.includes('certificate revoked')) return [];
  return [{ sample, id: 'revoked', severity: 'error', details: refusal ?? 'is accepted although it was revoked' }];
}

async function pemFile(name: string, members: readonly SampleFile[]): Promise<string> {
  const [first] = members;
  const file = join(dirname(first?.file ?? ''), `${name.replace(/^.*\//, '')}.pem`);
  const blocks = members.map(({ kind, der }) => toPem(kind === 'crl' ? 'X509 CRL' : 'CERTIFICATE', der));
  await writeFile(file, blocks.join(''));
  return file;
}
