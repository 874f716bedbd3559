// One key as a Secret: `kubernetes.io/tls` for a CA cert, which cert-manager and others read as it is, else Opaque.
import type { KeyMaterial, KeyOrigin } from '../core/ports.ts';
import { API_GROUP } from '../resources/resource.ts';
import { type Certificate, parseCertificate } from '../x509/certificate.ts';
import { certificatePem, readCertificateChainPem } from '../x509/certificate-pem.ts';
import { readOnlyPem, toPem } from '../x509/pem.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import { MANAGED_BY_US, MANAGED_BY_US_SELECTOR } from './managed-by.ts';

export type KeySecret = KubernetesObject & { readonly data?: Readonly<Record<string, string>> };

/** What a key is for: a label, so that people find the one they look for. */
type KeyKind = 'signing-cert' | 'ocsp-signer' | 'serving-ca' | 'wrap';

const KIND = `${API_GROUP}/key-kind`;
const ID = `${API_GROUP}/key-id`;
/** The custom resource that it was made for: names may be longer than labels. */
const ORIGIN = { namespace: `${API_GROUP}/namespace`, name: `${API_GROUP}/name`, uid: `${API_GROUP}/uid` } as const;
const KEY = 'tls.key';
const CERTIFICATE = 'tls.crt';
const ANCHOR = 'ca.crt';
const SEALING_KEY = 'sealing.key';
const SEALING_KEY_BYTES = 32;

export const keySelectors = {
  signingCerts: `${MANAGED_BY_US_SELECTOR},${KIND}=signing-cert`,
  all: `${MANAGED_BY_US_SELECTOR},${KIND},${KIND}!=wrap`,
} as const;

// Never a user's words, and short enough for a label.
const REF = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function keySecretName(ref: string): string {
  if (!REF.test(ref)) throw new RangeError('A key reference is 1 to 63 lower-case letters, digits and inner hyphens.');
  return `acmery-${ref}`;
}

/** Of a name that `keySecretName` gave. */
export const refOf = ({ metadata }: KeySecret): string => metadata.name.slice('acmery-'.length);

export function keySecret(namespace: string, ref: string, material: KeyMaterial): object {
  const { pkcs8, certificate: der, chain = [], origin } = material;
  const certificate = der && parseCertificate(der);
  // As issuers of other programs take it: the chain without its root, and that beside it.
  const all = [...(certificate ? [certificate] : []), ...chain.map((above) => parseCertificate(above))];
  const [root] = all.filter(isRoot);
  const kind = kindOf(ref, certificate);
  const isTls = kind === 'signing-cert' && certificate !== undefined;
  return secret(namespace, ref, kind, {
    type: isTls ? 'kubernetes.io/tls' : 'Opaque',
    origin,
    values: {
      [KEY]: toPem('PRIVATE KEY', pkcs8),
      ...(certificate && { [CERTIFICATE]: pemOf(all.filter((one) => one === certificate || one !== root)) }),
      // The root of a chain whose upper end is not here is not known here.
      ...(isTls && root && { [ANCHOR]: certificatePem(root.der) }),
    },
  });
}

export const sealingSecret = (namespace: string, ref: string, key: Buffer): object =>
  secret(namespace, ref, 'wrap', { type: 'Opaque', values: { [SEALING_KEY]: key } });

/** Undefined where there is no key in it. Throws X509Error for PEM that is none. */
export function materialOf(stored: KeySecret): KeyMaterial | undefined {
  const key = bytesOf(stored, KEY)?.toString();
  if (key === undefined) return undefined;
  const [certificate] = readCertificates(bytesOf(stored, CERTIFICATE)?.toString());
  const origin = originOf(stored);
  const { der: pkcs8 } = readOnlyPem(key, `${KEY} of the Secret`, ['PRIVATE KEY'], {});
  return { pkcs8, ...(certificate && { certificate: certificate.der }), ...(origin && { origin }) };
}

/** Undefined where there is none of the right length in it. */
export function sealingKeyOf(stored: KeySecret): Buffer | undefined {
  const key = bytesOf(stored, SEALING_KEY);
  return key?.length === SEALING_KEY_BYTES ? key : undefined;
}

export function originOf({ metadata: { annotations = {} } }: KeySecret): KeyOrigin | undefined {
  const { [ORIGIN.namespace]: namespace, [ORIGIN.name]: name, [ORIGIN.uid]: uid } = annotations;
  return namespace === undefined || name === undefined || uid === undefined ? undefined : { namespace, name, uid };
}

type Content = {
  readonly type: string;
  readonly values: Readonly<Record<string, string | Buffer>>;
  readonly origin?: KeyOrigin | undefined;
};

/** No owner: another namespace could not own it, and a custom resource that goes must not take a root's key with it. */
function secret(namespace: string, ref: string, kind: KeyKind, { type, values, origin }: Content): object {
  const annotations = origin && {
    [ORIGIN.namespace]: origin.namespace,
    [ORIGIN.name]: origin.name,
    [ORIGIN.uid]: origin.uid,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    immutable: true,
    metadata: {
      name: keySecretName(ref),
      namespace,
      labels: { ...MANAGED_BY_US, [KIND]: kind, [ID]: ref },
      ...(annotations && { annotations }),
    },
    data: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
    ),
  };
}

function kindOf(ref: string, certificate: Certificate | undefined): KeyKind {
  if (ref.startsWith('serving-ca')) return 'serving-ca';
  // A CA cert that waits for its certificate has none.
  return certificate === undefined || isCa(certificate) ? 'signing-cert' : 'ocsp-signer';
}

const pemOf = (certificates: readonly Certificate[]): string =>
  certificates.map(({ der }) => certificatePem(der)).join('');

const isCa = ({ extensions }: Certificate): boolean => extensions.basicConstraints?.ca === true;

const isRoot = ({ issuer, subject }: Certificate): boolean => issuer.der.equals(subject.der);

const readCertificates = (pem: string | undefined): readonly Certificate[] =>
  pem === undefined ? [] : readCertificateChainPem(pem, `${CERTIFICATE} of the Secret`);

function bytesOf({ data }: KeySecret, name: string): Buffer | undefined {
  const value = data?.[name];
  return value === undefined ? undefined : Buffer.from(value, 'base64');
}
