// certbot, from PyPI.
import { join } from 'node:path';
import { isIpAddress } from '../certificates.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchPythonTool } from '../fetch.ts';
import { txtCommand, writeScript } from '../hooks.ts';
import { run } from '../run.ts';

const VERSION = '5.8.0';

export const certbot: Client = {
  name: 'certbot',
  source: 'PyPI',
  challenges: ['http-01', 'dns-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: true,
  hasIpAddresses: true,
  asksForDays: false,
  async fetch() {
    const program = join(await fetchPythonTool('certbot', VERSION), 'certbot');
    const version = (await run({ program, args: ['--version'] })).trim().replace('certbot ', '');
    return { version, open: (context) => openSession(program, context) };
  },
};

async function openSession(
  program: string,
  { directoryUrl, caFile, eab, applicant, folder }: Context,
): Promise<Session> {
  const folders = ['config', 'work', 'logs'].flatMap((name) => [`--${name}-dir`, join(folder, name)]);
  const certbotRun = (...args: readonly string[]): Promise<string> =>
    run({
      program,
      args: [...args, '--non-interactive', ...folders],
      env: { REQUESTS_CA_BUNDLE: caFile },
    });
  const server = ['--server', directoryUrl];
  const txtHook = (verb: 'present' | 'cleanup'): Promise<string> =>
    writeScript(join(folder, verb), [
      `${txtCommand(applicant)} ${verb} "_acme-challenge.$CERTBOT_DOMAIN" "$CERTBOT_VALIDATION"`,
    ]);
  const [present, cleanup] = [await txtHook('present'), await txtHook('cleanup')];
  const standalone = ['--standalone', '--http-01-address', '127.0.0.1', '--http-01-port', String(applicant.httpPort)];
  const authenticators: Readonly<Record<Wanted['challenge'], readonly string[]>> = {
    'http-01': standalone,
    'dns-01': [
      '--manual',
      '--preferred-challenges=dns',
      `--manual-auth-hook=${present}`,
      `--manual-cleanup-hook=${cleanup}`,
    ],
    'tls-alpn-01': [],
    // A hook that fails: nobody may ask it.
    none: ['--manual', '--manual-auth-hook=false', '--preferred-challenges=dns,http'],
  };
  const issue = async (wanted: Wanted, ...more: readonly string[]): Promise<Issued> => {
    const names = wanted.names.flatMap((name) => [isIpAddress(name) ? '--ip-address' : '-d', name]);
    const key = wanted.keyType === 'ec_256' ? ['--key-type=ecdsa'] : ['--key-type=rsa', '--rsa-key-size=2048'];
    const name = ['--cert-name', nameOf(wanted)];
    await certbotRun('certonly', ...server, ...authenticators[wanted.challenge], ...key, ...name, ...names, ...more);
    return issuedOf(wanted);
  };
  const issuedOf = (wanted: Wanted): Issued => {
    const live = join(folder, 'config/live', nameOf(wanted));
    return { chainFile: join(live, 'fullchain.pem'), keyFile: join(live, 'privkey.pem') };
  };
  return {
    register: async () => {
      const pair = ['--eab-kid', eab.kid, '--eab-hmac-key', eab.hmac];
      await certbotRun('register', ...server, ...pair, '--agree-tos', '-m', 'admin@corp.example', '--no-eff-email');
    },
    issue,
    async renew(wanted) {
      await certbotRun('renew', '--force-renewal', '--no-random-sleep-on-renew', '--cert-name', nameOf(wanted));
      return issuedOf(wanted);
    },
    revoke: {
      account: (wanted) =>
        certbotRun(
          'revoke',
          ...server,
          '--cert-name',
          nameOf(wanted),
          '--reason=superseded',
          '--no-delete-after-revoke',
        ),
      certificate_key: (_, { chainFile, keyFile }) =>
        certbotRun('revoke', ...server, '--cert-path', chainFile, '--key-path', keyFile, '--no-delete-after-revoke'),
    },
  };
}

const nameOf = ({ names: [first = ''] }: Wanted): string => first.replace('*.', 'wildcard.');
