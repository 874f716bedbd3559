// The commands beside a program in a cluster, with the rights that the chart gives.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { runAcmery } from '../support/acmery-process.ts';
import { installRights, withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

test.for([
  { title: 'in the whole cluster', isWhole: true, said: 'permissions that are needed\n' },
  { title: 'in some namespaces', isWhole: false, said: '/v1 takes API tokens only' },
])(
  'as the chart installs it $title doctor finds nothing wrong with the cluster, and tokens can be made',
  async ({ isWhole, said }) => {
    await using cluster = await testCluster();
    await using database = await testDatabase();
    const [namespace, watched] = [await cluster.namespace(), await cluster.namespace()];
    const rights = await installRights(cluster, namespace, isWhole ? {} : { watchNamespaces: [watched] });
    const dataDir = await mkdtemp(join(tmpdir(), 'acmery-doctor-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const env = {
      KUBECONFIG: await cluster.kubeconfigFor(rights.identityOf(), { namespace }),
      DATABASE_URL: database.url,
      ...(!isWhole && { ACMERY_WATCH_NAMESPACES: `${namespace},${watched}` }),
    };

    const { stdout } = await runAcmery(['doctor', '--data-dir', dataDir], { env });
    expect(stdout).toMatch(/\[ok\] {6}cluster: .* runs Kubernetes v1\./);
    expect(stdout).toContain(said);
    expect(stdout).toContain(`[ok]      keys: no keys in the Secrets of namespace ${namespace} yet`);
    expect(stdout).toContain('[ok]      CA keys: 0 CA certs have theirs');

    const made = await runAcmery(['token', 'create', '--name', 'ci', '--permission', 'read', '--data-dir', dataDir], {
      env: { ...env, KUBECONFIG: '/no/such/kubeconfig' },
    });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acmery_/) });
  },
);
