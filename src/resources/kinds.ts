// All kinds of custom resources, by name.
import { type AcmeKeyResource, acmeKeyKind } from './acme-key-resource.ts';
import { type DirectoryResource, directoryKind } from './directory-resource.ts';
import { type ExternalBindingResource, externalBindingKind } from './external-binding-resource.ts';
import type { ResourceKind } from './kind.ts';
import type { KindName } from './resource.ts';
import { type SigningCertResource, signingCertKind } from './signing-cert-resource.ts';

export type ResourceOf = {
  readonly SigningCert: SigningCertResource;
  readonly Directory: DirectoryResource;
  readonly ExternalBinding: ExternalBindingResource;
  readonly AcmeKey: AcmeKeyResource;
};

/** In the order in which one refers to another. */
export const kinds: Readonly<Record<KindName, ResourceKind>> = {
  SigningCert: signingCertKind,
  Directory: directoryKind,
  ExternalBinding: externalBindingKind,
  AcmeKey: acmeKeyKind,
};
