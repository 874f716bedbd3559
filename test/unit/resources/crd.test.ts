import { expect, test } from 'vitest';
import { crdFiles } from '../../../src/commands/crd-files.ts';
import { crdOf } from '../../../src/resources/crd.ts';
import { kinds } from '../../../src/resources/kinds.ts';
import { kindNames } from '../../../src/resources/resource.ts';

type Node = {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly description?: string;
  readonly items?: Node;
  readonly additionalProperties?: Node;
};

const schemaOf = (kind: (typeof kindNames)[number]): Node =>
  crdOf(kinds[kind]).spec.versions[0]?.schema.openAPIV3Schema as Node;
const at = (node: Node | undefined, path: string): Node | undefined =>
  path.split('.').reduce<Node | undefined>((found, name) => found?.properties?.[name], node);
const nodesOf = (node: Node): readonly Node[] => [
  node,
  ...Object.values(node.properties ?? {}).flatMap(nodesOf),
  ...(node.items === undefined ? [] : nodesOf(node.items)),
  ...(node.additionalProperties === undefined ? [] : nodesOf(node.additionalProperties)),
];

test('they have the names by which people know them', () => {
  const names = kindNames.map((kind) => {
    const { names: known, group, scope } = crdOf(kinds[kind]).spec;
    return [known.plural, ...(known.shortNames ?? []), ...known.categories, group, scope].join(' ');
  });
  expect(names).toEqual([
    'signingcerts scert acmery acmery.io Namespaced',
    'directories acmedir acmery acmery.io Namespaced',
    'externalbindings eab acmery acmery.io Namespaced',
    'acmekeys acmery acmery.io Namespaced',
  ]);
});

test('each definition is far smaller than what a cluster takes', () => {
  for (const { text } of crdFiles()) expect(text.length).toBeLessThan(48 * 1024);
});

test.each(kindNames)('rules and lists of %s speak of fields that there are', (kind) => {
  const spec = schemaOf(kind).properties?.spec;
  for (const { field } of kinds[kind].rules) expect([field, at(spec, field)]).not.toContain(undefined);
  for (const field of kinds[kind].selectable) expect([field, at(spec, field)]).not.toContain(undefined);
  for (const { jsonPath } of kinds[kind].columns) {
    const field = jsonPath.replace(/\[.*$/, '').slice(1);
    if (!field.startsWith('metadata')) expect([field, at(schemaOf(kind), field)]).not.toContain(undefined);
  }
});

test.each(kindNames)('every field of %s has a sentence of at most 200 characters', (kind) => {
  for (const part of ['spec', 'status'])
    for (const [name, field] of Object.entries(schemaOf(kind).properties?.[part]?.properties ?? {}))
      for (const node of nodesOf(field)) expect([name, (node.description ?? '').length <= 200]).toEqual([name, true]);
});

test('every field that people set has a description', () => {
  for (const kind of kindNames)
    for (const [name, field] of Object.entries(schemaOf(kind).properties?.spec?.properties ?? {}))
      expect([name, field.description]).not.toContain(undefined);
});
