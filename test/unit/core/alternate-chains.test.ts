// Chains of a leaf whose CAs are cross-signed: the usual one first, each other one once, and no end in circles.
import { expect, test } from 'vitest';
import { chainsAbove, type Link } from '../../../src/core/alternate-chains.ts';

const link = (id: string, parentId: string | undefined, more: Partial<Link> = {}): Link => ({
  id,
  parentId,
  isRoot: false,
  isOffered: true,
  identity: id,
  ...more,
});
const root = (id: string, more: Partial<Link> = {}): Link => link(id, undefined, { isRoot: true, ...more });
const idsOf = (issuer: string, links: readonly Link[]) =>
  chainsAbove(issuer, links).map((chain) => chain.map(({ id }) => id).join(' '));

test('a CA that nobody cross-signed has one chain, without its root', () => {
  expect(idsOf('issuing', [root('root'), link('issuing', 'root')])).toEqual(['issuing']);
});

test('a chain that leaves this service ends with what is known', () => {
  expect(idsOf('issuing', [link('issuing', 'policy'), link('policy', undefined)])).toEqual(['issuing policy']);
});

test('CRT-2: a cross-signed issuer stands in another chain, after the usual one', () => {
  const links = [
    link('a-cross', 'other', { identity: 'issuing' }),
    root('root'),
    root('other'),
    link('issuing', 'root'),
  ];
  expect(idsOf('issuing', links)).toEqual(['issuing', 'a-cross']);
  expect(idsOf('a-cross', links)).toEqual(['a-cross', 'issuing']);
});

test('CRT-2: a root that another root signed is an intermediate of the other chain', () => {
  const links = [root('root'), link('root-cross', 'old', { identity: 'root' }), root('old'), link('issuing', 'root')];
  expect(idsOf('issuing', links)).toEqual(['issuing', 'issuing root-cross']);
});

test('two roots of one key give one chain', () => {
  const links = [root('root'), root('renewed', { identity: 'root' }), link('issuing', 'root')];
  expect(idsOf('issuing', links)).toEqual(['issuing']);
});

test('what is deleted, revoked or ended stands in the usual chain alone', () => {
  const gone = { isOffered: false };
  const links = [
    root('root', gone),
    link('issuing', 'root', gone),
    link('cross', 'root', { ...gone, identity: 'issuing' }),
  ];
  expect(idsOf('issuing', links)).toEqual(['issuing']);
});

test('CAs that signed each other end', () => {
  const links = [
    link('a', 'b'),
    link('b', 'a'),
    root('b-root', { identity: 'b' }),
    link('a-other', 'b', { identity: 'a' }),
  ];
  expect(idsOf('a', links)).toEqual(['a', 'a-other']);
});

test('CRT-4: another chain has at most five certificates with the leaf, and there are eight chains at most', () => {
  const long = ['c', 'd', 'e', 'f'].map((id, index, all) => link(id, all[index + 1] ?? 'root'));
  const links = [root('root'), link('issuing', 'root'), link('long', 'c', { identity: 'issuing' }), ...long];
  expect(idsOf('issuing', links)).toEqual(['issuing']);
  const many = Array.from({ length: 30 }, (_, index) => link(`x${index}`, 'root', { identity: 'issuing' }));
  expect(idsOf('issuing', [root('root'), link('issuing', 'root'), ...many])).toHaveLength(8);
});
