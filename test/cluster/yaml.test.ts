import { expect, test } from 'vitest';
import { parseYaml } from '../../src/folder/yaml.ts';
import { testCluster } from '../support/cluster.ts';

const SCALARS = [
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'n', 'N', 'no', 'No', 'NO', 'on', 'On', 'ON', 'off', 'Off', 'OFF'],
  ...[
    'true',
    'True',
    'TRUE',
    'false',
    'False',
    'FALSE',
    'yEs',
    'nO',
    '"y"',
    "'no'",
    '~',
    'null',
    'Null',
    'NULL',
    'nULL',
  ],
  ...['10', '010', '0777', '08', '0o10', '0x1F', '0b11', '1_000', '+12', '-12', '-010', '1.5', '1e3', '12e03', '1e+3'],
  ...['1:30', '2001-01-01', '2001-12-14T21:59:43Z', '10.0.0.0/8', '::1', '1.2.3', '.5', '1.', '_1', '1__0', '0x', '0'],
  ...['=', 'a:b', '"\\u00fc"', 'ü', '!!str 12', '"12"', '{}', '[]', '[y, 1]', '{a: 1}'],
];

test('kubectl reads YAML as we do', async () => {
  await using cluster = await testCluster();
  const members = SCALARS.map((scalar, index) => `  s${index}: ${scalar}\n`).join('');
  const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: default}
anchored: &a {b: 1, c: 2}
merged: {<<: *a, c: 3}
folded: >-
  one
  two
literal: |
  one
  two
y: a member whose name is a boolean
1: a member whose name is a number
scalars:
${members}`;
  const args = ['create', '--dry-run=client', '--validate=false', '-o', 'json', '-f', '-'];
  const { stdout } = await cluster.kubectl(args, { input: text });
  expect(parseYaml('x.yaml', text).documents.map(({ value }) => value)).toEqual([JSON.parse(stdout)]);
});
