// The quickstart in a cluster, by the commands of the documents and the program as users run it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { testCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import type { TestCluster } from '../support/plane/test-cluster.ts';
import { blockOfFile, kubectlAs, runBlocks } from '../support/walkthrough.ts';

const OPERATOR_PAGE = 'docs/operator.md';
const cleanUp = new AsyncDisposableStack();
let cluster: TestCluster;
let acmery: ServingAcmery;
let dataDir: string;
let applied: string;

const prelude = (): string => {
  const plane = inject('plane');
  return 'unavailable' in plane ? '' : kubectlAs(plane.binaries.kubectl, cluster.adminKubeconfig);
};

const run = async (...blocks: readonly string[]): Promise<string> => (await runBlocks([prelude(), ...blocks])).stdout;

beforeAll(async () => {
  if ('unavailable' in inject('plane')) return;
  cluster = cleanUp.use(await testCluster());
  dataDir = await mkdtemp(join(tmpdir(), 'acmery-quickstart-'));
  // Its Postgres may still be ending.
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  await cluster.kubectl(['create', 'namespace', 'acmery-system']);
  acmery = cleanUp.use(
    await serveAcmery(dataDir, ['--log-format', 'json'], {
      env: {
        KUBECONFIG: cluster.adminKubeconfig,
        ACMERY_NAMESPACE: 'acmery-system',
        ACMERY_WATCH_NAMESPACES: 'acmery-system',
        ACMERY_PUBLIC_URL: 'https://acme.corp.example',
        ACMERY_HTTP_URL: 'http://pki.corp.example',
      },
    }),
  );
  await acmery.untilReady();
  applied = await run(await blockOfFile('README.md', 'kubectl'));
});

afterAll(() => cleanUp.disposeAsync());

const get = async (what: string, path: string): Promise<string> =>
  (await cluster.kubectl(['get', '-n', 'acmery-system', ...what.split(' '), '-o', `jsonpath=${path}`])).stdout;

test('kubectl apply of the quickstart makes CAs, a directory and an EAB Secret, as the README shows', async () => {
  expect(applied).toContain('externalbinding.acmery.io/shop condition met');
  expect(applied).toMatch(/\nsigningcert\.acmery\.io\/corp-issuing +True /);
  expect(applied).toMatch(/\nhttps:\/\/acme\.corp\.example\/acme\/web\/directory\n-----BEGIN CERTIFICATE-----\n/);
  expect(await get('acmedir web', '{.status.directoryUrl}')).toBe('https://acme.corp.example/acme/web/directory');
  expect(Buffer.from(await get('secret shop-eab', '{.data.kid}'), 'base64').toString()).toBe('shop');
  await eventually('no key of a CA lies outside', async () =>
    (await get('secret', '{.items[*].type}')).includes('tls'),
  );
});

test('a ServiceAccount calls /v1 with a token for our audience, as far as RBAC lets it', async () => {
  const api = `https://localhost:${acmery.apiPort}`;
  const request = (await blockOfFile(OPERATOR_PAGE, 'caller-request')).replace(
    'https://acmery-api.acmery-system.svc',
    api,
  );
  await run(
    await blockOfFile(OPERATOR_PAGE, 'caller-roles'),
    `cd ${dataDir}`,
    await blockOfFile(OPERATOR_PAGE, 'caller'),
  );
  // The API server takes a moment to know of the binding, and a no is remembered for 5 s.
  await eventually(
    'the caller may read',
    async () => (await run(`cd ${dataDir}`, request)).includes('"slug":"web"'),
    20_000,
  );

  const ask = async (audience: string, method: string, path: string): Promise<number> => {
    const token = (await run(`kubectl -n acmery-system create token deployer --audience=${audience}`)).trim();
    return (await acmery.api(path, { Authorization: `Bearer ${token}` }, method)).status;
  };
  expect(await ask('acmery.io', 'DELETE', '/v1/directories/dir_00000000000000000000000000')).toBe(403);
  expect(await ask('vault', 'GET', '/v1/directories')).toBe(401);
});

test('the API server takes the pod of the documents', async () => {
  const pod = await blockOfFile(OPERATOR_PAGE, 'caller-pod');
  expect(await run(pod.replace('apply -f', 'apply --dry-run=server --validate=strict -f'))).toContain('pod/deployer');
});

test('the runbooks show who leads, and how each object is', async () => {
  const inRelease = `kubectl() { command "$KUBECTL" -n acmery-system "$@"; }`;
  const block = async (name: string): Promise<string> =>
    (await blockOfFile('docs/runbooks.md', name)).replace('-n NAMESPACE NAME', '-n acmery-system web');
  const prelude = `export KUBECONFIG="${cluster.adminKubeconfig}"`;
  const plane = inject('plane');
  const program = 'unavailable' in plane ? '' : `KUBECTL="${plane.binaries.kubectl}"`;
  const shown = await run(prelude, program, inRelease, await block('lease'), await block('objects'));
  expect(shown).toMatch(/holderIdentity: \S+/);
  expect(shown).toMatch(/directory\.acmery\.io\/web +True/);
  expect(shown).toMatch(/Reason: +Succeeded/);
});
