// certbot, from PyPI.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isIpAddress } from '../certificates.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchPythonTool } from '../fetch.ts';
import { txtCommand, writeScript } from '../hooks.ts';
import { recipeFor, recipeValues } from '../recipes.ts';
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

async function openSession(program: string, context: Context): Promise<Session> {
  const { directoryUrl, caFile, eab, applicant, folder } = context;
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
  const issuedOf = (wanted: Wanted): Issued => issuedIn(nameOf(wanted));
  const issuedIn = (name: string): Issued => {
    const live = join(folder, 'config/live', name);
    return { chainFile: join(live, 'fullchain.pem'), keyFile: join(live, 'privkey.pem') };
  };
  return {
    async followRecipe() {
      await writeSettings(folder, folders);
      const env = {
        ...recipeValues(context),
        XDG_CONFIG_HOME: folder,
        PATH: `${dirname(program)}:${process.env.PATH}`,
      };
      await run({ program: 'bash', args: ['--norc', '-euo', 'pipefail', '-c', await recipeFor('certbot')], env });
      return issuedIn('shop.corp.example');
    },
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

/** Where it keeps its things, for command lines that do not say. */
async function writeSettings(folder: string, folders: readonly string[]): Promise<void> {
  await mkdir(join(folder, 'letsencrypt'));
  const lines = folders.map((word) => (word.startsWith('--') ? `${word.slice(2)} = ` : `${word}\n`));
  await writeFile(join(folder, 'letsencrypt/cli.ini'), lines.join(''));
}

const nameOf = ({ names: [first = ''] }: Wanted): string => first.replace('*.', 'wildcard.');
