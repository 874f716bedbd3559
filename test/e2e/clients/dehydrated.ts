// dehydrated, a shell script, as Debian packages it.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveWebRoot } from '../applicant.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchDebianPackages } from '../fetch.ts';
import { txtCommand, writeScript } from '../hooks.ts';
import { recipeFor, recipeValues } from '../recipes.ts';
import { run } from '../run.ts';

export const dehydrated: Client = {
  name: 'dehydrated',
  source: 'Debian package',
  challenges: ['http-01', 'dns-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: true,
  hasIpAddresses: false,
  asksForDays: false,
  async fetch() {
    const program = join(await fetchDebianPackages('dehydrated', ['dehydrated']), 'usr/bin/dehydrated');
    const version = /^VERSION="([^"]+)"/m.exec(await readFile(program, 'utf8'))?.[1] ?? 'unknown';
    return { version, open: (context) => openSession(program, context) };
  },
};

async function openSession(program: string, context: Context): Promise<Session> {
  const { directoryUrl, caFile, eab, applicant, folder } = context;
  const [config, webRoot] = [join(folder, 'config'), join(folder, 'web-root')];
  await mkdir(webRoot);
  await writeFile(
    config,
    [
      `CA="${directoryUrl}"`,
      `EAB_KID="${eab.kid}"`,
      `EAB_HMAC_KEY="${eab.hmac}"`,
      `CURL_OPTS="--cacert ${caFile}"`,
      `BASEDIR="${folder}"`,
      `WELLKNOWN="${webRoot}"`,
      'CONTACT_EMAIL="admin@corp.example"',
      'KEYSIZE="2048"',
      '',
    ].join('\n'),
  );
  const txt = txtCommand(applicant);
  const hook = await writeScript(join(folder, 'hook'), [
    'case "$1" in',
    `deploy_challenge) ${txt} present "_acme-challenge.$2" "$4" ;;`,
    `clean_challenge) ${txt} cleanup "_acme-challenge.$2" "$4" ;;`,
    'esac',
  ]);
  const dehydratedRun = (...args: readonly string[]): Promise<string> =>
    run({ program, args: [...args, '--config', config] });
  const ways: Readonly<Record<Wanted['challenge'], readonly string[]>> = {
    'http-01': ['--challenge', 'http-01'],
    'dns-01': ['--challenge', 'dns-01', '--hook', hook],
    'tls-alpn-01': [],
    // A web root that is not there: nobody may write into it.
    none: ['--challenge', 'http-01'],
  };
  const issue = async (wanted: Wanted, ...more: readonly string[]): Promise<Issued> => {
    const { names, keyType, challenge } = wanted;
    await using _server = challenge === 'http-01' ? await serveWebRoot(webRoot, applicant.httpPort) : undefined;
    const algorithm = ['--algo', keyType === 'ec_256' ? 'prime256v1' : 'rsa'];
    const domains = names.flatMap((name) => ['--domain', name]);
    const alias = (names[0] ?? '').replace('*', 'wildcard');
    await dehydratedRun('--cron', ...ways[challenge], ...algorithm, ...domains, '--alias', alias, ...more);
    const live = join(folder, 'certs', alias);
    return { chainFile: join(live, 'fullchain.pem'), keyFile: join(live, 'privkey.pem') };
  };
  return {
    async followRecipe() {
      const recipe = join(folder, 'recipe');
      await writeFile(recipe, `BASEDIR="${folder}"\n${await recipeFor('dehydrated')}WELLKNOWN="${webRoot}"\n`);
      const env = recipeValues(context);
      await run({ program, args: ['--register', '--accept-terms', '--config', recipe], env });
      await run({ program, args: ['--cron', '--domain', 'shop.corp.example', '--config', recipe], env });
      const live = join(folder, 'certs/shop.corp.example');
      return { chainFile: join(live, 'fullchain.pem'), keyFile: join(live, 'privkey.pem') };
    },
    register: () => dehydratedRun('--register', '--accept-terms'),
    issue,
    renew: (wanted) => issue(wanted, '--force'),
    revoke: { account: (_, { chainFile }) => dehydratedRun('--revoke', chainFile.replace('fullchain', 'cert')) },
  };
}
