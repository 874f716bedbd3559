// The parts that statuses share. Nothing but the operator writes them, so bounds are wide: a status must never be refused.
import { closed, closedOf, listOf, oneOf, type Static, type TSchema, Type } from '../schema/define.ts';
import { ANNOTATION_SHOWN } from './annotations.ts';
import type { CommonStatus } from './resource.ts';

const TEXT = 65_536;
const MESSAGE = 32_768;
const CONDITIONS = 16;

export const shown = (description: string, maxLength = 1_024) =>
  Type.Unsafe<string>({ type: 'string', maxLength, description });
/** What a certificate may make long. */
export const shownLong = (description: string) => shown(description, TEXT);
export const shownTime = (description: string) =>
  Type.Unsafe<string>({ type: 'string', format: 'date-time', maxLength: 64, description });
export const shownAnnotation = (description: string) => shown(description, ANNOTATION_SHOWN);

const generation = (description: string) => Type.Integer({ format: 'int64', minimum: -1, description });

const condition = closed({
  type: Type.String({ maxLength: 316, description: 'Which condition.' }),
  status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
  reason: Type.String({ minLength: 1, maxLength: 1_024, description: 'Why, in one CamelCase word.' }),
  message: Type.String({ maxLength: MESSAGE, description: 'Why, and what to do about it.' }),
  observedGeneration: generation('Generation of the spec that it speaks of.'),
  lastTransitionTime: shownTime('When the status last changed.'),
});

const common = {
  observedGeneration: generation('Generation of the spec that was last visited; -1 before the first visit.'),
  conditions: listOf(condition, CONDITIONS, {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
    description: 'What is the case with the object.',
  }),
  lastHandledReconcileAt: shownAnnotation('Annotation acmery.io/reconcile-requested-at as last answered.'),
};

type Shown<T extends Readonly<Record<string, TSchema>>> = { readonly [Name in keyof T]?: Static<T[Name]> };

/** A status of these fields, each of which may be missing, and of what all kinds have. */
export const statusShape = <const T extends Readonly<Record<string, TSchema>>>(fields: T) =>
  closedOf<CommonStatus & Shown<T>>({ ...common, ...fields }, ['observedGeneration']);
