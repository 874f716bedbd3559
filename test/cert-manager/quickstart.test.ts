// The quickstart in a cluster as it is written: helm install, and then the program with the rights that came of it, up to a
// certificate of cert-manager. Only URLs, the database, the namespace of the release and the class of
// the objects, which keeps other releases out, are those of the test.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { serveAcmery } from '../support/acmery-process.ts';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import { ownAddress } from '../support/own-address.ts';
import { freePorts } from '../support/plane/free-ports.ts';
import { blockOfFile, kubectlAs, runBlocks } from '../support/walkthrough.ts';

const PAGE = 'docs/quickstart-kubernetes.md';
const RELEASE = 'acmery-store';

test('from an empty namespace to a Certificate that verifies', async ({ skip }) => {
  const plane = inject('plane');
  if ('unavailable' in plane) return skip(plane.unavailable);
  const helm = inject('helm');
  if ('unavailable' in helm) return skip(withoutHelm() ?? 'there is no Helm');
  const address = ownAddress();
  if (address === undefined) return skip('this machine has no address but loopback, which is no public URL');
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'acmery-quickstart-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
  const { acme: port } = await freePorts(['acme']);
  const publicUrl = `https://${address}:${port}`;
  const env = { ...process.env, PATH: `${dirname(helm.path)}:${process.env.PATH}` };
  const prelude = kubectlAs(plane.binaries.kubectl, cluster.adminKubeconfig);
  const run = async (...names: readonly string[]): Promise<string> => {
    const blocks = await Promise.all(names.map((name) => blockOfFile(PAGE, name)));
    const here = blocks.map((block) =>
      block
        .replaceAll('acmery-system', RELEASE)
        .replaceAll('https://acme.corp.example', publicUrl)
        .replaceAll('metadata: {name: ', `metadata: {labels: {acmery.io/class: ${RELEASE}}, name: `)
        .replace(/postgres:\/\/[^']*/, database.url)
        // The kinds are there already, and are those of other tests too.
        .replace(
          'helm install acmery charts/acmery',
          `helm install acmery "${process.cwd()}/charts/acmery" --set crds.enabled=false`,
        ),
    );
    return (await runBlocks([prelude, `cd "${folder}"`, ...here], { env })).stdout;
  };

  expect(await run('database', 'install')).toContain(`${publicUrl}/acme/web/directory`);
  const { stdout: uri } = await cluster.kubectl([
    'get',
    'secret',
    'acmery-db',
    '-n',
    RELEASE,
    '-o',
    'jsonpath={.data.uri}',
  ]);
  const identity = { serviceAccount: 'acmery', namespace: RELEASE };
  await using acmery = await serveAcmery(join(folder, 'data'), ['--acme-listen', `0.0.0.0:${port}`], {
    env: {
      KUBECONFIG: await cluster.kubeconfigFor(identity, { namespace: RELEASE }),
      DATABASE_URL: Buffer.from(uri, 'base64').toString(),
      POD_NAMESPACE: RELEASE,
      ACMERY_RESOURCE_CLASS: RELEASE,
      ACMERY_CERT_MANAGER_INJECTION: 'on',
      ACMERY_PUBLIC_URL: publicUrl,
      ACMERY_HTTP_URL: 'http://pki.corp.example',
    },
  });
  await acmery.untilReady();

  expect(await run('declare')).toMatch(/signingcert\.acmery\.io\/corp-issuing +True/);
  expect(await run('binding')).toMatch(/store-eab +Opaque +4/);
  expect(await run('certificate')).toContain('certificate.cert-manager.io/web condition met');
  expect(await run('trust')).toBe('web.pem: OK\n');
  expect(await run('look')).toMatch(/Type: +Bound/);
});
