// Caddy, a Go module: a web server that gets its own certificates.
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchGoTool } from '../fetch.ts';
import { recipeFor, recipeValues } from '../recipes.ts';
import { start } from '../run.ts';

const VERSION = 'v2.11.9';
const DEADLINE_MS = 60_000;

export const caddy: Client = {
  name: 'caddy',
  source: 'Go module',
  challenges: ['http-01', 'tls-alpn-01'],
  hasRsaKeys: true,
  hasSeveralNames: false,
  hasWildcards: false,
  hasIpAddresses: true,
  asksForDays: true,
  async fetch() {
    const module = 'github.com/caddyserver/caddy/v2';
    const program = await fetchGoTool({ module, version: VERSION, command: 'cmd/caddy', name: 'caddy' });
    return { version: VERSION.slice(1), open: async (context) => sessionOf(program, context) };
  },
};

function sessionOf(program: string, context: Context): Session {
  const { folder } = context;
  const storage = join(folder, 'storage');
  const serve = async (text: string, name: string, isDone: (chain: string) => boolean): Promise<Issued> => {
    const config = join(folder, 'Caddyfile');
    await writeFile(config, text);
    await using running = start({
      program,
      args: ['run', '--config', config, '--adapter', 'caddyfile'],
      env: { ...recipeValues(context), XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    });
    const isThere = async (): Promise<boolean> => {
      running.mustRun();
      const found = await issuedFor(storage, name);
      return found !== undefined && isDone(await readFile(found.chainFile, 'utf8'));
    };
    await eventually('Caddy holds the certificate', isThere, DEADLINE_MS).catch((error: Error) => {
      throw new Error(`${error.message}\n${running.output()}`);
    });
    const issued = await issuedFor(storage, name);
    if (issued === undefined) throw new Error(`Caddy has no certificate for ${name}`);
    return issued;
  };
  const textFor = (wanted: Wanted, options: readonly string[] = []): string =>
    `{\n${lines(1, [...general, ...options])}}\n${site(context, wanted)}`;
  const { applicant } = context;
  const general = [
    'admin off',
    `storage file_system ${storage}`,
    `http_port ${applicant.httpPort}`,
    `https_port ${applicant.tlsPort}`,
    'default_bind 127.0.0.1',
    'skip_install_trust',
  ];
  return {
    issue: (wanted) => serve(textFor(wanted), wanted.names[0] ?? '', () => true),
    async renew(wanted) {
      const [name = ''] = wanted.names;
      const before = await issuedFor(storage, name);
      const old = before === undefined ? '' : await readFile(before.chainFile, 'utf8');
      // What would be due before the next look, so far ahead, is due now.
      return serve(textFor(wanted, ['renew_interval 2000h']), name, (chain) => chain !== old);
    },
    async followRecipe() {
      // The recipe's own words, on the ports and in the folder of this run.
      const recipe = (await recipeFor('caddy')).replace('{\n', `{\n${lines(1, general)}`);
      return serve(recipe, 'shop.corp.example', () => true);
    },
  };
}

const lines = (depth: number, rows: readonly string[]): string =>
  rows.map((row) => `${'\t'.repeat(depth)}${row}\n`).join('');

function site({ directoryUrl, caFile, eab }: Context, { names, keyType, challenge, days }: Wanted): string {
  const without: Readonly<Record<Wanted['challenge'], readonly string[]>> = {
    'http-01': ['disable_tlsalpn_challenge'],
    'tls-alpn-01': ['disable_http_challenge'],
    'dns-01': [],
    none: ['disable_http_challenge', 'disable_tlsalpn_challenge'],
  };
  const lifetime = days === undefined ? [] : [`lifetime ${days}d`];
  return `${names.join(', ')} {
	tls {
		key_type ${keyType === 'ec_256' ? 'p256' : 'rsa2048'}
		issuer acme {
			dir ${directoryUrl}
			email admin@corp.example
			trusted_roots ${caFile}
			eab ${eab.kid} ${eab.hmac}
${lines(3, [...without[challenge], ...lifetime])}		}
	}
	respond "hello"
}
`;
}

async function issuedFor(storage: string, name: string): Promise<Issued | undefined> {
  const certificates = join(storage, 'certificates');
  if (!existsSync(certificates)) return undefined;
  for (const issuer of await readdir(certificates)) {
    const file = join(certificates, issuer, name, name);
    if (existsSync(`${file}.json`)) return { chainFile: `${file}.crt`, keyFile: `${file}.key` };
  }
  return undefined;
}
