import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSettings, type SettingSources, SettingsError } from '../../../src/config/load.ts';

const load = (sources: Partial<SettingSources>) => loadSettings({ flags: {}, env: {}, ...sources });

function problemsOf(sources: Partial<SettingSources>): readonly string[] {
  try {
    load(sources);
  } catch (error) {
    if (error instanceof SettingsError) return error.lines;
    throw error;
  }
  return [];
}

function configFile(content: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'acmery-config-')), 'acmery.yaml');
  writeFileSync(file, content);
  return file;
}

test('without any source every setting has its default', () => {
  expect(load({})).toMatchObject({
    dataDir: '.acmery',
    databaseUrl: undefined,
    acmeListen: { host: '127.0.0.1', port: 8443 },
    apiListen: { host: '127.0.0.1', port: 8444 },
    httpListen: { host: '127.0.0.1', port: 8080 },
    trustedProxies: [],
    databaseStatementTimeout: 30_000,
  });
});

test.each([
  [{}, 'https://localhost:8443', 'http://localhost:8080'],
  [{ 'acme-listen': '127.0.0.1:9443', 'http-listen': '[::1]:9080' }, 'https://localhost:9443', 'http://localhost:9080'],
  [{ 'acme-listen': '0.0.0.0:443', 'http-listen': '0.0.0.0:80' }, 'https://localhost', 'http://localhost'],
  [{ 'acme-listen': '127.0.0.1:0', 'http-listen': '127.0.0.1:0' }, 'https://localhost:8443', 'http://localhost:8080'],
  [
    { 'acme-listen': '127.0.0.1:9443', 'public-url': 'https://ca.corp.example', 'http-url': 'http://ca.corp.example' },
    'https://ca.corp.example',
    'http://ca.corp.example',
  ],
])('with %j clients are told %s and %s', (flags, publicUrl, httpUrl) => {
  expect(load({ flags })).toMatchObject({ publicUrl, httpUrl });
});

test('a flag wins over the environment, which wins over the file', () => {
  const file = configFile('logLevel: debug\ndataDir: from-file\nopsListen: 127.0.0.1:1\n');
  const settings = load({
    flags: { config: file, 'data-dir': 'from-flag' },
    env: { ACMERY_DATA_DIR: 'from-env', ACMERY_OPS_LISTEN: '127.0.0.1:2' },
  });
  expect(settings).toMatchObject({ logLevel: 'debug', dataDir: 'from-flag', opsListen: { port: 2 } });
});

test('a list may be a YAML list or comma-separated text', () => {
  const fromFile = load({ flags: { config: configFile('trustedProxies: [10.0.0.0/8, "fd00::/8"]') } });
  const fromText = load({ env: { ACMERY_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8' } });
  expect(fromFile.trustedProxies).toEqual(['10.0.0.0/8', 'fd00::/8']);
  expect(fromText.trustedProxies).toEqual(fromFile.trustedProxies);
});

test('all problems are reported at once, one line each', () => {
  const lines = problemsOf({
    flags: { 'log-level': 'loud' },
    env: { ACMERY_DATABASE_POOL: '0', ACMERY_DATA_DRI: '/x' },
  });
  expect(lines).toEqual([
    'ACMERY_DATA_DRI: there is no such setting (did you mean ACMERY_DATA_DIR?).',
    'ACMERY_DATABASE_POOL: expected a whole number from 2 to 200, got "0".',
    '--log-level: expected debug | info | warn | error, got "loud".',
  ]);
});

test('an unknown key of the file is named with the file', () => {
  const file = configFile('apilisten: 0.0.0.0:443');
  expect(problemsOf({ flags: { config: file } })).toEqual([
    `${file}: apilisten: there is no such setting (did you mean apiListen?).`,
  ]);
});

test.each([
  ['empty', ''],
  ['nothing but comments', '# to be filled in\n\n'],
  ['a setting without a value', 'dataDir:\n'],
])('a settings file that is %s sets nothing', (_what, content) => {
  expect(load({ flags: { config: configFile(content) } })).toEqual(load({}));
});

test.each([
  ['not YAML', 'a: [', /cannot be read as YAML settings/],
  ['a list', '- a', /expected a YAML mapping/],
  ['a nested value', 'dataDir: {a: 1}', /got a nested value/],
])('a settings file that is %s is refused with a sentence', (_what, content, sentence) => {
  expect(problemsOf({ flags: { config: configFile(content) } })[0]).toMatch(sentence);
});

test('a settings file that does not exist is named', () => {
  expect(problemsOf({ env: { ACMERY_CONFIG: '/no/such/file.yaml' } })[0]).toMatch(/^\/no\/such\/file.yaml: .*ENOENT/);
});

test('the variables that Kubernetes makes for a Service called acmery are no settings', () => {
  const env = Object.fromEntries(
    [
      'ACMERY_SERVICE_HOST',
      'ACMERY_SERVICE_PORT',
      'ACMERY_SERVICE_PORT_ACME',
      'ACMERY_PORT',
      'ACMERY_PORT_8443_TCP',
      'ACMERY_PORT_8443_TCP_ADDR',
      'ACMERY_ACME_SERVICE_HOST',
      'ACMERY_ACME_PORT_443_TCP_PROTO',
    ].map((variable) => [variable, 'x']),
  );
  expect(problemsOf({ env })).toEqual([]);
});

test.each([
  'mysql://acmery:hunter2@db/acmery',
  'postgres://acmery:hunter2/more@db/acmery',
  'postgres:/acmery:hunter2@db/acmery',
  'postgresql//db/acmery?password=hunter2',
  'host=db password=hunter2',
])('a password in the refused URL %s is not shown', (url) => {
  const problems = problemsOf({ env: { DATABASE_URL: url } });

  expect(problems).toEqual([expect.stringMatching(/^DATABASE_URL: expected a URL such as .*, got \d+ characters\.$/)]);
});

test('one TLS file without the other is refused', () => {
  expect(problemsOf({ env: { ACMERY_TLS_CERT_FILE: 'tls.crt' } })).toEqual([
    'ACMERY_TLS_CERT_FILE and ACMERY_TLS_KEY_FILE: expected both or neither, got only one of them.',
  ]);
});

test('a secret comes from its variable or from a file, and never as a flag', () => {
  const secret = 'x'.repeat(40);
  const file = configFile(`${secret}\n`);
  expect(load({ env: { ACMERY_BOOTSTRAP_TOKEN: secret } }).bootstrapToken).toBe(secret);
  expect(load({ env: { ACMERY_BOOTSTRAP_TOKEN_FILE: file } }).bootstrapToken).toBe(secret);
  expect(load({ flags: { 'bootstrap-token-file': file } }).bootstrapToken).toBe(secret);
});

test('a refused secret is not shown', () => {
  expect(problemsOf({ env: { ACMERY_BOOTSTRAP_TOKEN: 'hunter2' } })).toEqual([
    'ACMERY_BOOTSTRAP_TOKEN: expected 32 or more letters, digits and any of -._~+/, got 7 characters.',
  ]);
});

test('a secret file that cannot be read is named', () => {
  expect(problemsOf({ env: { ACMERY_BOOTSTRAP_TOKEN_FILE: '/no/such' } })[0]).toMatch(
    /^ACMERY_BOOTSTRAP_TOKEN_FILE: \/no\/such cannot be read/,
  );
});

test('a bootstrap token that no header could carry is refused', () => {
  expect(problemsOf({ env: { ACMERY_BOOTSTRAP_TOKEN: `${'x'.repeat(40)} ä` } })[0]).toMatch(/got 42 characters/);
});
