// The README's way through a cluster to a certificate of cert-manager, as it is written; only our URL is that of this machine.
import { lookup } from 'node:dns/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { serveAcmery } from '../support/acmery-process.ts';
import { testCluster } from '../support/cluster.ts';
import { freePorts } from '../support/plane/free-ports.ts';
import { blockOfFile, kubectlAs, runBlocks } from '../support/walkthrough.ts';

test('a Certificate becomes ready by the commands of the README, and verifies with the roots of the directory', async ({
  skip,
}) => {
  const plane = inject('plane');
  if ('unavailable' in plane) return skip(plane.unavailable);
  // Loopback URLs are refused where there is a cluster.
  const host = hostname();
  if (!(await lookup(host).catch(() => undefined))) return skip(`${host}, the name of this machine, has no address`);
  await using cluster = await testCluster();
  const folder = await mkdtemp(join(tmpdir(), 'acmery-readme-cluster-'));
  await using _ = {
    // Its Postgres may still be ending.
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 10 }),
  };
  await cluster.kubectl(['create', 'namespace', 'acmery-system']);
  const { acme: port } = await freePorts(['acme']);
  const publicUrl = `https://${host}:${port}`;
  await using acmery = await serveAcmery(join(folder, 'data'), ['--acme-listen', `0.0.0.0:${port}`], {
    env: {
      KUBECONFIG: cluster.adminKubeconfig,
      ACMERY_NAMESPACE: 'acmery-system',
      ACMERY_WATCH_NAMESPACES: 'acmery-system,shop',
      ACMERY_CERT_MANAGER_INJECTION: 'on',
      ACMERY_PUBLIC_URL: publicUrl,
      ACMERY_HTTP_URL: 'http://pki.corp.example',
    },
  });
  await acmery.untilReady();

  const [declare, enrol] = await Promise.all(['kubectl', 'cert-manager'].map((name) => blockOfFile('README.md', name)));
  const verify = `
    kubectl -n shop get secret shop-tls -o jsonpath='{.data.tls\\.crt}' | base64 -d > "${folder}/chain.pem"
    kubectl -n acmery-system get configmap web-acme -o jsonpath='{.data.roots\\.pem}' > "${folder}/roots.pem"
    openssl verify -CAfile "${folder}/roots.pem" -untrusted "${folder}/chain.pem" "${folder}/chain.pem"`;
  const kubectl = kubectlAs(plane.binaries.kubectl, cluster.adminKubeconfig);
  const enrolHere = enrol?.replaceAll('https://acme.corp.example', publicUrl) ?? '';
  const { stdout } = await runBlocks([kubectl, declare ?? '', enrolHere, verify]);

  expect(stdout).toContain('certificate.cert-manager.io/shop condition met');
  expect(stdout).toMatch(/\nNAME +READY +REASON +DIRECTORY +KEY ID .*\nshop +True .* shop\.shop /);
  expect(stdout.trim()).toMatch(/chain\.pem: OK$/);
});
