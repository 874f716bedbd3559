// The commands of the guides that stand beside `npm start`, run as they are written; only ports and data folder differ.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { missingProgram } from '../support/missing-program.ts';
import { copyQuickstart } from '../support/quickstart.ts';
import { blockOf, blockOfFile, runBlocks } from '../support/walkthrough.ts';

const cleanUp = new AsyncDisposableStack();
const client = join(import.meta.dirname, '../support/run-acme-client.ts');
const MARK = '=== ';

let skipped: string | undefined;
/** What each block printed. */
let printed: ReadonlyMap<string, string>;

beforeAll(async () => {
  skipped = await missingProgram(['jq', 'curl', 'openssl']);
  if (skipped !== undefined) return;
  const folder = await mkdtemp(join(tmpdir(), 'acmery-guides-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));
  const database = cleanUp.use(await testDatabase());
  const manifests = join(folder, 'manifests');
  await copyQuickstart(manifests);
  const env = { DATABASE_URL: database.url, ACMERY_DATA_DIR: join(folder, 'data'), ACMERY_MANIFESTS: manifests };
  const acmery = cleanUp.use(await serveAcmery(env.ACMERY_DATA_DIR, [], { env }));
  await acmery.untilReady();
  const outputs = join(env.ACMERY_DATA_DIR, 'outputs/acmery-system');
  await eventually('the pair is there', async () => (await read(join(outputs, 'shop-eab/secret'))) !== '', 30_000);
  await eventually('the roots are there', async () => (await read(join(outputs, 'web-acme/roots.pem'))) !== '');

  const guide = await readFile('docs/v1.md', 'utf8');
  const v1 = (name: string): readonly [string, string] => [name, blockOf(guide, name)];
  const blocks = [
    ['enrol', enrol(outputs, folder)] as const,
    v1('token'),
    ...['make', 'owned', 'pages', 'find', 'refused', 'explain', 'audit'].map(v1),
    ['chain', chain(outputs, folder)] as const,
    ['crl', `(ISSUING=$CORP\n${await blockOfFile('docs/crl.md', 'crl')})`] as const,
    ['ocsp', `(ISSUING=$CORP; cd "${folder}"\n${await blockOfFile('docs/ocsp.md', 'ocsp')})`] as const,
    ['account', 'ACCOUNT=$(v1 "$API/acme_keys?directory_id=$WEB" | jq -r ".collection[0].id")'] as const,
    ['what-was-done', await blockOfFile('docs/security.md', 'what-was-done')] as const,
    v1('revoke'),
    ['revoke-account', await blockOfFile('docs/security.md', 'revoke-account')] as const,
    ['revocation', await blockOfFile('docs/rollover.md', 'revocation')] as const,
    ...['clean', 'revoke-token'].map(v1),
  ];
  const here = (text: string): string => placed(text, acmery, env.ACMERY_DATA_DIR);
  const { stdout } = await runBlocks(
    blocks.flatMap(([name, text]) => [`echo; echo "${MARK}${name}"`, here(text)]),
    { env: { ...process.env, ...env } },
  );
  printed = new Map(
    stdout
      .split(new RegExp(`^${MARK}`, 'm'))
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
  );
}, 90_000);

afterAll(() => cleanUp.disposeAsync());

const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

const placed = (text: string, { apiPort, httpUrl }: ServingAcmery, dataDir: string): string =>
  text
    .replaceAll('https://localhost:8444', `https://localhost:${apiPort}`)
    .replaceAll('http://localhost:8080', httpUrl)
    .replaceAll('.acmery/tls', `${dataDir}/tls`);

/** The first certificate, of which the guides speak. */
const enrol = (outputs: string, folder: string): string => `
  PAIR="${outputs}/shop-eab"
  NODE_EXTRA_CA_CERTS=.acmery/tls/ca.crt "${process.execPath}" "${client}" "$(cat $PAIR/directory)" \\
    "$(cat $PAIR/kid)" "$(cat $PAIR/secret)" shop.corp.example > "${folder}/leaf.pem"`;

const chain = (outputs: string, folder: string): string => `
  awk '/BEGIN/{n++} n==2' "${folder}/leaf.pem" > "${folder}/issuing.pem"
  cp "${outputs}/web-acme/roots.pem" "${folder}/root.pem"
  CORP=$(v1 $API/directories/$WEB | jq -r .signing_cert_id)`;

test.for<[string, readonly (string | RegExp)[]]>([
  ['token', ['"slug": "web"']],
  ['make', [/^14$/m, '"key_id": null', /"mac_key": "[\w-]{43}"/]],
  ['owned', ['managed_by_kubernetes', 'custom resource Directory acmery-system/web']],
  ['pages', [/^"Guide"\ntrue\n/, /^scrt_\w{26} Corp Root$/m, /^scrt_\w{26} Guide Issuing$/m]],
  ['find', ['"state": "valid"', /^0$/m, 'DNS:shop.corp.example']],
  ['refused', ['"field": "directory.colour"', '"request_id"', 'at least one of acme_key_id']],
  ['explain', [/^false$/m, 'www.example.org is outside', '"rule": "validity"']],
  ['audit', ['"cert_max_days": 30', '"action": "create"']],
  ['crl', ['Certificate Revocation List (CRL)', 'No Revoked Certificates']],
  ['ocsp', ['leaf.pem: good']],
  ['what-was-done', [/\tissue\tissued_cert\ticrt_\w+$/m, /^icrt_\w+\t\S+\tshop\.corp\.example$/m]],
  ['revoke-account', ['"state": "revoked"', /^0$/m]],
  ['revoke', ['"state": "revoked"', '"name": "web-1"']],
  ['revocation', ['"revoke_reason":"key_compromise"']],
  ['clean', [/depend on it: 1 directory/, /^202\n202\n202$/m]],
  ['revoke-token', [/^Token atok_\w+ \(ci\) is revoked\.$/m, 'This token has been revoked']],
])('the commands: %s', ([name, expected], { skip }) => {
  if (skipped !== undefined) return skip(skipped);
  for (const what of expected) expect(printed.get(name)).toMatch(what);
});
