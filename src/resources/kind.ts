// What a kind of custom resource is: names, spec, status, rules and columns as data, from which CRDs and our own checks follow.
import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from '../schema/define.ts';
import type { CreateInput, Fields } from './field.ts';
import type { KindName } from './resource.ts';

/**
 * A rule over a whole spec, twice: as CEL for the API server, and as a function for our own checks. Both see the spec with
 * its defaults. `before` is the spec as it was; a rule that has it is asked on updates only.
 */
export type Rule<Spec> = {
  readonly cel: string;
  readonly message: string;
  /** Of the field at fault, within the spec: `allowedNamespaces.selector`. */
  readonly field: string;
  readonly reason: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
} & ( // Methods, so that kinds of different specs fit into one table.
  | { readonly asked: 'always'; holds(self: Spec): boolean }
  | { readonly asked: 'on update'; holds(self: Spec, before: Spec): boolean }
);

/** A column of `kubectl get`; the ones of priority 1 only with `-o wide`. */
export type Column = {
  readonly name: string;
  readonly jsonPath: string;
  readonly type: 'string' | 'date';
  readonly priority?: 1;
};

export type ResourceKind<T extends Fields = Fields> = {
  readonly kind: KindName;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: T;
  readonly status: TSchema;
  readonly rules: readonly Rule<CreateInput<T>>[];
  readonly columns: readonly Column[];
  /** Fields of the spec that lists can be filtered by. */
  readonly selectable: readonly string[];
};

/** A kind, with the rules that follow from its rows: what is `create_only` never changes. */
export const defineKind = <const T extends Fields>(kind: ResourceKind<T>): ResourceKind<T> => ({
  ...kind,
  rules: [...immutableRules(kind.spec), ...kind.rules],
  columns: [
    conditionColumn('Ready', 'Ready', 'status'),
    conditionColumn('Reason', 'Ready', 'reason'),
    ...kind.columns,
    { ...conditionColumn('Status', 'Ready', 'message'), priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
});

export const column = (name: string, jsonPath: string): Column => ({ name, type: 'string', jsonPath });
export const wideColumn = (name: string, jsonPath: string): Column => ({ ...column(name, jsonPath), priority: 1 });
export const conditionColumn = (name: string, type: string, member: 'status' | 'reason' | 'message'): Column =>
  column(name, `.status.conditions[?(@.type=="${type}")].${member}`);

/** A rule with oldSelf on an optional field would be skipped where the field comes or goes: so it stands on the spec. */
function immutableRules<T extends Fields>(spec: T): readonly Rule<CreateInput<T>>[] {
  return Object.entries(spec)
    .filter(([, { use }]) => use === 'create_only')
    .map(([field, { presence }]) => ({
      asked: 'on update',
      cel:
        presence === 'optional' ? sameOrAbsent(celName(field)) : `self.${celName(field)} == oldSelf.${celName(field)}`,
      message: 'this field never changes once the object exists; make another object instead',
      field,
      reason: 'FieldValueForbidden',
      holds: (self, before) => isDeepStrictEqual(memberOf(self, field), memberOf(before, field)),
    }));
}

const sameOrAbsent = (name: string): string =>
  `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`;

const memberOf = (spec: object, name: string): unknown => (spec as Readonly<Record<string, unknown>>)[name];

/** Words that CEL keeps for itself. */
const celName = (name: string): string => (['import', 'namespace'].includes(name) ? `__${name}__` : name);

/** A rule for a list in which order matters, so that it is no set. */
export const eachOnce = <Name extends string>(field: Name): Rule<{ readonly [N in Name]: readonly string[] }> => ({
  asked: 'always',
  cel: `self.${field}.all(x, self.${field}.exists_one(y, y == x))`,
  message: 'the same item stands twice in this list',
  field,
  reason: 'FieldValueDuplicate',
  holds: (self) => new Set(self[field]).size === self[field].length,
});
