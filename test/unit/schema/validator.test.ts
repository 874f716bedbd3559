import { expect, test } from 'vitest';
import { closed, listOf, nullable, oneOf, Type } from '../../../src/schema/define.ts';
import {
  addressRange,
  contactUri,
  date,
  dnsName,
  dnsPattern,
  dnsPatterns,
  dnsSubtree,
  httpUrl,
  integer,
  keyId,
  objectName,
  pemText,
  resourceId,
  secretPemText,
  slug,
  timestamp,
} from '../../../src/schema/fragments.ts';
import { readJson } from '../../../src/schema/json.ts';
import { check, checked } from '../../../src/schema/validator.ts';

const body = closed({
  directory: closed({
    name: objectName,
    slug: Type.Optional(slug),
    cert_max_days: Type.Optional(integer(0, 3650, { default: 97 })),
    on_missing_caa: Type.Optional(oneOf(['pass', 'fail'], { default: 'pass' })),
    allowed_dns_identifiers: Type.Optional(dnsPatterns(5)),
    private_key: Type.Optional(secretPemText(100)),
    public_cert: Type.Optional(pemText(100)),
    website: Type.Optional(nullable(httpUrl)),
    mode: Type.Optional(nullable(oneOf(['a', 'b']))),
    reuse: Type.Optional(Type.Boolean()),
    profiles: Type.Optional(listOf(oneOf(['server', 'client']), 3, { minItems: 1, uniqueItems: true })),
  }),
});
const problemsOf = (directory: unknown) =>
  check(body, { directory }).map(({ field, code, message }) => `${field} ${code}: ${message}`);

test('a good body has no problem and gets its defaults', () => {
  expect(checked(body, { directory: { name: 'Web' } })).toEqual({
    ok: true,
    value: { directory: { name: 'Web', cert_max_days: 97, on_missing_caa: 'pass' } },
  });
  expect(problemsOf({ name: 'Web', website: null, mode: null })).toEqual([]);
});

test.each([
  [
    { name: 'a', cert_max_days: '90' },
    'directory.cert_max_days wrong_type: expected an integer from 0 to 3650, got "90"',
  ],
  [
    { name: 'a', cert_max_days: 3651 },
    'directory.cert_max_days out_of_range: expected an integer from 0 to 3650, got 3651',
  ],
  [
    { name: 'a', cert_max_days: 1.5 },
    'directory.cert_max_days wrong_type: expected an integer from 0 to 3650, got 1.5',
  ],
  [
    { name: 'a', on_missing_caa: 'maybe' },
    'directory.on_missing_caa not_allowed: expected one of pass, fail, got "maybe"',
  ],
  [{ name: 'a', on_missing_caa: null }, 'directory.on_missing_caa wrong_type: expected one of pass, fail, got null'],
  [{ name: 'a', mode: 'c' }, 'directory.mode not_allowed: expected one of a, b or null, got "c"'],
  [{ name: 'a', reuse: 'yes' }, 'directory.reuse wrong_type: expected true or false, got "yes"'],
  [{ name: 'a', profiles: [] }, 'directory.profiles bad_count: expected a list of 1 to 3 items, got a list of 0 items'],
  [
    { name: 'a', profiles: ['server', 'server'] },
    'directory.profiles duplicate: the same item stands twice in this list',
  ],
  [{ name: 'a', profiles: 'server' }, 'directory.profiles wrong_type: expected a list of 1 to 3 items, got "server"'],
  [
    { name: 'a', website: 'ftp://x' },
    'directory.website bad_format: expected an http or https URL or null, got "ftp://x"',
  ],
  [{}, 'directory.name required: this field is required'],
  [
    { name: '' },
    'directory.name bad_length: expected a name of 1 to 200 characters without control characters, got an empty string',
  ],
  [
    { name: 'x'.repeat(201) },
    'directory.name bad_length: expected a name of 1 to 200 characters without control characters, got 201 characters',
  ],
  [
    { name: 'a\nb' },
    'directory.name bad_format: expected a name of 1 to 200 characters without control characters, got "a\\nb"',
  ],
  [
    { name: { x: 1 } },
    'directory.name wrong_type: expected a name of 1 to 200 characters without control characters, got an object',
  ],
  [
    { name: 'a', certMaxDays: 9 },
    'directory.certMaxDays unknown_field: there is no field "certMaxDays" here; did you mean "cert_max_days"?',
  ],
  [{ name: 'a', slugg: 'x' }, 'directory.slugg unknown_field: there is no field "slugg" here; did you mean "slug"?'],
  [{ name: 'a', zebra: 1 }, 'directory.zebra unknown_field: there is no field "zebra" here'],
  [[], 'directory wrong_type: expected an object, got a list of 0 items'],
  [null, 'directory wrong_type: expected an object, got null'],
  [
    { name: 'a', allowed_dns_identifiers: ['a.b', '**', '*.x.example', '*.münchen.example'] },
    'directory.allowed_dns_identifiers[3] bad_format: expected a DNS pattern: a name, "*." or "**." and a name, "**" for any name or "*" for any single-label name, got "*.münchen.example"; write it as *.xn--mnchen-3ya.example',
  ],
])('%j: %s', (directory, problem) => {
  expect(problemsOf(directory)).toEqual([problem]);
});

