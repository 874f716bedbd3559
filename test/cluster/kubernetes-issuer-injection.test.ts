// Issuers of cert-manager, as far as injection is concerned with them: a kind with these fields stands for cert-manager's own.
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { BackOff } from '../../src/kubernetes/back-off.ts';
import { issuerInjection } from '../../src/kubernetes/issuer-injection.ts';
import type { ResourceKey } from '../../src/resources/resource.ts';
import { ownCluster } from '../support/cluster.ts';
import { read, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';

const SERVER = 'https://ca.example/acme/web/directory';
const PATH = '/apis/cert-manager.io/v1';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Issuer = { readonly metadata: { readonly resourceVersion: string }; readonly spec: { readonly acme: object } };

test('an Issuer that asks for it is told, and nothing but what is ours is ever written', async () => {
  await using own = await ownCluster();
  const { admin } = own.cluster;
  const namespace = await own.cluster.namespace();
  const statuses: Record<string, object> = {
    [`Directory/${namespace}/web`]: { directoryUrl: SERVER },
    [`ExternalBinding/${namespace}/shop`]: { directoryUrl: SERVER, keyId: 'shop.shop', secretName: 'shop-eab' },
    'ExternalBinding/elsewhere/shop': { directoryUrl: SERVER, keyId: 'x', secretName: 'x-eab' },
  };
  let anchors = 'anchor 1';
  const { events, records } = telemetry();
  const injection = issuerInjection({
    cluster: admin,
    events,
    anchors: () => anchors,
    newBackOff: () => new BackOff({ shortestMs: 20 }),
    source: { get: (key) => resourceWith(key, statuses[`${key.kind}/${key.namespace}/${key.name}`]) },
  });
  const stop = new AbortController();
  const ended = injection.run(stop.signal);
  const failures = () => records().filter(({ message }) => String(message).includes('could not be injected'));

  // It runs before the kinds are there.
  await eventually('both kinds were looked for', () => records().filter(({ attempt }) => attempt === 2).length >= 2);
  for (const crd of crds) await own.cluster.applyCrds(JSON.stringify(crd));
  const issuers = `${PATH}/namespaces/${namespace}/issuers`;
  const make = (name: string, from: string, acme: object = { server: SERVER, email: 'x@corp.example' }) =>
    admin.request({ method: 'POST', path: issuers, body: issuer('Issuer', name, from, acme) });
  const acmeOf = async (path: string) => (await read<Issuer>(admin, path)).spec.acme;
  const email = 'x@corp.example';
  const eab = { keyID: 'shop.shop', keySecretRef: { name: 'shop-eab', key: 'secret' } };
  await make('by-directory', `${namespace}/web`);
  await make('by-binding', `${namespace}/shop`);
  await make('with-eab', `${namespace}/shop`, { server: SERVER, externalAccountBinding: { ...eab, keyID: 'theirs' } });
  await make('out-of-reach', 'elsewhere/shop');
  await make('other-server', `${namespace}/web`, { server: 'https://other.example/directory' });
  await make('not-asking', '');
  await make('with-bundle', `${namespace}/web`, { server: SERVER, caBundle: base64('theirs') });
  const body = issuer('ClusterIssuer', 'cluster', `${namespace}/shop`, { server: SERVER });
  await admin.request({ method: 'POST', path: `${PATH}/clusterissuers`, body });

  const caBundle = base64('anchor 1');
  const shows = (path: string, acme: object) =>
    eventually(`${path} shows ${JSON.stringify(acme)}`, async () => isDeepStrictEqual(await acmeOf(path), acme));
  await shows(`${issuers}/by-directory`, { server: SERVER, email, caBundle });
  await shows(`${issuers}/by-binding`, { server: SERVER, email, caBundle, externalAccountBinding: eab });
  await shows(`${issuers}/with-eab`, { server: SERVER, caBundle, externalAccountBinding: { ...eab, keyID: 'theirs' } });
  await shows(`${issuers}/out-of-reach`, { server: SERVER, email, caBundle });
  await shows(`${PATH}/clusterissuers/cluster`, { server: SERVER, caBundle, externalAccountBinding: eab });
  await eventually('the bundle of another manager is told', () => failures().length === 1);

  anchors = 'anchor 2';
  injection.recheck();
  await shows(`${issuers}/by-binding`, {
    server: SERVER,
    email,
    caBundle: base64('anchor 2'),
    externalAccountBinding: eab,
  });
  expect(await acmeOf(`${issuers}/other-server`)).toEqual({ server: 'https://other.example/directory' });
  expect(await acmeOf(`${issuers}/not-asking`)).toEqual({ server: SERVER, email });
  expect(await acmeOf(`${issuers}/with-bundle`)).toEqual({ server: SERVER, caBundle: base64('theirs') });

  const { metadata } = await read<Issuer>(admin, `${issuers}/by-directory`);
  injection.recheck();
  await make('last', `${namespace}/web`);
  await shows(`${issuers}/last`, { server: SERVER, email, caBundle: base64('anchor 2') });
  expect((await read<Issuer>(admin, `${issuers}/by-directory`)).metadata.resourceVersion).toBe(
    metadata.resourceVersion,
  );
  expect(failures().length).toBe(2);

  // Who asks no longer gets back what was ours, also where nobody listened when it was said.
  const stopAsking = (path: string) =>
    admin.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations: { 'acmery.io/inject-from': null } } },
    });
  await stopAsking(`${issuers}/with-eab`);
  await shows(`${issuers}/with-eab`, { server: SERVER, externalAccountBinding: { ...eab, keyID: 'theirs' } });
  stop.abort();
  await ended;
  await stopAsking(`${issuers}/by-binding`);
  const again = new AbortController();
  const next = injection.run(again.signal);
  await shows(`${issuers}/by-binding`, { server: SERVER, email });
  expect(await acmeOf(`${issuers}/with-bundle`)).toEqual({ server: SERVER, caBundle: base64('theirs') });
  again.abort();
  await next;
});

const issuer = (kind: string, name: string, from: string, acme: object) => ({
  apiVersion: 'cert-manager.io/v1',
  kind,
  metadata: { name, ...(from && { annotations: { 'acmery.io/inject-from': from } }) },
  spec: { acme },
});

const resourceWith = ({ kind, namespace, name }: ResourceKey, status: object | undefined) =>
  status && {
    apiVersion: 'acmery.io/v1' as const,
    kind,
    metadata: { namespace, name, uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' },
    spec: {},
    status: { observedGeneration: 1, ...status },
  };

const text = { type: 'string' };
const object = (properties: object) => ({ type: 'object', properties });
const schema = object({
  spec: object({
    acme: object({
      server: text,
      email: text,
      caBundle: { type: 'string', format: 'byte' },
      externalAccountBinding: object({ keyID: text, keySecretRef: object({ name: text, key: text }) }),
    }),
  }),
});
const crds = [
  { kind: 'Issuer', plural: 'issuers', scope: 'Namespaced' },
  { kind: 'ClusterIssuer', plural: 'clusterissuers', scope: 'Cluster' },
].map(({ kind, plural, scope }) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.cert-manager.io`, annotations: { 'api-approved.kubernetes.io': 'unapproved, test' } },
  spec: {
    group: 'cert-manager.io',
    scope,
    names: { kind, plural, singular: plural.slice(0, -1) },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
}));
