// cert-manager Issuers that ask for it are told whom to trust, and which EAB token is theirs: nothing is copied by hand.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Change, ResourceSource } from '../operator/ports.ts';
import { annotations } from '../resources/annotations.ts';
import type { CommonStatus } from '../resources/resource.ts';
import type { Events } from '../telemetry/events.ts';
import { APPLY, issuerPath } from './api-paths.ts';
import { BackOff } from './back-off.ts';
import { Cache } from './cache.ts';
import type { ClusterRequests } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import { type KubernetesObject, slim } from './kubernetes-object.ts';
import { reflect } from './reflector.ts';

export type InjectionOptions = {
  readonly cluster: ClusterRequests;
  readonly events: Events;
  readonly source: Pick<ResourceSource, 'get'>;
  /** Trust anchors of our own HTTPS in PEM; undefined where the clients have them already. */
  readonly anchors: () => string | undefined;
  /** Undefined: Issuers everywhere, and ClusterIssuers. */
  readonly namespaces?: readonly string[] | undefined;
  /** Of the watches. */
  readonly newBackOff?: () => BackOff;
};

export type IssuerInjection = {
  /** Until the signal aborts; never rejects. cert-manager may come later, or never. */
  run(signal: AbortSignal): Promise<void>;
  /** What is injected may have changed: anchors, a Directory, an ExternalBinding. */
  recheck(): void;
};

/** Ours alone: what users write stays theirs, so that nothing is ever forced. */
const MANAGER = 'acmery-issuer-injection';
const RECHECK_MS = 60_000;

type Issuer = KubernetesObject & {
  readonly spec?: { readonly acme?: Acme };
  /** Something of it is ours, as the API server keeps the books. */
  readonly isInjected: boolean;
};
type Acme = {
  readonly server?: string;
  readonly caBundle?: string;
  readonly externalAccountBinding?: ExternalAccountBinding;
};
type ExternalAccountBinding = {
  readonly keyID: string;
  readonly keySecretRef: { readonly name: string; readonly key: string };
};
/** What the status of a Directory or an ExternalBinding says. */
type Shown = { readonly directoryUrl?: string; readonly keyId?: string; readonly secretName?: string };

export function issuerInjection(options: InjectionOptions): IssuerInjection {
  const { cluster, events, namespaces, newBackOff = () => new BackOff() } = options;
  let news = Promise.withResolvers<void>();
  const recheck = (): void => news.resolve();
  const newCache = (): Cache => new Cache({ keep: (issuer) => issuer, changed: recheck });
  const collections = [
    ...(namespaces ?? [undefined]).map((namespace) => ({ path: issuerPath('Issuer', namespace), cache: newCache() })),
    ...(namespaces === undefined ? [{ path: issuerPath('ClusterIssuer'), cache: newCache() }] : []),
  ];
  /** What the API server refused, as it was then: to be tried again when something is different. */
  const refused = new Map<string, unknown>();

  async function injectAll(signal: AbortSignal): Promise<void> {
    for (const { cache } of collections)
      for (const issuer of cache.list() as readonly Issuer[]) {
        const wanted = wantedOf(options, issuer);
        const attempt = [issuer.metadata.resourceVersion, wanted];
        if (wanted === undefined || isDeepStrictEqual(refused.get(issuer.metadata.uid), attempt)) continue;
        refused.delete(issuer.metadata.uid);
        try {
          await apply(cluster, issuer, wanted, signal);
          if (wanted === 'nothing') events.issuerReleased({ issuer: titleOf(issuer) });
          else events.issuerInjected({ issuer: titleOf(issuer) });
        } catch (error) {
          if (!(error instanceof ClusterError) || !finalCodes.has(error.code)) throw error;
          refused.set(issuer.metadata.uid, attempt);
          events.issuerInjectionFailed({ issuer: titleOf(issuer), reason: error.message });
        }
      }
  }

  return {
    recheck,
    async run(signal) {
      const reflections = collections.map((collection) =>
        reflect({ cluster, events, ...collection, keep: asIssuer, isOptional: true, backOff: newBackOff() }, signal),
      );
      const backOff = newBackOff();
      while (!signal.aborted) {
        news = Promise.withResolvers<void>();
        let waitMs = RECHECK_MS;
        try {
          await injectAll(signal);
        } catch (error) {
          if (signal.aborted) break;
          if (!(error instanceof ClusterError)) events.internalError({ where: 'issuer injection', error });
          else events.issuerInjectionFailed({ issuer: 'all', reason: error.message });
          waitMs = backOff.failed(performance.now());
          news = Promise.withResolvers<void>();
        }
        const awake = new AbortController();
        const waiting = sleep(waitMs, undefined, { signal: AbortSignal.any([signal, awake.signal]) });
        await Promise.race([news.promise, waiting.catch(() => undefined)]);
        awake.abort();
      }
      await Promise.all(reflections);
    },
  };
}

