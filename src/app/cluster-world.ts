// A cluster: objects from its API server, keys in its Secrets, callers by its tokens.
import { hostname } from 'node:os';
import { processEnvironment, SettingsError } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { publicHostName } from '../core/urls.ts';
import { type Cluster, openCluster } from '../kubernetes/client.ts';
import { mayReviewTokens } from '../kubernetes/cluster-access.ts';
import { EventRecorder } from '../kubernetes/event-recorder.ts';
import { heldBy } from '../kubernetes/held-by.ts';
import { type IssuerInjection, issuerInjection, showsToIssuers } from '../kubernetes/issuer-injection.ts';
import { leaseLeadership } from '../kubernetes/lease.ts';
import { clusterOutputs } from '../kubernetes/outputs.ts';
import { secretKeyStore } from '../kubernetes/secret-key-store.ts';
import { openClusterSource } from '../kubernetes/source.ts';
import { clusterCallerReview } from '../kubernetes/token-review.ts';
import { clusterTrustMirror } from '../kubernetes/trust-mirror.ts';
import type { Change, ResourceSource } from '../operator/ports.ts';
import type { Events } from '../telemetry/events.ts';
import { caNamespacesOf, releaseNamespace } from './namespaces.ts';
import type { World, WorldOptions } from './world.ts';

const LEASE = 'acmery';
const REVIEW_MS = 10_000;

/** Undefined where there is no cluster. Throws SettingsError for URLs that nobody in it could reach. */
export async function openClusterWorld({ settings, events, scope }: WorldOptions): Promise<World | undefined> {
  const cluster = await openCluster({ kubeconfig: settings.kubeconfig, environment: processEnvironment(), events });
  if (cluster === undefined) return undefined;
  scope.use(cluster);
  requireReachable(settings);
  const namespace = releaseNamespace(settings, cluster.namespace);
  const instance = settings.podName ?? hostname();
  const { watchNamespaces: namespaces, resourceClass, trustNamespace } = settings;
  const watchSecrets = settings.secretsWatch === 'on';
  const leadership = leaseLeadership({ cluster, events, namespace, name: LEASE, instance });
  const held = heldBy(leadership, cluster);
  const source = scope.use(openClusterSource({ cluster: held, events, namespaces, resourceClass, watchSecrets }));
  let injection: IssuerInjection | undefined;
  if (namespaces !== undefined && settings.roles.includes('server')) void tellOfReviews(cluster, events);
  const isGoing = (name: string): boolean => source.namespace(name)?.isTerminating === true;
  const recorder = scope.use(new EventRecorder({ cluster, events, instance, isGoing }));
  return {
    openKeys: async () => secretKeyStore({ cluster, namespace }),
    review: clusterCallerReview({ cluster, events }),
    declared: {
      source: toldToo(source, (change) => {
        if (showsToIssuers(change)) injection?.recheck();
      }),
      outputs: clusterOutputs(held),
      ...(trustNamespace !== undefined && {
        trustMirror: clusterTrustMirror({ cluster: held, namespace: trustNamespace }),
      }),
      events: recorder,
      leadership: () => leadership,
      namespace,
      caNamespaces: caNamespacesOf(settings, namespace),
      ...(settings.certManagerInjection === 'on' && {
        beside: (anchors, leading) => {
          injection ??= issuerInjection({ cluster: held, events, source, anchors, namespaces });
          return injection.run(leading);
        },
      }),
    },
    isCluster: true,
  };
}

/** Roles in namespaces give no right to review tokens. Where nobody can say now, callers will be told. */
async function tellOfReviews(cluster: Cluster, events: Events): Promise<void> {
  const mayReview = await mayReviewTokens(cluster, AbortSignal.timeout(REVIEW_MS)).catch(() => true);
  if (!mayReview) events.apiTokensOnly();
}

/** Changes are told to one more, after the operator. */
const toldToo = (source: ResourceSource, changed: (change: Change) => void): ResourceSource => ({
  ...source,
  follow: (handlers) =>
    source.follow({
      ...handlers,
      changed(change) {
        handlers.changed(change);
        changed(change);
      },
    }),
});

const LOOPBACK = /^(localhost|.*\.localhost|127\..*|\[?::1\]?)$/;

/** Both stand in clients and certificates for years. */
function requireReachable({ publicUrl, httpUrl }: Settings): void {
  const lines = [
    ['ACMERY_PUBLIC_URL', publicUrl, publicHostName(publicUrl)],
    ['ACMERY_HTTP_URL', httpUrl, new URL(httpUrl).hostname],
  ]
    .filter(([, , host = '']) => LOOPBACK.test(host))
    .map(
      ([name, url]) =>
        `${name}: expected a URL that clients in the cluster reach, because a cluster is configured, got ${url}. To leave the cluster alone, unset KUBECONFIG or give --manifests.`,
    );
  if (lines.length > 0) throw new SettingsError(lines);
}
