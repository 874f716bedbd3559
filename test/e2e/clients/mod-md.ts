// mod_md, in Apache as Debian packages it: a web server that gets its own certificates.
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { eventually } from '../../support/eventually.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchDebianPackages } from '../fetch.ts';
import { type Command, type Running, run, start } from '../run.ts';

const DEADLINE_MS = 60_000;

export const modMd: Client = {
  name: 'mod_md',
  source: 'Debian package',
  challenges: ['http-01', 'tls-alpn-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: false,
  hasIpAddresses: false,
  asksForDays: false,
  async fetch() {
    const packages = ['apache2-bin', 'libapr1', 'libaprutil1', 'liblua5.3-0', 'libjansson4', 'libnghttp2-14'];
    const root = await fetchDebianPackages('apache2', packages);
    const about = await run(apache(root, ['-v']));
    const version = /Apache\/(\S+)/.exec(about)?.[1] ?? 'unknown';
    return { version, open: async (context) => openSession(root, context) };
  },
};

const apache = (root: string, args: readonly string[]): Command => ({
  program: join(root, 'usr/sbin/apache2'),
  args,
  env: { LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu') },
});

async function openSession(root: string, context: Context): Promise<Session> {
  const { folder, caFile } = context;
  // Started by root, Apache works as a user who must reach its files.
  await chmod(join(folder, '..'), 0o755);
  await copyFile(caFile, join(folder, 'ca.crt'));
  await mkdir(join(folder, 'md'), { recursive: true });
  const serve = async (wanted: Wanted, more: readonly string[]): Promise<Issued> => {
    const config = join(folder, 'httpd.conf');
    await writeFile(config, configuration(root, context, wanted, more));
    const command = apache(root, ['-D', 'FOREGROUND', '-f', config]);
    const { chainFile, keyFile, jobFile } = filesOf(folder, wanted);
    const before = existsSync(chainFile) ? await readFile(chainFile, 'utf8') : '';
    const until = async (running: Running, what: string, holds: () => Promise<boolean>): Promise<void> => {
      const isSo = (): Promise<boolean> => {
        running.mustRun();
        return holds();
      };
      await eventually(what, isSo, DEADLINE_MS).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${await readFile(join(folder, 'error.log'), 'utf8')}`);
      });
    };
    // What an Apache that was stopped early has left there would look like the end of this one's work.
    await rm(dirname(jobFile), { recursive: true, force: true });
    {
      await using running = start(command);
      await until(running, 'Apache has its new certificate', async () => {
        const job = await readFile(jobFile, 'utf8').catch(() => '{}');
        return JSON.parse(job === '' ? '{}' : job).finished === true;
      });
    }
    // It takes a new certificate into use when it starts again.
    await using running = start(command);
    await until(running, 'Apache uses its new certificate', async () => {
      const now = await readFile(chainFile, 'utf8').catch(() => before);
      return now !== before;
    });
    return { chainFile, keyFile };
  };
  return {
    issue: (wanted) => serve(wanted, []),
    // A window longer than any life.
    renew: (wanted) => serve(wanted, ['MDRenewViaARI off', 'MDRenewWindow 400d']),
  };
}

function filesOf(folder: string, { names: [name = ''], keyType }: Wanted): Issued & { readonly jobFile: string } {
  const kind = keyType === 'ec_256' ? '.secp256r1' : '';
  const domain = join(folder, 'md/domains', name);
  return {
    chainFile: join(domain, `pubcert${kind}.pem`),
    keyFile: join(domain, `privkey${kind}.pem`),
    jobFile: join(folder, 'md/staging', name, 'job.json'),
  };
}

function configuration(
  root: string,
  { directoryUrl, eab, applicant, folder }: Context,
  { names, keyType, challenge }: Wanted,
  more: readonly string[],
): string {
  const { httpPort, tlsPort } = applicant;
  const modules = ['mpm_event', 'authz_core', 'ssl', 'md'].map(
    (name) => `LoadModule ${name}_module ${join(root, 'usr/lib/apache2/modules', `mod_${name}.so`)}`,
  );
  // A program that fails: nobody may run it.
  const challenges =
    challenge === 'none' ? ['MDCAChallenges dns-01', 'MDChallengeDns01 /bin/false'] : [`MDCAChallenges ${challenge}`];
  const host = [`ServerName ${names[0]}`, ...names.slice(1).map((name) => `ServerAlias ${name}`)];
  return [
    ...modules,
    `ServerRoot ${folder}`,
    'PidFile httpd.pid',
    'ErrorLog error.log',
    'LogLevel info',
    'ServerName localhost',
    'User nobody',
    'Group nogroup',
    `Listen 127.0.0.1:${httpPort}`,
    `Listen 127.0.0.1:${tlsPort}`,
    'Protocols http/1.1 acme-tls/1',
    `MDPortMap http:${httpPort} https:${tlsPort}`,
    'MDStoreDir md',
    `MDCACertificateFile ${join(folder, 'ca.crt')}`,
    `MDCertificateAuthority ${directoryUrl}`,
    'MDCertificateAgreement accepted',
    'MDContactEmail admin@corp.example',
    `MDExternalAccountBinding ${eab.kid} ${eab.hmac}`,
    `MDPrivateKeys ${keyType === 'ec_256' ? 'secp256r1' : 'RSA 2048'}`,
    ...challenges,
    ...more,
    `MDomain ${names.join(' ')}`,
    `<VirtualHost *:${tlsPort}>`,
    ...host,
    'SSLEngine on',
    '</VirtualHost>',
    `<VirtualHost *:${httpPort}>`,
    ...host,
    '</VirtualHost>',
    '',
  ].join('\n');
}
