// The rules of a kind, asked here: the verdict that CEL gives in an API server.
import type { FieldProblem } from '../schema/validator.ts';
import type { ResourceKind, Rule } from './kind.ts';

/** Every rule that a spec breaks; with the spec that it replaces, those on what never changes too. */
export const brokenRules = (kind: ResourceKind, spec: object, before?: object): readonly FieldProblem[] =>
  kind.rules.filter((rule) => !isKept(rule, spec, before)).map(problemOf);

function isKept(rule: ResourceKind['rules'][number], spec: object, before: object | undefined): boolean {
  if (rule.asked === 'always') return rule.holds(spec);
  return before === undefined || rule.holds(spec, before);
}

const codes: Readonly<Record<Rule<never>['reason'], string>> = {
  FieldValueInvalid: 'invalid',
  FieldValueForbidden: 'not_applicable',
  FieldValueRequired: 'required',
  FieldValueDuplicate: 'duplicate',
};

const problemOf = ({ field, message, reason, asked }: ResourceKind['rules'][number]): FieldProblem => ({
  field,
  code: asked === 'on update' ? 'immutable' : codes[reason],
  message,
});
