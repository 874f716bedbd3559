// What the operator is for: everything from the root to a cert-manager Certificate, applied at once and in any order.
import { beforeEach, expect, test } from 'vitest';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import { aBinding, aDirectory, anIssuing, aRoot } from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { installOperator, refusalsOf, troublesOf } from '../support/installed-operator.ts';
import { openssl } from '../support/openssl.ts';
import { ownAddress } from '../support/own-address.ts';
import type { TestCluster } from '../support/plane/test-cluster.ts';
import { type Seeded, seeded } from '../support/seeded.ts';

const SHUFFLES = 20;
const CERTIFICATE_DEADLINE_MS = 60_000;

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

test('in any order, with nothing done by hand, the Certificate becomes ready', { timeout: 400_000 }, async ({
  skip,
}) => {
  const acmeAddress = ownAddress();
  if (acmeAddress === undefined) return skip('this machine has no address but loopback, which is no public URL');
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster, { certManager: { injection: true } });
  const env = { ACMERY_CERT_MANAGER_INJECTION: 'on', ACMERY_CA_NAMESPACES: '*' };
  await using acmery = await operator.serve({ databaseUrl: database.url, acmeAddress, env });
  const publicUrl = acmery.acmeUrl.replace('localhost', acmeAddress);
  const seed = Number(process.env.ACMERY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));
  console.log(`shuffles of seed ${seed}; ACMERY_TEST_SEED=${seed} makes the same`);
  const random = seeded(seed);
  const times: number[] = [];
  for (let batch = 0; batch < SHUFFLES; batch++) {
    const namespace = await cluster.namespace();
    const place = { namespace, labels: operator.labels };
    const server = `${publicUrl}/acme/${namespace}-web/directory`;
    const objects = shuffled(random, [
      aRoot(place),
      anIssuing(place),
      aDirectory(place),
      aBinding(place, 'shop', { keyId: namespace }),
      anIssuer(namespace, server),
      aCertificate(namespace),
    ]);
    const begun = performance.now();
    for (const object of objects) {
      await admin.request({ method: 'POST', path: collectionOf(object), body: object });
    }
    await untilIssued(cluster, namespace).catch((error: Error) => {
      const order = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(', ');
      throw new Error(`${error.message} Applied were ${order}.`);
    });
    times.push(performance.now() - begun);
    await expectChain(cluster, namespace);
  }
  const sorted = times.toSorted((one, other) => one - other).map((time) => Math.round(time));
  console.log(`from the first object to the ready Certificate: median ${sorted[SHUFFLES / 2]} ms, all ${sorted}`);
  expect(troublesOf(acmery)).toEqual([]);
  expect(refusalsOf(await operator.requests())).toEqual([]);
});

type Applied = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
};

const plurals: Readonly<Record<string, string>> = {
  SigningCert: 'signingcerts',
  Directory: 'directories',
  ExternalBinding: 'externalbindings',
  Issuer: 'issuers',
  Certificate: 'certificates',
};

const collectionOf = ({ apiVersion, kind, metadata: { namespace } }: Applied): string =>
  `/apis/${apiVersion}/namespaces/${namespace}/${plurals[kind]}`;

const anIssuer = (namespace: string, server: string) => ({
  apiVersion: 'cert-manager.io/v1',
  kind: 'Issuer',
  metadata: { name: 'acmery', namespace, annotations: { 'acmery.io/inject-from': `${namespace}/web` } },
  spec: {
    acme: {
      server,
      email: 'shop@corp.example',
      privateKeySecretRef: { name: 'account' },
      externalAccountBinding: { keyID: namespace, keySecretRef: { name: 'shop-eab', key: 'secret' } },
    },
  },
});

const aCertificate = (namespace: string) => ({
  apiVersion: 'cert-manager.io/v1',
  kind: 'Certificate',
  metadata: { name: 'shop', namespace },
  spec: {
    secretName: 'shop-tls',
    dnsNames: ['shop.corp.example'],
    duration: '480h',
    privateKey: { algorithm: 'ECDSA' },
    issuerRef: { name: 'acmery' },
  },
});

async function untilIssued({ admin }: TestCluster, namespace: string): Promise<void> {
  const path = `/apis/cert-manager.io/v1/namespaces/${namespace}/certificates/shop`;
  type Certificate = { status?: { conditions?: readonly { type: string; status: string }[] } };
  const isReady = async (): Promise<boolean> => {
    const { status } = await admin.request<Certificate>({ method: 'GET', path });
    return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  };
  await eventually('the Certificate is ready', isReady, CERTIFICATE_DEADLINE_MS);
}

/** To the roots that the ConfigMap of the Directory names. */
async function expectChain({ admin }: TestCluster, namespace: string): Promise<void> {
  const read = async (what: string): Promise<Record<string, string>> => {
    const path = `/api/v1/namespaces/${namespace}/${what}`;
    return (await admin.request<{ data: Record<string, string> }>({ method: 'GET', path })).data;
  };
  const { 'tls.crt': chain = '' } = await read('secrets/shop-tls');
  const { 'roots.pem': roots = '' } = await read('configmaps/web-acme');
  const files = { 'chain.pem': Buffer.from(chain, 'base64'), 'roots.pem': roots };
  const args = ['verify', '-x509_strict', '-no-CApath', '-CAfile', 'roots.pem'];
  const said = await openssl([...args, '-untrusted', 'chain.pem', 'chain.pem'], files);
  expect(said).toMatchObject({ ok: true });
}

function shuffled<T>(random: Seeded, items: readonly T[]): readonly T[] {
  const left = [...items];
  return items.map(() => {
    const [item] = left.splice(random.below(left.length), 1);
    if (item === undefined) throw new Error('nothing is left');
    return item;
  });
}
