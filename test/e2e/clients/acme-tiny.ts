// acme-tiny, from PyPI: it knows no EAB, so its account key is made known over /v1.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveWebRoot } from '../applicant.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchPythonTool } from '../fetch.ts';
import { run } from '../run.ts';

const VERSION = '5.0.3';

export const acmeTiny: Client = {
  name: 'acme-tiny',
  source: 'PyPI',
  challenges: ['http-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: false,
  hasIpAddresses: false,
  asksForDays: false,
  async fetch() {
    const program = join(await fetchPythonTool('acme-tiny', VERSION), 'acme-tiny');
    return { version: VERSION, open: (context) => openSession(program, context) };
  },
};

async function openSession(
  program: string,
  { directoryUrl, caFile, applicant, folder, registerKey }: Context,
): Promise<Session> {
  const [accountKey, webRoot] = [join(folder, 'account.key'), join(folder, 'web-root')];
  await mkdir(webRoot);
  await openssl('genrsa', '-out', accountKey, '2048');
  const issue = async (wanted: Wanted): Promise<Issued> => {
    const { names, keyType, challenge } = wanted;
    const file = join(folder, names[0] ?? '');
    const algorithm = keyType === 'ec_256' ? ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256'] : ['RSA'];
    await openssl('genpkey', '-algorithm', ...algorithm, '-out', `${file}.key`);
    const san = `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`;
    await openssl('req', '-new', '-key', `${file}.key`, '-subj', '/', '-addext', san, '-out', `${file}.csr`);
    await using _server = challenge === 'http-01' ? await serveWebRoot(webRoot, applicant.httpPort) : undefined;
    const inputs = ['--account-key', accountKey, '--csr', `${file}.csr`, '--acme-dir', webRoot, '--disable-check'];
    const args = [...inputs, '--directory-url', directoryUrl, '--contact', 'mailto:admin@corp.example', '--quiet'];
    // The chain is what it prints.
    await writeFile(`${file}.pem`, await run({ program, args, env: { SSL_CERT_FILE: caFile } }));
    return { chainFile: `${file}.pem`, keyFile: `${file}.key` };
  };
  return {
    async registerKey() {
      const publicFile = join(folder, 'account.pub');
      await openssl('pkey', '-in', accountKey, '-pubout', '-out', publicFile);
      await registerKey?.(await readFile(publicFile, 'utf8'));
    },
    issue,
    renew: issue,
  };
}

const openssl = (...args: readonly string[]): Promise<string> => run({ program: 'openssl', args });
