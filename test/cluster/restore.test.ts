// A backup by the commands of the documents, restored into an empty cluster: CAs, accounts and tokens are those of before.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { type OwnCluster, ownCluster } from '../support/cluster.ts';
import { emptyDatabase, testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { ownAddress } from '../support/own-address.ts';
import { withoutPgDump } from '../support/pg-dump.ts';
import { freePorts } from '../support/plane/free-ports.ts';
import { ourCrds } from '../support/plane/setup.ts';
import { blockOfFile, kubectlAs, runBlocks } from '../support/walkthrough.ts';

const PAGE = 'docs/operations.md';
/** Besides the quickstart: a token that nobody has used, and an account whose key is in its Secret alone. */
const MORE = `
kind: ExternalBinding
apiVersion: acmery.io/v1
metadata: {name: spare, namespace: acmery-system}
spec: {directoryRef: {name: web}, orderValidations: auto_approve}
---
kind: AcmeKey
apiVersion: acmery.io/v1
metadata: {name: proxy, namespace: edge}
spec:
  directoryRef: {name: web, namespace: acmery-system}
  orderValidations: auto_approve
  generate: {keyType: ec_256}
`;

type Kept = { readonly roots: string; readonly spare: string; readonly account: string; readonly serving: string };

const cleanUp = new AsyncDisposableStack();
let skipped: string | undefined;
let folder: string;
let before: Kept;
let after: Kept;
let verified: string;
let ocsp: string;
let conditions: string;

beforeAll(async () => {
  const plane = inject('plane');
  const address = ownAddress();
  skipped = 'unavailable' in plane ? plane.unavailable : undefined;
  if (address === undefined) skipped ??= 'this machine has no address but loopback, which is no public URL';
  if (skipped !== undefined || 'unavailable' in plane) return;
  await using former = await testDatabase();
  await using restored = await emptyDatabase();
  skipped = await withoutPgDump(former.db.db);
  if (skipped !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'acmery-restore-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'more.yaml'), MORE);
  const ports = await freePorts(['acme', 'http']);
  const serve = async ({ cluster }: OwnCluster, name: string, databaseUrl: string): Promise<ServingAcmery> => {
    const listen = ['--acme-listen', `0.0.0.0:${ports.acme}`, '--http-listen', `0.0.0.0:${ports.http}`];
    const acmery = await serveAcmery(join(folder, name), listen, {
      env: {
        KUBECONFIG: cluster.adminKubeconfig,
        DATABASE_URL: databaseUrl,
        ACMERY_NAMESPACE: 'acmery-system',
        ACMERY_PUBLIC_URL: `https://${address}:${ports.acme}`,
        ACMERY_HTTP_URL: `http://${address}:${ports.http}`,
      },
    });
    await acmery.untilReady();
    return acmery;
  };
  const prelude = ({ cluster }: OwnCluster): string =>
    `cd "${folder}"\n${kubectlAs(plane.binaries.kubectl, cluster.adminKubeconfig)}`;
  const declare = `
    kubectl apply -f "${process.cwd()}/examples/quickstart" -f more.yaml
    kubectl -n acmery-system wait --for=condition=Ready scert,acmedir,eab --all --timeout=60s
    kubectl -n edge wait --for=condition=Ready acmekey/proxy --timeout=60s`;
  const namespaces = ['acmery-system', 'edge'].map((name) => `kubectl create namespace ${name}`);
  const block = (name: string): Promise<string> => blockOfFile(PAGE, name);

  {
    await using one = await ownCluster({ crds: await ourCrds() });
    await runBlocks([prelude(one), ...namespaces]);
    await using _ = await serve(one, 'one', former.url);
    await runBlocks([prelude(one), declare, pairOf('shop'), enrol('first.pem', BY_PAIR)]);
    before = await keptOf(prelude(one));
    await runBlocks([prelude(one), `DATABASE_URL="${plainUrl(former.url)}"`, await block('backup')]);
  }
  await using other = await ownCluster({ crds: await ourCrds() });
  // kubectl gives up on a new API server that is slow to describe its kinds.
  const describes = (): Promise<boolean> =>
    other.cluster.kubectl(['get', '--raw', '/openapi/v2']).then(
      () => true,
      () => false,
    );
  await eventually('the kinds are described', describes, 60_000);
  await runBlocks([prelude(other), ...namespaces, `DATABASE_URL="${plainUrl(restored.url)}"`, await block('restore')]);
  await using _ = await serve(other, 'other', restored.url);
  await runBlocks([prelude(other), declare]);
  after = await keptOf(prelude(other));
  // By the token that was not used, and by the account whose key came back.
  await runBlocks([prelude(other), pairOf('spare'), enrol('second.pem', BY_PAIR), enrol('third.pem', BY_KEY)]);
  const verify = ['first', 'second', 'third'].map(
    (name) => `openssl verify -CAfile roots.pem -untrusted ${name}.pem ${name}.pem`,
  );
  ({ stdout: verified } = await runBlocks([`cd "${folder}"`, ...verify]));
  ({ stdout: ocsp } = await runBlocks([`cd "${folder}"`, ASK]));
  const list = `kubectl get scert,acmedir,eab,acmekeys -A -o jsonpath='{range .items[*]}{.metadata.name}: {range .status.conditions[?(@.status=="True")]}{.type} {end}{"\\n"}{end}'`;
  ({ stdout: conditions } = await runBlocks([prelude(other), list]));
}, 180_000);

afterAll(() => cleanUp.disposeAsync());

/** Older programs do not know all that ours say of a connection. */
function plainUrl(url: string): string {
  const plain = new URL(url);
  plain.search = '';
  return plain.href;
}

const client = join(import.meta.dirname, '../support/run-acme-client.ts');
const BY_PAIR = '"$(cat kid)" "$(cat secret)" shop.corp.example';
const BY_KEY = '--account-key account.key edge.corp.example';

const pairOf = (name: string): string => `
  kubectl -n acmery-system get secret ${name}-eab -o jsonpath='{.data.ca\\.crt}' | base64 -d > ca.crt
  for KEY in kid secret directory; do
    kubectl -n acmery-system get secret ${name}-eab -o jsonpath="{.data.$KEY}" | base64 -d > $KEY
  done`;

const enrol = (file: string, how: string): string =>
  `NODE_EXTRA_CA_CERTS=ca.crt "${process.execPath}" "${client}" "$(cat directory)" ${how} > ${file}`;

/** Of the certificate that was issued before: its issuer is the second of the chain. */
const ASK = `
  awk '/BEGIN/{n++} n==2' first.pem > issuing.pem
  openssl ocsp -url "$(openssl x509 -in first.pem -noout -ocsp_uri)" -issuer issuing.pem -cert first.pem \\
    -CAfile roots.pem -verify_other issuing.pem`;

async function keptOf(prelude: string): Promise<Kept> {
  await runBlocks([
    prelude,
    `kubectl -n acmery-system get configmap web-acme -o jsonpath='{.data.roots\\.pem}' > roots.pem
     kubectl -n acmery-system get configmap web-acme -o jsonpath='{.data.ca\\.crt}' > serving.pem
     kubectl -n acmery-system get secret spare-eab -o jsonpath='{.data}' > spare.json
     kubectl -n edge get secret proxy-account -o jsonpath='{.data.tls\\.key}' | base64 -d > account.key`,
  ]);
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
  const [roots, spare, account, serving] = await Promise.all(
    ['roots.pem', 'spare.json', 'account.key', 'serving.pem'].map(read),
  );
  return { roots: roots ?? '', spare: spare ?? '', account: account ?? '', serving: serving ?? '' };
}

test('roots, tokens, account keys and the anchor of our HTTPS are the same as before', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);
  expect(before.roots).toMatch(/^-----BEGIN CERTIFICATE-----/);
  expect(after).toEqual(before);
});

test('a token that was not used, and an account, get certificates of the same CA', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);
  expect(verified).toBe('first.pem: OK\nsecond.pem: OK\nthird.pem: OK\n');
});

test('a certificate of before is known, and everything declared is ready', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);
  expect(ocsp).toMatch(/^first\.pem: good$/m);
  expect(conditions.trim().split('\n')).toHaveLength(6);
  for (const line of conditions.trim().split('\n')) expect(line).toContain(' Ready ');
  expect(conditions).toMatch(/^shop: .*Bound/m);
});