test('all problems come at once, one for each field', () => {
  const problems = problemsOf({ cert_max_days: -1, slug: '-', allowed_dns_identifiers: ['ok', 'a..b', 7], nme: 1 });
  expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
    'directory.allowed_dns_identifiers[1]',
    'directory.allowed_dns_identifiers[2]',
    'directory.cert_max_days',
    'directory.name',
    'directory.nme',
    'directory.slug',
  ]);
});

test('a body that is no object, and a missing wrapper', () => {
  expect(check(body, [])).toEqual([
    { field: '', code: 'wrong_type', message: 'expected an object, got a list of 0 items' },
  ]);
  expect(check(body, { dir: {} }).map(({ field, code }) => `${field} ${code}`)).toEqual([
    'directory required',
    'dir unknown_field',
  ]);
});

test('secrets and PEM text are never repeated', () => {
  const secret = 'MHcCAQEEIBkg4LVWM9nuwNSk3yByxZpYRTBnVJk5oxVaBw';
  const bodies = [
    { name: 'a', private_key: secret.repeat(5) },
    { name: 'a', private_key: [secret] },
    { name: 'a', private_key: 7_171_717 },
    { name: 'a', public_cert: `-----BEGIN PRIVATE KEY-----\n${secret.repeat(5)}` },
    { name: `-----BEGIN PRIVATE KEY-----\n${secret}` },
    { name: 'a', privat_key: secret },
  ];
  for (const directory of bodies) {
    const text = problemsOf(directory).join();
    expect(text).not.toBe('');
    expect(text).not.toMatch(/MHcC|7171717|BEGIN/);
  }
});

test('what is repeated is short and cannot break a line or turn text around', () => {
  const [problem = ''] = problemsOf({ name: 'a', on_missing_caa: `a\r\n\u202e\u0000${'x'.repeat(1000)}` });
  expect(problem.length).toBeLessThan(200);
  expect(problem).toContain('"a\\r\\n\\u202e\\u0000xxx');
  const [unknown = ''] = problemsOf({ name: 'a', ['k.\u2028'.repeat(500)]: 1 });
  expect(unknown.length).toBeLessThan(400);
  expect(unknown).toContain('directory["k.\\u2028k.');
});

test('hostile bodies give few problems, quickly, and never an exception', () => {
  const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`field_${index}`, 1]));
  expect(problemsOf(many)).toHaveLength(50);
  expect(problemsOf({ name: 'a', allowed_dns_identifiers: Array.from({ length: 9_000 }, () => 'ü') })).toHaveLength(50);
  for (const text of ['a', 'a.', 'a-', '*.', 'aaaaaaaaaaaaaaaaaaaaa-', '0', ':', 'x:', '1:']) {
    const long = text.repeat(200_000 / text.length);
    const directory = { name: long, slug: long, allowed_dns_identifiers: [long], website: long, [long]: 1 };
    expect(problemsOf(directory).length).toBeGreaterThan(2);
  }
  const reading = readJson('{"directory":{"__proto__":{"name":"a"},"constructor":1,"toString":2}}');
  if (!reading.ok) throw new Error('unreadable');
  expect(
    check(body, reading.value)
      .map(({ field }) => field)
      .sort(),
  ).toEqual(['directory.__proto__', 'directory.constructor', 'directory.name', 'directory.toString']);
});

