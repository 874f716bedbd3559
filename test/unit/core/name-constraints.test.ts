import { expect, test } from 'vitest';
import { parseIdentifier } from '../../../src/core/identifiers.ts';
import {
  type NameConstraintsInput,
  nameConstraintViolation,
  parseDnsSubtree,
  parseNameConstraints,
} from '../../../src/core/name-constraints.ts';
import { seeded } from '../../support/seeded.ts';

const cert = (input: NameConstraintsInput, name = 'Corp') => {
  const result = parseNameConstraints(input);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return { name, constraints: result.value };
};
const identifier = (value: string) => {
  const result = parseIdentifier({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value });
  if (!result.ok) throw new Error(result.refusal.detail);
  return result.identifier;
};
const passes = (input: NameConstraintsInput, value: string) =>
  nameConstraintViolation([cert(input)], identifier(value)) === undefined;

test.each<[NameConstraintsInput, readonly string[], readonly string[]]>([
  [{}, ['a', '*.a', '10.0.0.1', '::1'], []],
  [
    { permitted_dns: ['corp.example'] },
    ['corp.example', 'a.corp.example', '*.corp.example', '*.a.corp.example', '10.0.0.1'],
    ['example', 'evilcorp.example', 'corp.example.org', '*.example'],
  ],
  [{ permitted_dns: ['.corp.example'] }, ['a.corp.example', '*.corp.example'], ['corp.example', '*.example']],
  [{ permitted_dns: ['CORP.Example', 'b'] }, ['a.corp.example', 'b'], ['c']],
  [{ permitted_dns: [''] }, ['a', '*.a'], []],
  [
    { excluded_dns: ['secret.corp'] },
    ['corp', 'a.corp', 'notsecret.corp', '*.example', '*.b.corp'],
    ['secret.corp', 'a.secret.corp', '*.secret.corp', '*.corp', '*.a.secret.corp'],
  ],
  [{ excluded_dns: ['SECRET.corp'] }, [], ['secret.corp', 'Secret.Corp', '*.corp']],
  [{ excluded_dns: ['.secret.corp'] }, ['secret.corp', '*.corp'], ['a.secret.corp', '*.secret.corp']],
  [{ excluded_dns: ['a.secret.corp'] }, ['*.corp', 'secret.corp'], ['*.secret.corp']],
  [{ excluded_dns: [''] }, ['10.0.0.1'], ['a', '*.a']],
  [{ permitted_dns: ['corp'], excluded_dns: ['x.corp'] }, ['a.corp'], ['x.corp', 'b.x.corp', '*.corp', 'a.org']],
  [{ permitted_ip: ['10.0.0.0/8'] }, ['10.1.2.3', 'any.name'], ['11.0.0.1', '::1', 'fd00::1']],
  [{ permitted_ip: ['10.0.0.0/8', 'fd00::/8'] }, ['10.1.2.3', 'fd00::1'], ['::1']],
  [{ excluded_ip: ['10.0.0.0/8'] }, ['11.0.0.1', '::1', 'a'], ['10.0.0.1']],
  [{ excluded_ip: ['0.0.0.0/0', '::/0'] }, ['a'], ['10.0.0.1', '::1']],
])('SEC-25: %j', (input, good, bad) => {
  for (const value of good) expect(passes(input, value), value).toBe(true);
  for (const value of bad) expect(passes(input, value), value).toBe(false);
});

test('every CA cert of the chain must let the name pass, and the one that does not is named', () => {
  const chain = [
    cert({ permitted_dns: ['a.corp'] }, 'Issuing'),
    cert({ permitted_dns: ['corp'], excluded_dns: ['x.a.corp'] }, 'Root'),
  ];
  expect(nameConstraintViolation(chain, identifier('b.a.corp'))).toBeUndefined();
  expect(nameConstraintViolation(chain, identifier('b.corp'))).toBe(
    'CA cert Issuing permits only a.corp; b.corp is outside.',
  );
  expect(nameConstraintViolation(chain, identifier('x.a.corp'))).toBe(
    'CA cert Root excludes x.a.corp; x.a.corp is in it.',
  );
  expect(nameConstraintViolation([], identifier('any'))).toBeUndefined();
});

test('all bad constraints are named at once', () => {
  const result = parseNameConstraints({
    permitted_dns: ['ok', '*.a', 'a..b'],
    excluded_ip: ['10.0.0.1/8', '10.0.0.0/8'],
    excluded_dns: ['a.'],
  });
  expect(result.ok ? [] : result.problems.map(({ field }) => field)).toEqual([
    'permitted_dns[1]',
    'permitted_dns[2]',
    'excluded_dns[0]',
    'excluded_ip[0]',
  ]);
});

test('SEC-25: on small alphabets it decides as a reference that tries every name of a wildcard', () => {
  const random = seeded(25);
  const labels = ['a', 'b'];
  const name = () => random.some(1, 3, () => random.pick(labels)).join('.');
  const inTree = (tree: string, value: string) =>
    tree.startsWith('.') ? value.endsWith(tree) : `.${value}`.endsWith(`.${tree}`);
  const namesOf = (value: string) =>
    value.startsWith('*.') ? [...labels, 'fresh'].map((label) => label + value.slice(1)) : [value];
  for (let round = 0; round < 4_000; round++) {
    const tree = (random.below(3) === 0 ? '.' : '') + name();
    const value = (random.below(2) === 0 ? '*.' : '') + name();
    expect(passes({ permitted_dns: [tree] }, value), `${value} in ${tree}`).toBe(
      namesOf(value).every((one) => inTree(tree, one)),
    );
    expect(passes({ excluded_dns: [tree] }, value), `${value} not in ${tree}`).toBe(
      !namesOf(value).some((one) => inTree(tree, one)),
    );
  }
});

test('a subtree is a name, perhaps with a leading dot', () => {
  for (const text of ['*.a', 'a.', '..a', '.', 'a b', '10.0.0.1', 'ü'])
    expect(parseDnsSubtree(text).ok, text).toBe(false);
});