/** Whether an Issuer may have to be told: of most changes of most objects it hears nothing. */
export function showsToIssuers({ key, before, after }: Change): boolean {
  if (key.kind !== 'Directory' && key.kind !== 'ExternalBinding') return false;
  const shown = ({ status }: { status?: CommonStatus & Shown }) =>
    [status?.directoryUrl, status?.keyId, status?.secretName].join(' ');
  return shown(before ?? {}) !== shown(after ?? {});
}

/** Another field manager holds the field, or the Issuer is not as it must be. */
const finalCodes: ReadonlySet<number> = new Set([400, 409, 422]);

/** Undefined where nothing is to be written; `nothing` where what is ours is to be taken back. */
function wantedOf({ source, anchors }: InjectionOptions, issuer: Issuer): Acme | 'nothing' | undefined {
  const acme = issuer.spec?.acme;
  const from = issuer.metadata.annotations?.[annotations.injectFrom];
  if (from === undefined) return issuer.isInjected ? 'nothing' : undefined;
  const [namespace = '', name = '', ...rest] = from.split('/');
  if (acme?.server === undefined || namespace === '' || name === '' || rest.length > 0) return undefined;
  const shownBy = (kind: 'ExternalBinding' | 'Directory'): Shown | undefined => {
    const shown = source.get({ kind, namespace, name })?.status as (CommonStatus & Shown) | undefined;
    // Anchors are for our own server, and for no other.
    return shown?.directoryUrl === acme.server ? shown : undefined;
  };
  const binding = shownBy('ExternalBinding');
  const pem = binding === undefined && shownBy('Directory') === undefined ? undefined : anchors();
  // An Issuer reads Secrets of its own namespace, a ClusterIssuer those of cert-manager's.
  const isInReach = issuer.kind === 'ClusterIssuer' || issuer.metadata.namespace === namespace;
  const eab = isInReach ? accountBindingOf(binding) : undefined;
  const caBundle = pem === undefined ? undefined : Buffer.from(pem).toString('base64');
  const { externalAccountBinding: present } = acme;
  // One that is there is left, and named again where it is ours: what is not named would go.
  const isOurs = eab !== undefined && (present === undefined || isDeepStrictEqual(present, eab));
  if ((caBundle === undefined || caBundle === acme.caBundle) && (!isOurs || present !== undefined)) return undefined;
  return { ...(caBundle && { caBundle }), ...(isOurs && { externalAccountBinding: eab }) };
}

const accountBindingOf = (binding: Shown | undefined): ExternalAccountBinding | undefined =>
  binding?.keyId === undefined || binding.secretName === undefined
    ? undefined
    : { keyID: binding.keyId, keySecretRef: { name: binding.secretName, key: 'secret' } };

async function apply(
  cluster: ClusterRequests,
  issuer: Issuer,
  acme: Acme | 'nothing',
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, metadata } = issuer;
  const { namespace, name, uid } = metadata;
  await cluster.request({
    method: 'PATCH',
    path: `${issuerPath(kindOf(issuer), namespace, name)}?fieldManager=${MANAGER}`,
    contentType: APPLY,
    // With the uid nothing is made where the Issuer is gone. What is no longer named goes, where nobody else holds it.
    body: {
      apiVersion,
      kind,
      metadata: { name, ...(namespace && { namespace }), uid },
      ...(acme !== 'nothing' && { spec: { acme } }),
    },
    signal,
  });
}

const kindOf = ({ kind }: KubernetesObject) => (kind === 'ClusterIssuer' ? 'ClusterIssuer' : 'Issuer');

const titleOf = (issuer: Issuer): string =>
  [
    kindOf(issuer),
    ' ',
    ...(issuer.metadata.namespace ? [issuer.metadata.namespace, '/'] : []),
    issuer.metadata.name,
  ].join('');

/** All that is asked of one. Items of a list of custom resources carry their kind, as those of a watch do. */
export function asIssuer(object: KubernetesObject): Issuer {
  const { apiVersion, kind, metadata, spec } = object;
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    metadata: slim(object).metadata,
    spec: { acme: (spec as Issuer['spec'])?.acme },
    isInjected: (metadata.managedFields ?? []).some(({ manager }) => manager === MANAGER),
  } as Issuer;
}
