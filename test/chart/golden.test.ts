// What the chart installs, value by value, as files to read a change in.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chartManifests, chartText } from '../support/chart.ts';
import { chartCases } from '../support/chart-values.ts';

const golden = join(import.meta.dirname, '../golden/chart');

test.for(Object.entries(chartCases))('%s is what it was', async ([name, values]) => {
  // The kinds and the dashboard are generated, and have their own files.
  const metrics = { ...Object(values.metrics), dashboard: { enabled: false } };
  const text = await chartText({ ...values, crds: { enabled: false }, metrics });
  await expect(text).toMatchFileSnapshot(join(golden, `${name}.yaml`));
});

test('the kinds come with the release and stay when it goes, unless that is not wanted', async () => {
  const kindsOf = async (crds: object) =>
    (await chartManifests({ crds })).filter(({ kind }) => kind === 'CustomResourceDefinition');
  const keeps = ({ metadata }: { metadata: Record<string, unknown> }) =>
    Object(metadata.annotations)['helm.sh/resource-policy'] === 'keep';
  expect((await kindsOf({})).map(({ metadata }) => metadata.name).sort()).toEqual([
    'acmekeys.acmery.io',
    'directories.acmery.io',
    'externalbindings.acmery.io',
    'signingcerts.acmery.io',
  ]);
  expect((await kindsOf({})).every(keeps)).toBe(true);
  expect((await kindsOf({ keep: false })).some(keeps)).toBe(false);
  expect(await kindsOf({ enabled: false })).toEqual([]);
});

test('two releases of one cluster share no name', async () => {
  const namesOf = async (release: string) =>
    (await chartManifests({ crds: { enabled: false } }, { release })).map(
      ({ kind, metadata }) => `${kind} ${metadata.name}`,
    );
  const [one, other] = [await namesOf('blue'), await namesOf('green')];
  expect(one.filter((name) => other.includes(name))).toEqual([]);
});