const fragments = {
  slug,
  keyId,
  dnsName,
  dnsSubtree,
  httpUrl,
  contactUri,
  timestamp,
  date,
  objectName,
  pattern: dnsPattern,
  range: addressRange,
  id: resourceId('dir'),
} as const;
test.each<[keyof typeof fragments, readonly string[], readonly string[]]>([
  ['slug', ['a', 'web-1', '0', 'x'.repeat(63)], ['', 'A', '-a', 'a-', 'a_b', 'a.b', 'x'.repeat(64), 'ä']],
  ['keyId', ['shop.web', 'A_b-1', 'eab', 'eab-1', 'x'.repeat(128)], ['', 'eab_1', 'a b', 'a/b', 'x'.repeat(129), 'ü']],
  ['dnsName', ['a', 'a.b', 'A-b.c'], ['', '.', 'a.', '.a', 'a..b', '-a', 'a-', '*.a', 'a_b', `${'x'.repeat(64)}.a`]],
  ['dnsSubtree', ['corp.example', '.corp.example'], ['', '.', '*.a', '..a', 'a.']],
  [
    'httpUrl',
    ['https://a/b', 'http://a:80'],
    ['', 'https://', 'a', 'javascript:x', 'https://a b', 'https://[', 'https://ü'],
  ],
  ['contactUri', ['mailto:a@b', 'tel:+1'], ['', 'a@b', 'mailto:', ':x', 'mailto:a b', 'mailto:a\n']],
  [
    'timestamp',
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.5+04:00'],
    ['', '2026-03-01', '2026-02-30T00:00:00Z', '2026-03-01T12:00:00'],
  ],
  ['date', ['2026-03-01'], ['', '2026-3-1', '2026-02-30']],
  ['objectName', ['x', 'Größe 😀', '😀'.repeat(200)], ['', '\t', 'a\u0000', 'a\u0085b', '😀'.repeat(201)]],
  [
    'pattern',
    ['**', '*', '*.a', '**.a.b', 'a', 'a.b.', 'A.B'],
    ['', '***', '*.', '**.', '*a', 'a*', 'a.*', '*.*.a', '.', '.a', 'ü', 'a b'],
  ],
  [
    'range',
    ['10.0.0.0/8', '10.0.0.1', '::/0', 'fd00::/8', '::1'],
    ['', '10.0.0.0/33', '10.0.0/8', '::/129', '10.0.0.0/08', '::1%eth0', '10.0.0.0/', '/8', '1.2.3.4/8/8', '01.2.3.4'],
  ],
  [
    'id',
    ['dir_01k5w3v8q2e7rbs9x4m6tfhz0j'],
    [
      '',
      'scrt_01k5w3v8q2e7rbs9x4m6tfhz0j',
      'dir_81k5w3v8q2e7rbs9x4m6tfhz0j',
      'dir_01K5W3V8Q2E7RBS9X4M6TFHZ0J',
      "dir_' or 1=1",
    ],
  ],
])('%s takes its good values and no bad ones', (name, good, bad) => {
  for (const value of good) expect(check(fragments[name], value), value).toEqual([]);
  for (const value of bad) expect(check(fragments[name], value), JSON.stringify(value)).toHaveLength(1);
});

test('patterns use only what RE2 and JavaScript share', () => {
  for (const schema of Object.values(fragments)) {
    const { pattern = '' } = schema as { pattern?: string };
    expect(pattern).not.toMatch(/\(\?[=!<]|\\[1-9kpPu]|\(\?<|[*+?}][+]/);
  }
});
