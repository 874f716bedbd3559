import { expect, test } from 'vitest';
import { roomBelow } from '../../../src/core/chains.ts';
import { type NameConstraintsInput, parseNameConstraints } from '../../../src/core/name-constraints.ts';
import { permittedBeyondChain } from '../../../src/core/nested-constraints.ts';

const parsed = (input: NameConstraintsInput) => {
  const result = parseNameConstraints(input);
  return result.ok ? result.value : expect.fail(JSON.stringify(result.problems));
};
const beyond = (above: readonly NameConstraintsInput[], own: NameConstraintsInput) =>
  permittedBeyondChain(
    above.map((input, index) => ({ name: `CA ${index}`, constraints: parsed(input) })),
    parsed(own),
  ).map(({ field }) => field);

test.each<[string, string, boolean]>([
  ['corp.example', 'corp.example', true],
  ['shop.corp.example', 'corp.example', true],
  ['corp.example', 'shop.corp.example', false],
  ['notcorp.example', 'corp.example', false],
  ['example', 'corp.example', false],
  ['CORP.Example', 'corp.example', true],
  ['.corp.example', 'corp.example', true],
  ['corp.example', '.corp.example', false],
  ['.corp.example', '.corp.example', true],
  ['shop.corp.example', '.corp.example', true],
  ['corp.example', '', true],
  ['', 'corp.example', false],
  ['', '', true],
])('the domain %j is within %j: %s', (inner, outer, isWithin) => {
  expect(beyond([{ permitted_dns: [outer] }], { permitted_dns: [inner] })).toEqual(
    isWithin ? [] : ['permitted_dns[0]'],
  );
  expect(beyond([{ excluded_dns: [outer] }], { permitted_dns: [inner] })).toEqual(isWithin ? ['permitted_dns[0]'] : []);
});

test.each<[string, string, boolean]>([
  ['10.0.0.0/8', '10.0.0.0/8', true],
  ['10.9.0.0/16', '10.0.0.0/8', true],
  ['10.0.0.1', '10.0.0.0/8', true],
  ['10.0.0.0/7', '10.0.0.0/8', false],
  ['11.0.0.0/8', '10.0.0.0/8', false],
  ['fd00::/8', '0.0.0.0/0', false],
  ['fd00:1::/32', 'fd00::/8', true],
])('the range %s is within %s: %s', (inner, outer, isWithin) => {
  expect(beyond([{ permitted_ip: [outer] }], { permitted_ip: [inner] })).toEqual(isWithin ? [] : ['permitted_ip[0]']);
});

test('each CA cert of the chain is asked, and one that says nothing of a kind allows it', () => {
  const chain = [{ permitted_ip: ['10.0.0.0/8'] }, { permitted_dns: ['corp.example'] }];
  expect(beyond(chain, { permitted_dns: ['corp.example'], permitted_ip: ['10.0.0.0/8'] })).toEqual([]);
  expect(beyond(chain, { permitted_dns: ['a.example', 'b.corp.example'], permitted_ip: ['192.0.2.1'] })).toEqual([
    'permitted_ip[0]',
    'permitted_dns[0]',
  ]);
});

test('what is excluded in part is permitted: the chain takes its part away', () => {
  expect(beyond([{ excluded_dns: ['dev.corp.example'] }], { permitted_dns: ['corp.example'] })).toEqual([]);
});

test.each<[readonly (number | null)[], number]>([
  [[null], Number.POSITIVE_INFINITY],
  [[0], 0],
  [[2], 2],
  [[null, 1], 0],
  [[null, null, 3], 1],
  [[1, 5], 1],
  [[5, 1], 0],
])('below a chain with the path lengths %j there is room for %s CA certs', (pathLengths, room) => {
  const row = { id: '', name: '', cert_type: 'root', state: 'active', name_constraints: null, der: null } as const;
  expect(roomBelow(pathLengths.map((path_length) => ({ ...row, path_length })))).toBe(room);
});
