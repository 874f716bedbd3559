// Custom resources as users write them, with the defaults of the API server.
import type { DirectorySpec } from '../../src/resources/directory-resource.ts';
import type { ResourceKey } from '../../src/resources/resource.ts';
import type { SigningCertSpec } from '../../src/resources/signing-cert-resource.ts';
import type { Manifest } from './declared-objects.ts';

export const keyOfManifest = ({ kind, namespace, name }: Manifest): ResourceKey => ({ kind, namespace, name });

export const aSigningCert = (
  name: string,
  spec: Partial<SigningCertSpec> = {},
  namespace = 'acmery-system',
): Manifest => ({
  kind: 'SigningCert',
  namespace,
  name,
  spec: {
    certType: 'root',
    keyAvailability: 'online',
    ...(spec.import === undefined && spec.keyAvailability !== 'offline' && { privateKeyType: 'ec_256' }),
    deletionPolicy: 'Retain',
    allowedNamespaces: { from: 'Same' },
    ...spec,
  } satisfies SigningCertSpec,
});

export const anIntermediate = (name: string, parent: string, spec: Partial<SigningCertSpec> = {}): Manifest =>
  aSigningCert(name, { certType: 'intermediate', signingCertRef: { name: parent }, ...spec });

export const aDirectory = (
  name: string,
  signingCert: string,
  spec: Partial<DirectorySpec> = {},
  namespace = 'acmery-system',
): Manifest => ({
  kind: 'Directory',
  namespace,
  name,
  spec: {
    signingCertRef: { name: signingCert },
    allowedDnsIdentifiers: ['**'],
    allowedIpIdentifiers: [],
    certMinDays: 2,
    certMaxDays: 97,
    onMissingCaa: 'pass',
    registrationMode: 'preregister',
    remoteIpWhitelist: [],
    profiles: ['server'],
    allowedKeyTypes: ['ec_256'],
    rolloverDays: 7,
    allowedNamespaces: { from: 'Same' },
    deletionPolicy: 'Delete',
    ...spec,
  } satisfies DirectorySpec,
});
