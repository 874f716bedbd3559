// What the chart takes as values, and what it makes of them.
import { expect, test } from 'vitest';
import { settingsOfChart } from '../../src/chart/values-schema.ts';
import { loadSettings } from '../../src/config/load.ts';
import { settings } from '../../src/config/settings.ts';
import { type ChartValues, chartFolder, chartManifests, helm, type Manifest } from '../support/chart.ts';
import { chartCases } from '../support/chart-values.ts';

const refused: readonly (readonly [what: string, values: ChartValues, words: RegExp])[] = [
  ['a value that there is not', { replicas: 3 }, /additional properties 'replicas' not allowed/],
  ['one within another', { image: { version: '1' } }, /additional properties 'version' not allowed/],
  [
    'a setting that there is not',
    { settings: { limitOrder: '1/h' } },
    /additional properties 'limitOrder' not allowed/,
  ],
  ['a setting that a value decides', { settings: { publicUrl: 'https://a' } }, /'publicUrl' not allowed/],
  ['memory in bytes', { resources: { memory: '512000000' } }, /resources.memory|\/resources\/memory/],
  ['a public URL without TLS', { publicUrl: 'http://acme.corp.example' }, /publicUrl/],
  ['no database', { database: {} }, /A Postgres database is needed/],
  [
    'both monitors',
    { metrics: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } } },
    /every metric would count twice/,
  ],
  ['a route without a Gateway', { gateway: { acme: { hostnames: ['a.example'] } } }, /parentRefs: name the Gateway/],
];

test.for(refused)('refused: %s', async ([, values, words]) => {
  await expect(chartManifests(values)).rejects.toThrow(words);
});

test('Helm finds nothing wrong with it', async () => {
  for (const values of Object.values(chartCases)) {
    const database = { existingSecret: 'db' };
    const input = JSON.stringify({ database, ...values });
    expect(await helm(['lint', chartFolder, '--strict', '--values', '-'], { input })).toContain('0 chart(s) failed');
  }
});

test('every setting comes to the program as the one that it is', async () => {
  const given = Object.fromEntries(settingsOfChart.map((name, index) => [name, `text-${index}`]));
  const env = environmentOf(await chartManifests({ settings: given }));
  expect(settingsOfChart.map((name) => env[settings[name].env])).toEqual(Object.values(given));
});

test.for(Object.entries(chartCases))('the program takes the environment of %s', async ([, values]) => {
  const env = environmentOf(await chartManifests(values));
  expect(loadSettings({ flags: {}, env })).toMatchObject({ dataDir: '/var/lib/acmery' });
});

test('an Ingress for /v1 leads to the pages for people only where that is said', async () => {
  const pathsOf = async (ui: boolean | undefined) => {
    const api = { host: 'acmery.corp.example', ...(ui !== undefined && { ui }) };
    const manifests = await chartManifests({ ingress: { api } });
    return manifests
      .filter(({ kind }) => kind === 'Ingress')
      .flatMap(({ spec }) => [...JSON.stringify(spec).matchAll(/"path":"([^"]*)"/g)].map(([, path]) => path));
  };
  expect(await pathsOf(undefined)).toEqual(['/v1']);
  expect(await pathsOf(true)).toEqual(['/v1', '/ui']);
});

test('its names are in the certificate of our own HTTPS', async () => {
  const env = environmentOf(await chartManifests(chartCases.outside));
  expect(env.ACMERY_TLS_NAMES?.split(',')).toEqual([
    '*.acme.corp.example',
    'localhost',
    'acmery-acme',
    'acmery-acme.acmery-system',
    'acmery-acme.acmery-system.svc',
    'acmery-api',
    'acmery-api.acmery-system',
    'acmery-api.acmery-system.svc',
    '10.1.2.3',
  ]);
});

test('Node keeps a quarter of the memory free', async () => {
  const heap = async (values: ChartValues) => environmentOf(await chartManifests(values)).NODE_OPTIONS;
  expect(await heap({})).toBe('--max-old-space-size=384');
  expect(await heap({ resources: { memory: '2Gi' } })).toBe('--max-old-space-size=1536');
});

type Variable = { readonly name: string; readonly value?: string };

/** Of the first Deployment; without what comes from elsewhere. */
function environmentOf(manifests: readonly Manifest[]): Readonly<Record<string, string>> {
  const deployment = Object(manifests.find(({ kind }) => kind === 'Deployment'));
  const variables: readonly Variable[] = deployment.spec.template.spec.containers[0].env;
  return Object.fromEntries(variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}
