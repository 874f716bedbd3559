// What alerts and the dashboard ask of Prometheus, and what there is to say about each alert.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { dashboard } from '../../../src/chart/dashboard.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
};

const root = join(import.meta.dirname, '../../..');
const rules = (
  load(readFileSync(join(root, 'charts/acmery/files/alerts.yaml'), 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);

const panels = (dashboard() as { panels: { title: string; targets?: { expr: string }[] }[] }).panels;
const questions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

const METRIC = /\b[a-z][a-z0-9_]*(?=\{namespace=)/g;

test.for(questions)('%s asks for metrics that there are', async ([, expr]) => {
  const text = await createMetrics().text();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const named = expr.match(METRIC) ?? [];
  expect(named).not.toEqual([]);
  for (const name of named) {
    const isBucket = name.endsWith('_bucket');
    const type = types.get(isBucket ? name.slice(0, -'_bucket'.length) : name);
    expect(type, name).toMatch(isBucket ? /^histogram$/ : /^(gauge|counter)$/);
    // A counter is asked how fast it goes, a gauge where it stands.
    expect(/(rate|increase)\([a-z_]*$/.test(expr.slice(0, expr.indexOf(`${name}{`))), name).toBe(type !== 'gauge');
  }
});

test('every metric that is asked for is narrowed to the namespace', () => {
  for (const [title, expr] of questions) {
    const all = expr.match(/\b(acmery|workqueue|controller_runtime|leader_election|rest_client|process)_\w+/g) ?? [];
    expect(all.length, title).toBe((expr.match(METRIC) ?? []).length);
  }
});

test('every alert has a severity, two sentences and a section of the runbooks', () => {
  const runbooks = readFileSync(join(root, 'docs/runbooks.md'), 'utf8');
  const sections = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, labels, annotations } of rules) {
    expect(['critical', 'warning'], alert).toContain(labels.severity);
    expect(annotations.summary, alert).toMatch(/\.$/);
    expect(annotations.description, alert).toMatch(/\.$/);
  }
});
