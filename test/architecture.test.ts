import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { composition, importRules, packagesInRules, type SourceFile, violationsOf } from './support/import-rules.ts';

const root = join(import.meta.dirname, '../src');

const sources: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path: path.replaceAll('\\', '/'), text: readFileSync(join(root, path), 'utf8') }));

test('every file imports only what its folder may import', () => {
  expect(violationsOf(sources)).toEqual([]);
});

/** Rows of data, which nothing would gain by being torn apart. */
const tablesOfData = ['resources/fields.ts', 'store/tables.ts'];

test('no file of code is longer than 300 lines', () => {
  const code = sources.filter(({ path }) => !tablesOfData.includes(path));
  const long = code.filter(({ text }) => text.split('\n').length > 301).map(({ path }) => path);
  expect(long).toEqual([]);
});

test('every dependency has an owner', () => {
  const dependencies = Object.keys(packageJson.dependencies);
  expect(dependencies.filter((name) => !packagesInRules().includes(name))).toEqual([]);
});

const planted: readonly [what: string, path: string, text: string, violation: string][] = [
  ['pg in a door', 'api/orders.ts', "import pg from 'pg';", 'api/orders.ts:1: api may not import pg'],
  [
    'the store in a door',
    'acme/orders.ts',
    "import { x } from '../store/orders.ts';",
    'may not import src/store/orders.ts',
  ],
  ['a door in another', 'api/a.ts', "import { x } from '../acme/links.ts';", 'api may not import src/acme/links.ts'],
  ['express outside http', 'api/route.ts', "import express from 'express';", 'api may not import express'],
  ['a verifier but OpenSSL (SEC-21)', 'x509/a.ts', "import forge from 'node-forge';", 'x509 may not import node-forge'],
  ['a subpath of a package', 'core/a.ts', "import { Migrator } from 'kysely/migration';", 'core may not import kysely'],
  ['a scoped package', 'core/a.ts', "import { K } from '@scope/package';", 'core may not import @scope/package'],
  ['a dynamic import', 'core/a.ts', "const x = await import('pino');", 'core may not import pino'],
  ['a re-export', 'core/a.ts', "export { y } from '../http/route.ts';", 'core may not import src/http/route.ts'],
  ['an import for its effect', 'core/a.ts', "import 'pino';", 'core may not import pino'],
  [
    'an import over several lines',
    'core/a.ts',
    "\nimport {\n  a,\n  b,\n} from '../api/x.ts';",
    'core/a.ts:2: core may not import src/api/x.ts',
  ],
  [
    'values where types are allowed',
    'api/a.ts',
    "import { mount } from '../http/mount.ts';",
    'api may not import src/http/mount.ts',
  ],
  [
    'another file than the port',
    'keys/a.ts',
    "import { x } from '../core/issue.ts';",
    'keys may not import src/core/issue.ts',
  ],
  ['a folder without a rule', 'helpers/a.ts', '', 'helpers/a.ts:1: folder helpers stands in no import rule'],
  ['the environment', 'core/a.ts', 'const x = process.env.HOME;', 'core/a.ts:1: process.env'],
  ['an exit', 'commands/serve.ts', 'process.exit(1);', 'commands/serve.ts:1: process.exit('],
  ['the wall clock in the core', 'core/a.ts', '\nconst now = new Date();', 'core/a.ts:2: new Date()'],
  ['randomness in the operator', 'operator/a.ts', 'Math.random()', 'operator/a.ts:1: Math.random('],
  ['SQL outside the store', 'core/a.ts', 'sql<{ id: string }>`select 1`', 'core/a.ts:1: sql<{ id: string }>`'],
  ['printing in the core', 'core/a.ts', "console.log('x');", 'core/a.ts:1: console.'],
];

test.each(planted)('%s is found', (_what, path, text, violation) => {
  expect(violationsOf([{ path, text }]).join('\n')).toContain(violation);
});

test.each([
  ['the own folder', 'core/a.ts', "import { x } from './b.ts';"],
  ['a port', 'keys/a.ts', "import type { KeyStore } from '../core/ports.ts';"],
  ['types of http', 'api/a.ts', "import type { Reply } from '../http/route.ts';"],
  ['the own package', 'http/a.ts', "import express from 'express';"],
  ['everything, in the composition', 'app/app.ts', "import { x } from './store/database.ts';"],
])('importing %s is allowed', (_what, path, text) => {
  expect(violationsOf([{ path, text }])).toEqual([]);
});

test('every folder of src stands in the table', () => {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(
    folders.map(({ name }) => name).filter((name) => !composition.includes(name) && importRules[name] === undefined),
  ).toEqual([]);
});
