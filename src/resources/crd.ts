// A kind as the CustomResourceDefinition that a cluster is given.
import { type Structural, toStructural } from '../schema/structural.ts';
import { createShape } from './field.ts';
import type { ResourceKind, Rule } from './kind.ts';
import { API_GROUP, API_VERSION } from './resource.ts';

const VERSION = API_VERSION.slice(API_GROUP.length + 1);

export const crdOf = (kind: ResourceKind) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${kind.plural}.${API_GROUP}` },
  spec: {
    group: API_GROUP,
    names: {
      kind: kind.kind,
      listKind: `${kind.kind}List`,
      plural: kind.plural,
      singular: kind.singular,
      // A name that is the singular already needs no other.
      ...(kind.shortName === kind.singular ? {} : { shortNames: [kind.shortName] }),
      categories: ['acmery'],
    },
    scope: 'Namespaced',
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: objectSchema(kind) },
        subresources: { status: {} },
        additionalPrinterColumns: kind.columns,
        selectableFields: kind.selectable.map((field) => ({ jsonPath: `.spec.${field}` })),
      },
    ],
  },
});

const objectSchema = (kind: ResourceKind) => ({
  type: 'object',
  description: kind.description,
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: specSchema(kind),
    // Tools that read status.observedGeneration see at once that nobody has looked at the object yet.
    status: { ...toStructural(kind.status), default: { observedGeneration: -1 } },
  },
});

const specSchema = (kind: ResourceKind): Structural => ({
  ...toStructural(createShape(kind.spec)),
  description: 'What is wanted.',
  'x-kubernetes-validations': kind.rules.map(validation),
});

const validation = ({ cel, message, field, reason }: Rule<never>) => ({
  rule: cel.replaceAll(/\s+/g, ' '),
  message,
  fieldPath: `.${field}`,
  reason,
});
