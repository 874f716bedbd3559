// What doctor says of a cluster: an HTTPS server of the test stands for API servers that are not as they should be.
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { checkClusterAccess } from '../../src/kubernetes/cluster-access.ts';
import { apiServer, json, status } from '../support/api-server.ts';

const reviews: Record<string, (body: Review) => unknown> = {
  '/version': () => ({ major: '1', minor: '36+', gitVersion: 'v1.36.3' }),
  '/apis/authentication.k8s.io/v1/selfsubjectreviews': () => ({
    status: { userInfo: { username: 'system:serviceaccount:acmery-system:acmery' } },
  }),
  '/apis/acmery.io/v1': () => ({
    resources: ['signingcerts', 'directories', 'externalbindings', 'acmekeys'].map((name) => ({ name })),
  }),
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': () => ({ status: { allowed: true } }),
};
const needs = {
  namespace: 'acmery-system',
  watchNamespaces: undefined,
  isInjecting: false,
  followsSecrets: false,
  trustNamespace: undefined,
};
type Review = { spec: { resourceAttributes: { verb: string; resource: string; namespace?: string; name?: string } } };

const checkAgainst = async (
  overrides: Record<string, (body: Review) => unknown>,
  asked: Partial<typeof needs> | { watchNamespaces: string[] } = {},
) => {
  await using api = await apiServer(async (request, response) => {
    const body = await text(request);
    const reply = { ...reviews, ...overrides }[request.url ?? ''];
    json(response, 200, reply?.(JSON.parse(body || '{}')));
  });
  return await checkClusterAccess(api.cluster, { ...needs, ...asked }, new AbortController().signal);
};

test('doctor: a cluster that is well gives its version, our name and our permissions as facts', async () => {
  expect(await checkAgainst({})).toEqual([
    { subject: 'API server', fact: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+ runs Kubernetes v1\.36\.3$/) },
    { subject: 'identity', fact: 'we are system:serviceaccount:acmery-system:acmery' },
    { subject: 'custom resources', fact: 'SigningCert, Directory, ExternalBinding, AcmeKey are installed' },
    { subject: 'permissions', fact: 'all 40 permissions that are needed' },
  ]);
});

test('doctor: missing permissions are named, each where it is needed', async () => {
  const findings = await checkAgainst({
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': ({ spec: { resourceAttributes } }) => {
      const { resource, verb, namespace, name } = resourceAttributes;
      const isMissing =
        resource === 'tokenreviews' || (resource === 'secrets' && verb === 'create') || (name && verb === 'update');
      return { status: { allowed: !isMissing || (namespace === undefined && resource === 'leases') } };
    },
  });
  expect(findings.at(-1)).toMatchObject({
    subject: 'permissions',
    problem:
      'We may not: create secrets in acmery-system, update leases.coordination.k8s.io in acmery-system, create secrets, ' +
      'create tokenreviews.authentication.k8s.io, create subjectaccessreviews.authorization.k8s.io.',
  });
});

test('doctor: by Roles alone tokens cannot be reviewed, which is said and is no problem', async () => {
  const asked: Review['spec']['resourceAttributes'][] = [];
  const findings = await checkAgainst(
    {
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': ({ spec: { resourceAttributes } }) => {
        asked.push(resourceAttributes);
        return { status: { allowed: resourceAttributes.namespace !== undefined } };
      },
    },
    { watchNamespaces: ['one', 'two'] },
  );
  expect(findings.at(-1)).toEqual({
    subject: 'permissions',
    fact: 'all 65 permissions that are needed; /v1 takes API tokens only, since tokens cannot be reviewed',
  });
  expect(new Set(asked.map(({ namespace }) => namespace))).toEqual(new Set(['acmery-system', 'one', 'two', undefined]));
});

test('doctor: kinds that are not installed are named, with what installs them', async () => {
  const findings = await checkAgainst({ '/apis/acmery.io/v1': () => ({ resources: [{ name: 'directories' }] }) });
  expect(findings.at(-1)).toEqual({
    subject: 'custom resources',
    problem: 'signingcerts, externalbindings, acmekeys of acmery.io/v1 are not installed.',
    remedy: expect.stringContaining('acmery manifests crds'),
  });
});

test('doctor: a Kubernetes that is too old is a problem', async () => {
  expect(await checkAgainst({ '/version': () => ({ major: '1', minor: '29', gitVersion: 'v1.29.1' }) })).toEqual([
    {
      subject: 'API server',
      problem: expect.stringContaining('v1.29.1; 1.30 or newer is needed'),
      remedy: 'Upgrade the cluster.',
    },
  ]);
});

test('doctor: refused credentials and a server that is away are problems, each with a remedy of its own', async () => {
  const api = await apiServer((_request, response) => json(response, 401, status('Unauthorized', 'Unauthorized')));
  await using cluster = api.cluster;
  const refused = await checkClusterAccess(cluster, needs, new AbortController().signal);
  await api.stop();
  const away = await checkClusterAccess(cluster, needs, new AbortController().signal);
  expect([refused, away]).toMatchObject([
    [{ problem: 'GET /version: 401 Unauthorized: Unauthorized', remedy: expect.stringContaining('Renew the token') }],
    [{ problem: expect.stringContaining('cannot be reached'), remedy: expect.stringContaining('Check the address') }],
  ]);
});
