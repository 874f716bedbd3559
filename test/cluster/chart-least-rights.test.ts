// Everything that the program asks of a cluster, asked with the rights of the chart: all is granted, and nothing is granted in vain.
import { beforeEach, expect, test } from 'vitest';
import { EventRecorder } from '../../src/kubernetes/event-recorder.ts';
import { leaseLeadership } from '../../src/kubernetes/lease.ts';
import { clusterOutputs } from '../../src/kubernetes/outputs.ts';
import { secretKeyStore } from '../../src/kubernetes/secret-key-store.ts';
import { openClusterSource } from '../../src/kubernetes/source.ts';
import { clusterCallerReview } from '../../src/kubernetes/token-review.ts';
import type { Output } from '../../src/operator/ports.ts';
import { generatePrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { installRights, withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { givenBinding, never, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';
import { userNameOf } from '../support/plane/test-cluster.ts';

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

const ref = '01890a5d-ac96-774b-bcce-b302099a8057';
const origin = { namespace: 'infra', name: 'root', uid: 'u1' };
const outputs: readonly Output[] = [
  { kind: 'Secret', name: 'a-eab', data: { kid: 'a' } },
  { kind: 'ConfigMap', name: 'a-acme', data: { directory: 'https://acme' } },
];
const waiting = { type: 'Warning', reason: 'DependencyNotReady', action: 'Reconcile', note: 'Wait.' } as const;

/**
 * Rights of the chart, as the audit log has them. That to list what is watched is for API servers before 1.34, which do not
 * stream what there is at first.
 */
const granted = [
  ...['get', 'list', 'create', 'delete', 'patch'].map((verb) => `${verb} secrets`),
  ...['get', 'create', 'patch'].map((verb) => `${verb} configmaps`),
  ...['create', 'get', 'update'].map((verb) => `${verb} leases`),
  ...['create', 'patch'].map((verb) => `${verb} events`),
  'watch namespaces',
  ...['get', 'watch', 'patch'].map((verb) => `${verb} externalbindings`),
  'patch externalbindings/status',
  'create tokenreviews',
  'create subjectaccessreviews',
];

test('every request of a running release is granted, and every right is asked for', async () => {
  await using cluster = await testCluster();
  const [release, shop] = [await cluster.namespace(), await cluster.namespace()];
  const identity = (await installRights(cluster, release)).identityOf();
  const own = await cluster.openAs(identity);
  const { events } = telemetry();

  const keys = secretKeyStore({ cluster: own, namespace: release });
  await keys.createOnce(ref, { pkcs8: pkcs8Of(await generatePrivateKey('ec_256')) });
  await keys.createSealer('wrap');
  await keys.read(ref);
  await keys.find(origin);
  await keys.list();
  await keys.remove(ref);

  const given = await givenBinding(cluster.admin, shop, 'a');
  const source = openClusterSource({ cluster: own, events });
  source.follow({ changed: () => undefined, namespaceChanged: () => undefined });
  await source.synced(never);
  const { namespace } = given.metadata;
  const binding = source.get({ kind: 'ExternalBinding', namespace, name: 'a' }) ?? given;
  await source.readSecret(shop, 'nobody-made-it', never);
  await source.setFinalizer(binding, true, never);
  // With the version before: it is looked up.
  await source.writeStatus(binding, { observedGeneration: 1 }, never);

  const made = clusterOutputs(own);
  for (const output of outputs) {
    await made.createOnce(binding, output, never);
    const changed = { ...output, data: { other: 'value' } };
    expect(await made.apply(binding, changed, never)).toBe('corrected');
    await made.read(binding, output, never);
    // A ConfigMap goes with its Directory.
    if (output.kind === 'Secret') await made.remove(binding, output, never);
  }

  const recorder = new EventRecorder({ cluster: own, events, instance: 'pod-1', isGoing: () => false });
  recorder.record(binding, waiting);
  const eventsPath = `/apis/events.k8s.io/v1/namespaces/${shop}/events`;
  await eventually('the event is there', async () => {
    const { items } = await cluster.admin.request<{ items: readonly unknown[] }>({ method: 'GET', path: eventsPath });
    return items.length === 1;
  });
  recorder.record(binding, waiting);
  await recorder[Symbol.asyncDispose]();

  const leading = new AbortController();
  const leadership = leaseLeadership({ cluster: own, events, namespace: release, name: 'acmery', instance: 'pod-1' });
  await leadership.lead(async () => leading.abort(), leading.signal);

  await cluster.serviceAccount(shop, 'caller');
  const token = await cluster.token(shop, 'caller', ['acmery.io']);
  expect(await clusterCallerReview({ cluster: own, events }).review(token, never)).toMatchObject({ outcome: 'known' });
  // The log has a watch once it has ended.
  await source[Symbol.asyncDispose]();

  const asked = () => cluster.requestsOf(userNameOf(identity));
  let missing: readonly string[] = granted;
  const areAllSeen = async (): Promise<boolean> => {
    const seen = new Set((await asked()).map(({ verb, resource }) => `${verb} ${resource}`));
    missing = granted.filter((right) => !seen.has(right));
    return missing.length === 0;
  };
  await eventually('all is in the log', areAllSeen, 5_000).catch(() => undefined);
  expect(missing).toEqual([]);
  expect((await asked()).filter(({ status }) => status === 403)).toEqual([]);
});
