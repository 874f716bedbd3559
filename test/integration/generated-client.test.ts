// The OpenAPI document is complete enough for a third-party generator: the client that it makes compiles and works.
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createApiToken } from '../../src/core/api-tokens.ts';
import { testApi } from '../support/api-client.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

const compilerOptions = {
  target: 'esnext',
  module: 'nodenext',
  lib: ['esnext', 'dom'],
  types: [],
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
};

/** What a user of the generated client would write. */
const program = `
import * as acmery from './client.ts';

declare const process: { readonly argv: readonly string[] };

acmery.defaults.baseUrl = process.argv[2] ?? '';
acmery.defaults.headers = { Authorization: \`Bearer \${process.argv[3]}\` };

const root = await acmery.createSigningCert({
  signing_cert: { cert_type: 'root', key_availability: 'online', name: 'Root', private_key_type: 'ec_256' },
});
if (root.status !== 201) throw new Error(root.data.detail);
const issuing = await acmery.createSigningCert({
  signing_cert: {
    cert_type: 'intermediate',
    key_availability: 'online',
    name: 'Issuing',
    private_key_type: 'ec_256',
    signing_cert_id: root.data.id,
  },
});
if (issuing.status !== 201) throw new Error(issuing.data.detail);
const directory = await acmery.createDirectory({
  directory: { name: 'Web', slug: 'web', signing_cert_id: issuing.data.id },
});
if (directory.status !== 201) throw new Error(directory.data.detail);
const refused = await acmery.createDirectory({
  directory: { name: 'Web', slug: 'web', signing_cert_id: issuing.data.id },
});
const listed = await acmery.listDirectories({ signingCertId: issuing.data.id });
if (listed.status !== 200) throw new Error(listed.data.detail);
console.log(JSON.stringify({ slugs: listed.data.collection.map(({ slug }) => slug), refused: refused.status }));
`;

test('a generated TypeScript client compiles strictly and manages directories', async () => {
  await using api = await testApi();
  // Inside the repository, where the client finds its run-time package.
  const folder = join(repository, '.cache', `generated-client-${process.pid}`);
  await mkdir(folder, { recursive: true });
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { body } = await api.get('/v1/openapi.json');
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(body));
  await writeFile(join(folder, 'use.ts'), program);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));

  const node = (...args: string[]) => run(process.execPath, args, { cwd: folder });
  await node(join(repository, 'node_modules/oazapfts/dist/cli.js'), 'openapi.json', 'client.ts');
  await run(join(repository, 'node_modules/.bin/tsc'), ['-p', folder]);
  const caller = { kind: 'command', name: 'test' } as const;
  const { token } = await createApiToken(api.ca, caller, { name: 'generated', permission: 'admin' });
  const { stdout } = await node('use.ts', api.url, token);

  expect(JSON.parse(stdout)).toEqual({ slugs: ['web'], refused: 422 });
});
