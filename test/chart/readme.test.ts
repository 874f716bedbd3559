// The README's Helm line against the chart: every value that it sets is one of the chart's, and ends in the pods.
import { dirname } from 'node:path';
import { expect, inject, test } from 'vitest';
import { blockOfFile, runBlocks } from '../support/walkthrough.ts';

/** Nothing is installed: `install` becomes `template`. */
test('the Helm line of the README renders the chart', async () => {
  const helm = inject('helm');
  const PATH = `${'path' in helm ? `${dirname(helm.path)}:` : ''}${process.env.PATH}`;
  const block = await blockOfFile('README.md', 'helm');
  const { stdout } = await runBlocks([block.replace('helm install', 'helm template')], {
    env: { ...process.env, PATH },
  });
  for (const text of ['"https://acme.corp.example"', '"http://pki.corp.example"', 'acmery-db-app', 'acmery-api-read'])
    expect(stdout).toContain(text);
});
