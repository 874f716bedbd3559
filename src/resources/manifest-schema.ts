// What a document of each kind may hold, beside its spec: what people write, and what a cluster adds.
import { closed, listOf, type TSchema, Type } from '../schema/define.ts';
import { kubernetesName, namespaceName } from '../schema/fragments.ts';
import { createShape } from './field.ts';
import type { ResourceKind } from './kind.ts';
import { kinds } from './kinds.ts';
import type { KindName } from './resource.ts';

const ANYTHING = Type.Unsafe<unknown>({});
const textMap = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  additionalProperties: { type: 'string' },
});

/** What `kubectl get -o yaml` writes may be read again. */
const metadata = closed({
  name: kubernetesName,
  namespace: Type.Optional(namespaceName),
  labels: Type.Optional(textMap),
  annotations: Type.Optional(textMap),
  finalizers: Type.Optional(listOf(Type.String(), 100)),
  ...Object.fromEntries(
    [
      'creationTimestamp',
      'deletionGracePeriodSeconds',
      'deletionTimestamp',
      'generateName',
      'generation',
      'managedFields',
      'ownerReferences',
      'resourceVersion',
      'selfLink',
      'uid',
    ].map((name) => [name, Type.Optional(ANYTHING)]),
  ),
});

const schemaOf = (kind: ResourceKind): TSchema =>
  closed({
    apiVersion: Type.String(),
    kind: Type.String(),
    metadata,
    spec: createShape(kind.spec),
    status: Type.Optional(ANYTHING),
  });

export const manifestSchemas: Readonly<Record<KindName, TSchema>> = {
  SigningCert: schemaOf(kinds.SigningCert),
  Directory: schemaOf(kinds.Directory),
  ExternalBinding: schemaOf(kinds.ExternalBinding),
  AcmeKey: schemaOf(kinds.AcmeKey),
};
