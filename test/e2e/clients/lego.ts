// lego, a Go module; Traefik uses it as its library.
import { dirname, join } from 'node:path';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchGoTool } from '../fetch.ts';
import { recipeFor, recipeValues } from '../recipes.ts';
import { run } from '../run.ts';

const VERSION = 'v5.2.2';
const DAY_MS = 86_400_000;

export const lego: Client = {
  name: 'lego',
  source: 'Go module',
  challenges: ['http-01', 'dns-01', 'tls-alpn-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: true,
  hasIpAddresses: true,
  asksForDays: true,
  async fetch() {
    const module = 'github.com/go-acme/lego/v5';
    const program = await fetchGoTool({ module, version: VERSION, command: '', name: 'lego' });
    return { version: VERSION.slice(1), open: async (context) => sessionOf(program, context) };
  },
};

function sessionOf(program: string, context: Context): Session {
  const { directoryUrl, caFile, eab, applicant, folder } = context;
  const { httpPort, tlsPort, resolver, txtUrl } = applicant;
  const legoRun = (...args: readonly string[]): Promise<string> =>
    run({
      // It asks before it changes a key.
      input: 'Y\n',
      program,
      args: [...args, '--path', folder],
      env: { LEGO_CA_CERTIFICATES: caFile, HTTPREQ_ENDPOINT: txtUrl, EXEC_PATH: '/bin/false' },
    });
  const account = ['--server', directoryUrl, '--email', 'admin@corp.example'];
  const pair = ['--eab', '--eab.kid', eab.kid, '--eab.hmac', eab.hmac];
  const dns = ['--dns.resolvers', resolver, '--dns.propagation.disable-ans'];
  const solvers: Readonly<Record<Wanted['challenge'], readonly string[]>> = {
    'http-01': ['--http', '--http.address', `127.0.0.1:${httpPort}`],
    'dns-01': ['--dns', 'httpreq', ...dns],
    'tls-alpn-01': ['--tls', '--tls.address', `127.0.0.1:${tlsPort}`],
    // A program that fails: nobody may run it.
    none: ['--dns', 'exec', ...dns],
  };
  const issue = async (wanted: Wanted, ...more: readonly string[]): Promise<Issued> => {
    const { names, keyType, challenge, days } = wanted;
    const domains = names.flatMap((name) => ['-d', name]);
    const key = ['--key-type', keyType === 'ec_256' ? 'EC256' : 'RSA2048'];
    const end = days === undefined ? [] : ['--not-after', rfc3339(Date.now() + days * DAY_MS)];
    await legoRun(
      'run',
      '--accept-tos',
      ...account,
      ...pair,
      ...solvers[challenge],
      ...key,
      ...end,
      ...domains,
      ...more,
    );
    const file = join(folder, 'certificates', (names[0] ?? '').replace('*', '_').replaceAll(':', '-'));
    return { chainFile: `${file}.crt`, keyFile: `${file}.key` };
  };
  return {
    register: () => legoRun('accounts', 'register', '--accept-tos', ...account, ...pair),
    issue,
    renew: (wanted) => issue(wanted, '--renew-force', '--no-random-sleep'),
    revoke: {
      account: ({ names: [name = ''] }) =>
        legoRun('certificates', 'revoke', ...account, '--cert.name', name, '--reason', '4', '--keep'),
    },
    async followRecipe() {
      const env = { ...recipeValues(context), PATH: `${dirname(program)}:${process.env.PATH}` };
      await run({
        program: 'bash',
        args: ['--norc', '-euo', 'pipefail', '-c', await recipeFor('lego')],
        env,
        cwd: folder,
      });
      const file = join(folder, '.lego/certificates/shop.corp.example');
      return { chainFile: `${file}.crt`, keyFile: `${file}.key` };
    },
    changeKey: () => legoRun('accounts', 'keyrollover', ...account, '--key-type', 'EC384'),
  };
}

const rfc3339 = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
