// The parts that specs of several kinds share: references, who may refer, and what deletion means.
import { closed, described, listOf, oneOf, type Static, Type } from '../schema/define.ts';
import { boundedText, kubernetesName, namespaceName } from '../schema/fragments.ts';
import { writable } from './field.ts';
import type { Rule } from './kind.ts';

const EXPRESSIONS = 20;
const LABEL_VALUE = 63;
const LABEL_KEY = 317;

/** Another object of ours; in the same namespace where none is named. */
export const reference = (description: string) =>
  closed(
    {
      name: described(kubernetesName, 'Its name.'),
      namespace: Type.Optional(described(namespaceName, 'Its namespace; that of this object when absent.')),
    },
    { description },
  );

const secretReference = (description: string) =>
  closed({ name: described(kubernetesName, 'Its name.') }, { description });
export const fromSecret = (description: string, secret: string) =>
  closed({ secretRef: secretReference(secret) }, { description });

export const secretName = (description: string) => described(kubernetesName, description);

const deletionPolicies = ['Retain', 'Delete'] as const;
export type DeletionPolicy = (typeof deletionPolicies)[number];
export const deletionPolicy = (usual: DeletionPolicy, description: string) =>
  writable('default', oneOf(deletionPolicies, { default: usual, description }));

type LabelSelector = Static<typeof labelSelector>;
const labelSelector = closed(
  {
    matchLabels: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        additionalProperties: boundedText(LABEL_VALUE),
        maxProperties: EXPRESSIONS,
        description: 'Labels that the namespace must have.',
      }),
    ),
    matchExpressions: Type.Optional(
      listOf(
        closed({
          key: described(boundedText(LABEL_KEY), 'Key of the label.'),
          operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], { description: 'How it is compared.' }),
          values: Type.Optional(
            listOf(boundedText(LABEL_VALUE), EXPRESSIONS, { description: 'Values, for In and NotIn.' }),
          ),
        }),
        EXPRESSIONS,
        { description: 'Conditions that must all hold.' },
      ),
    ),
  },
  { description: 'Labels of the namespaces, for Selector.' },
);

/** The shape of Gateway API's. */
export const allowedNamespaces = writable(
  'default',
  closed(
    {
      from: oneOf(['Same', 'All', 'Selector'], { default: 'Same', description: 'Which namespaces.' }),
      selector: Type.Optional(labelSelector),
    },
    { default: { from: 'Same' }, description: 'From which namespaces objects may refer to this one.' },
  ),
);

type Allowing = { readonly allowedNamespaces: Static<(typeof allowedNamespaces)['schema']> };

export const allowedNamespacesRules: readonly Rule<Allowing>[] = [
  {
    asked: 'always',
    cel: "has(self.allowedNamespaces.selector) == (self.allowedNamespaces.from == 'Selector')",
    message: 'a selector belongs to from: Selector, and to nothing else',
    field: 'allowedNamespaces.selector',
    reason: 'FieldValueInvalid',
    holds: ({ allowedNamespaces: { from, selector } }) => (selector !== undefined) === (from === 'Selector'),
  },
  {
    asked: 'always',
    cel: `!has(self.allowedNamespaces.selector) || !has(self.allowedNamespaces.selector.matchExpressions) ||
      self.allowedNamespaces.selector.matchExpressions.all(e,
        (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))`,
    message: 'In and NotIn need values, Exists and DoesNotExist take none',
    field: 'allowedNamespaces.selector.matchExpressions',
    reason: 'FieldValueInvalid',
    holds: ({ allowedNamespaces: { selector } }) => expressionsOf(selector).every(hasItsValues),
  },
];

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

const expressionsOf = (selector: LabelSelector | undefined): readonly Expression[] => selector?.matchExpressions ?? [];

const hasItsValues = ({ operator, values = [] }: Expression): boolean =>
  ['In', 'NotIn'].includes(operator) === values.length > 0;
