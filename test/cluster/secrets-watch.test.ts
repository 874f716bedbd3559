// Secrets that are followed: what somebody spoils, removes or brings is noticed long before it would be looked at.
import { beforeEach, expect, test } from 'vitest';
import { reflect } from '../../src/kubernetes/reflector.ts';
import { secretReflection } from '../../src/kubernetes/secret-watch.ts';
import type { SecretChange } from '../../src/operator/ports.ts';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { telemetry } from '../support/cluster-objects.ts';
import { testDatabase } from '../support/database.ts';
import { aBinding, aDirectory, anIssuing, aRoot, createAll, untilReady } from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { installOperator, refusalsOf, troublesOf } from '../support/installed-operator.ts';

/** Half of what a missing Secret is looked at after, and a fortieth of what a good one is. */
const DEADLINE_MS = 15_000;

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

type Secret = { readonly data: Readonly<Record<string, string>> };

test('with secrets.watch a spoilt or removed Secret is made good, and one that comes is taken, at once', async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster, { secrets: { watch: true } });
  const env = { ACMERY_SECRETS_WATCH: 'on' };
  await using acmery = await operator.serve({ databaseUrl: database.url, env });
  const waiting = aRoot(operator, 'late', { import: { secretRef: { name: 'late' } } });
  const { privateKeyType: _, ...imported } = waiting.spec;
  const late = { ...waiting, spec: imported };
  const chain = [aRoot(operator), anIssuing(operator), aDirectory(operator), aBinding(operator)];
  await createAll(admin, [...chain, late]);
  await untilReady(admin, chain);
  const secrets = `/api/v1/namespaces/${operator.namespace}/secrets`;
  const pair = (): Promise<Secret> => admin.request<Secret>({ method: 'GET', path: `${secrets}/shop-eab` });
  const { data } = await pair();
  // The requests of this test would pass for ours.
  const theirs = '?fieldManager=theirs';
  const isWhole = async (): Promise<boolean> =>
    JSON.stringify((await pair().catch(() => undefined))?.data) === JSON.stringify(data);

  const contentType = 'application/merge-patch+json';
  await admin.request({
    method: 'PATCH',
    path: `${secrets}/shop-eab${theirs}`,
    contentType,
    body: { data: { kid: 'c3BvaWx0' } },
  });
  await eventually('the spoilt Secret is good', isWhole, DEADLINE_MS);
  await admin.request({ method: 'DELETE', path: `${secrets}/shop-eab` });
  await eventually('the removed Secret is back', isWhole, DEADLINE_MS);

  const { publicCert, privateKey } = await foreignCa();
  const body = {
    metadata: { name: 'late' },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(publicCert), 'tls.key': base64(privateKey) },
  };
  await admin.request({ method: 'POST', path: `${secrets}${theirs}`, body });
  await untilReady(admin, [late], DEADLINE_MS);
  expect(troublesOf(acmery)).toEqual([]);
  expect(refusalsOf(await operator.requests())).toEqual([]);
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('of a Secret nothing but its metadata comes, and what we write ourselves is not told', async () => {
  await using cluster = await testCluster();
  const { admin } = cluster;
  const namespace = await cluster.namespace();
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const make = (name: string, manager: string): Promise<unknown> =>
    admin.request({
      method: 'POST',
      path: `${path}?fieldManager=${manager}`,
      body: { metadata: { name }, data: { key: base64('secret') } },
    });
  await make('before', 'theirs');
  const told: SecretChange[] = [];
  const fields = new Set<string>();
  const reflection = secretReflection(namespace, (change) => told.push(change));
  const stop = new AbortController();
  const reflecting = reflect(
    {
      ...reflection,
      cluster: admin,
      events: telemetry().events,
      keep: (secret) => {
        for (const field of Object.keys(secret)) fields.add(field);
        return reflection.keep?.(secret) ?? secret;
      },
    },
    stop.signal,
  );
  await reflection.cache.filled;
  await make('ours', 'acmery');
  await make('theirs', 'theirs');
  await eventually('a Secret is told', () => told.length > 0);
  stop.abort();
  await reflecting;

  expect(told).toEqual([{ namespace, name: 'theirs' }]);
  expect([...fields].sort()).toEqual(['apiVersion', 'kind', 'metadata']);
});
