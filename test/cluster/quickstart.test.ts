// The quickstart in a cluster: kubectl apply and nothing else, by the program as users run it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serveAcmery } from '../support/acmery-process.ts';
import { testCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

test('kubectl apply of the quickstart makes CAs, a directory and an EAB Secret', async () => {
  await using cluster = await testCluster();
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-quickstart-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true }) };
  await cluster.kubectl(['create', 'namespace', 'acmery-system']);
  await using acmery = await serveAcmery(dataDir, ['--log-format', 'json'], {
    env: {
      KUBECONFIG: cluster.adminKubeconfig,
      ACMERY_NAMESPACE: 'acmery-system',
      ACMERY_PUBLIC_URL: 'https://acme.corp.example',
      ACMERY_HTTP_URL: 'http://pki.corp.example',
    },
  });
  await acmery.untilReady();
  await cluster.kubectl(['apply', '-f', 'examples/quickstart']);
  await cluster.kubectl(['wait', '-n', 'acmery-system', '--for=condition=Ready', 'eab/shop', '--timeout=60s']);
  const get = async (what: string, path: string) =>
    (await cluster.kubectl(['get', '-n', 'acmery-system', ...what.split(' '), '-o', `jsonpath=${path}`])).stdout;
  expect(await get('acmedir web', '{.status.directoryUrl}')).toBe('https://acme.corp.example/acme/web/directory');
  expect(Buffer.from(await get('secret shop-eab', '{.data.kid}'), 'base64').toString()).toBe('shop');
  await eventually('no key of a CA lies outside', async () =>
    (await get('secret', '{.items[*].type}')).includes('tls'),
  );
});
