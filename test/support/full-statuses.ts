// A status of each kind with every field.
import type { AcmeKeyStatus } from '../../src/resources/acme-key-resource.ts';
import type { DirectoryStatus } from '../../src/resources/directory-resource.ts';
import type { ExternalBindingStatus } from '../../src/resources/external-binding-resource.ts';
import type { SigningCertStatus } from '../../src/resources/signing-cert-resource.ts';

const TIME = '2026-03-01T12:00:00Z';
const condition = (type: string) => ({
  type,
  status: 'True' as const,
  reason: 'Succeeded',
  message: '',
  observedGeneration: 1,
  lastTransitionTime: TIME,
});
const common = {
  observedGeneration: 1,
  conditions: [condition('Ready'), condition('Bound')],
  lastHandledReconcileAt: 'now',
};

const signingCert: Required<SigningCertStatus> = {
  ...common,
  id: 'scrt_01k5w3v8q2e7rbs9x4m6tfhz0j',
  keyType: 'ec_256',
  signingCertId: 'scrt_01k5w3v8q2e7rbs9x4m6tfhz0k',
  subject: 'CN=Corp',
  serial: '01',
  fingerprint: 'ab'.repeat(32),
  notBefore: TIME,
  notAfter: TIME,
  publicCert: 'PEM',
  csr: 'PEM',
  secretName: 'scrt-01k5w3v8q2e7rbs9x4m6tfhz0j',
  revokedAt: TIME,
};
const directory: Required<DirectoryStatus> = {
  ...common,
  id: 'dir_01k5w3v8q2e7rbs9x4m6tfhz0j',
  slug: 'web',
  directoryUrl: 'https://localhost:8443/acme/web/directory',
  signingCertId: 'scrt_01k5w3v8q2e7rbs9x4m6tfhz0j',
  caaTag: 'web.acmery.internal',
  configMapName: 'web-acme',
};
const externalBinding: Required<ExternalBindingStatus> = {
  ...common,
  id: 'eab_01k5w3v8q2e7rbs9x4m6tfhz0j',
  keyId: 'shop.shop',
  directoryUrl: 'https://localhost:8443/acme/web/directory',
  orderValidations: 'challenge',
  secretName: 'shop-eab',
  secretHash: 'ab'.repeat(32),
  acmeKeyId: 'acmk_01k5w3v8q2e7rbs9x4m6tfhz0j',
  accountUrl: 'https://localhost:8443/acme/web/account/acmk_01k5w3v8q2e7rbs9x4m6tfhz0j',
  usedAt: TIME,
  renewed: 'again',
};
const acmeKey: Required<AcmeKeyStatus> = {
  ...common,
  id: 'acmk_01k5w3v8q2e7rbs9x4m6tfhz0j',
  state: 'valid',
  thumbprint: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  publicKey: 'PEM',
  contacts: ['mailto:edge@corp.example', 'mailto:edge@corp.example'],
  orderValidations: 'challenge',
  directoryUrl: 'https://localhost:8443/acme/web/directory',
  accountUrl: 'https://localhost:8443/acme/web/account/acmk_01k5w3v8q2e7rbs9x4m6tfhz0j',
  secretName: 'edge-account',
};

export const fullStatuses = {
  SigningCert: signingCert,
  Directory: directory,
  ExternalBinding: externalBinding,
  AcmeKey: acmeKey,
} as const;
