// cert-manager's own part of the chain works here: a CA Issuer and its Certificate.
import { expect, test } from 'vitest';
import { testCluster } from '../support/cluster.ts';

const issuers = `
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
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: { name: ca }
spec: { ca: { secretName: root } }
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: { name: shop }
spec:
  dnsNames: [shop.corp.example]
  secretName: shop
  privateKey: { algorithm: ECDSA }
  issuerRef: { name: ca }
`;

test('a Certificate of a CA Issuer becomes ready', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const { kubectl } = cluster;
  await kubectl(['apply', '-n', namespace, '-f', '-'], { input: issuers });
  await kubectl(['wait', '-n', namespace, '--for=condition=Ready', 'certificate/shop', '--timeout=50s']);
  const { stdout } = await kubectl(['get', 'secret', 'shop', '-n', namespace, '-o', 'jsonpath={.type}']);
  expect(stdout).toBe('kubernetes.io/tls');
});
