// What the examples of GitOps ask of the chart.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { expect, test } from 'vitest';
import { type ChartValues, chartManifests } from '../support/chart.ts';

const examples = join(import.meta.dirname, '../../examples');
const documents = ['argocd', 'flux'].flatMap((folder) =>
  readdirSync(join(examples, folder))
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => loadAll(readFileSync(join(examples, folder, name), 'utf8')).map(Object)),
);
const given: readonly ChartValues[] = documents.flatMap(({ kind, spec }) => {
  if (kind === 'HelmRelease') return [spec.values];
  return kind === 'Application' && spec.source.chart !== undefined ? [spec.source.helm.valuesObject] : [];
});

test('the chart takes the values of every example', async () => {
  expect(given).toHaveLength(2);
  for (const values of given) {
    const manifests = await chartManifests(values);
    expect(manifests.map(({ kind }) => kind)).toContain('Deployment');
  }
});
