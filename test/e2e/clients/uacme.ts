// uacme, a C program, as Debian packages it.

import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { serveWebRoot } from '../applicant.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchDebianPackages } from '../fetch.ts';
import { txtCommand, writeScript } from '../hooks.ts';
import { recipeFor, recipeValues } from '../recipes.ts';
import { run } from '../run.ts';

const SYSTEM_ANCHORS = '/etc/ssl/certs/ca-certificates.crt';

export const uacme: Client = {
  name: 'uacme',
  source: 'Debian package',
  challenges: ['http-01', 'dns-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: true,
  hasIpAddresses: true,
  asksForDays: false,
  async fetch() {
    const root = await fetchDebianPackages('uacme', ['uacme', 'libev4']);
    // It tells its version and fails.
    const about = await run({ program: 'sh', args: ['-c', '"$0" --version || true', join(root, 'usr/bin/uacme')] });
    // It reads no anchors but the system's: those of its own view of the file system are replaced.
    await run({ program: 'unshare', args: ['--mount', '--map-root-user', 'true'] });
    const version = /version (\S+)/.exec(about)?.[1] ?? 'unknown';
    return { version, open: (context) => openSession(join(root, 'usr/bin/uacme'), context) };
  },
};

async function openSession(program: string, context: Context): Promise<Session> {
  const { directoryUrl, caFile, eab, applicant, folder } = context;
  const [configuration, webRoot] = [join(folder, 'uacme'), join(folder, 'web-root')];
  await mkdir(webRoot);
  const txt = txtCommand(applicant);
  const hooks: Readonly<Record<Wanted['challenge'], string>> = {
    'http-01': await writeScript(join(folder, 'http-hook'), [
      '[ "$2" = http-01 ] || exit 1',
      'case "$1" in',
      `begin) printf %s "$5" > '${webRoot}'/"$4" ;;`,
      `*) rm '${webRoot}'/"$4" ;;`,
      'esac',
    ]),
    'dns-01': await writeScript(join(folder, 'dns-hook'), [
      '[ "$2" = dns-01 ] || exit 1',
      'case "$1" in',
      `begin) ${txt} present "_acme-challenge.$3" "$5" ;;`,
      `*) ${txt} cleanup "_acme-challenge.$3" "$5" ;;`,
      'esac',
    ]),
    'tls-alpn-01': 'false',
    none: '/bin/false',
  };
  const uacmeRun = (...args: readonly string[]): Promise<string> => {
    const line = 'mount --bind "$0" "$1" && shift && exec "$@"';
    const common = [program, '--verbose', '--yes', '--confdir', configuration, '--acme-url', directoryUrl];
    const shell = ['sh', '-c', line, caFile, SYSTEM_ANCHORS, ...common, ...args];
    return run({ program: 'unshare', args: ['--mount', '--map-root-user', ...shell] });
  };
  const issue = async (wanted: Wanted, ...more: readonly string[]): Promise<Issued> => {
    const { names, keyType, challenge } = wanted;
    await using _server = challenge === 'http-01' ? await serveWebRoot(webRoot, applicant.httpPort) : undefined;
    const type = ['--type', keyType === 'ec_256' ? 'EC' : 'RSA'];
    await uacmeRun(...type, ...more, '--hook', hooks[challenge], 'issue', ...names);
    const name = (names[0] ?? '').replace('*.', '');
    return {
      chainFile: join(configuration, name, 'cert.pem'),
      keyFile: join(configuration, 'private', name, 'key.pem'),
    };
  };
  return {
    register: () => uacmeRun('--type', 'EC', '--eab', `${eab.kid}:${eab.hmac}`, 'new', 'admin@corp.example'),
    issue,
    renew: (wanted) => issue(wanted, '--force'),
    revoke: {
      account: (_, { chainFile }) => uacmeRun('--reason', '4', 'revoke', chainFile),
      certificate_key: (_, { chainFile, keyFile }) => uacmeRun('revoke', chainFile, keyFile),
    },
    async followRecipe() {
      // Its /etc/ssl is a folder of ours, with our anchor as the only one.
      const etc = join(folder, 'etc-ssl');
      await mkdir(join(etc, 'certs'), { recursive: true });
      await copyFile(caFile, join(etc, 'certs/ca-certificates.crt'));
      const recipe = (await recipeFor('uacme')).replace('/usr/share', join(dirname(program), '../share'));
      const lines = `mount --bind '${etc}' /etc/ssl\n${recipe}`;
      const env = { ...recipeValues(context), PATH: `${dirname(program)}:${process.env.PATH}` };
      await run({
        program: 'unshare',
        args: ['--mount', '--map-root-user', 'bash', '--norc', '-euo', 'pipefail', '-c', lines],
        env,
      });
      const place = join(etc, 'uacme');
      return {
        chainFile: join(place, 'shop.corp.example/cert.pem'),
        keyFile: join(place, 'private/shop.corp.example/key.pem'),
      };
    },
    changeKey: () => uacmeRun('--type', 'EC', '--bits', '384', 'newkey'),
  };
}
