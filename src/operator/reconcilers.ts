// All reconcilers, by kind.
import type { KindName, Resource } from '../resources/resource.ts';
import { acmeKeyReconciler } from './acme-key.ts';
import { directoryReconciler } from './directory.ts';
import { externalBindingReconciler } from './external-binding.ts';
import type { Reconciler } from './reconciler.ts';
import { signingCertReconciler } from './signing-cert.ts';

export const reconcilers = {
  SigningCert: signingCertReconciler,
  Directory: directoryReconciler,
  ExternalBinding: externalBindingReconciler,
  AcmeKey: acmeKeyReconciler,
};

type Relations = Pick<Reconciler<Resource>, 'references' | 'showsToReferrers' | 'claims' | 'origins' | 'gone'>;

/** What each kind says of its objects to the others. */
export const relationsOf = (kind: KindName): Relations => reconcilers[kind];
