// The peer: cert-manager brings CA Issuers to Ready on the same plane.
import { startCertManager } from '../../support/plane/cert-manager.ts';
import { type Figure, spread } from '../figure.ts';
import { createEach, createMany } from './creation.ts';
import { milliseconds, numbered } from './many.ts';
import { makeNamespace, type World } from './world.ts';

const ISSUERS = 1_000;
const SINGLE = 100;

export async function benchIssuers(
  { cluster, plane }: World,
  program: string,
  rounds: number,
): Promise<readonly Figure[]> {
  await using _ = await startCertManager(program, plane.address);
  const many: number[] = [];
  let each: readonly number[] = [];
  for (let round = 0; round < rounds; round++) {
    const namespace = `issuers-${round}`;
    await makeNamespace(cluster, namespace);
    await givenCa(cluster.kubectl, namespace);
    const path = `/apis/cert-manager.io/v1/namespaces/${namespace}/issuers`;
    each = [...each, ...(await createEach(cluster.admin, path, numbered('one', SINGLE), issuer))];
    many.push((await createMany(cluster.admin, path, numbered('many', ISSUERS), issuer)).readySeconds);
  }
  return [
    {
      what: '1,000 CA Issuers of cert-manager to Ready, 16 writers',
      measured: spread(many, 's'),
      goal: 'peer of the 1,000 bindings',
    },
    { what: 'one CA Issuer of cert-manager to Ready', measured: milliseconds(each), goal: 'peer of one binding' },
  ];
}

const issuer = (name: string) => ({
  apiVersion: 'cert-manager.io/v1',
  kind: 'Issuer',
  metadata: { name },
  spec: { ca: { secretName: 'root' } },
});

const ca = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: { name: self }
spec: { selfSigned: {} }
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: { name: root }
spec:
  isCA: true
  commonName: root
  secretName: root
  privateKey: { algorithm: ECDSA }
  issuerRef: { name: self }
`;

async function givenCa(kubectl: World['cluster']['kubectl'], namespace: string): Promise<void> {
  await kubectl(['apply', '-n', namespace, '-f', '-'], { input: ca });
  await kubectl(['wait', '-n', namespace, '--for=condition=Ready', 'certificate/root', '--timeout=50s']);
}
