import { expect, test } from 'vitest';
import { type CaaRequest, caaClimb, decideCaa, parseIssueValue } from '../../../src/core/caa-policy.ts';
import type { CaaAnswer, CaaRecord } from '../../../src/core/ports.ts';

const ACCOUNT = 'https://ca.example/acme/web/acct/1';
const record = (text: string): CaaRecord => {
  const [flags = '0', tag = '', ...value] = text.split(' ');
  return { flags: Number(flags), tag, value: value.join(' ') };
};
/** Answers of a climb: records by name; names that are left out have none. */
const climb = (value: string, found: Readonly<Record<string, readonly string[] | string>>): readonly CaaAnswer[] =>
  caaClimb(value).map((name) => {
    const answer = found[name] ?? [];
    return typeof answer === 'string' ? { name, failure: answer } : { name, records: answer.map(record) };
  });
const decide = (
  value: string,
  found: Readonly<Record<string, readonly string[] | string>>,
  changes: Partial<CaaRequest> = {},
) =>
  decideCaa({
    identifier: { value, wildcard: value.startsWith('*.') },
    answers: climb(value, found),
    issuerDomains: ['ca.example', 'Other.Example'],
    accountUrls: [ACCOUNT, 'https://ca.example/acme/old/acct/1'],
    validationMethod: 'dns-01',
    onMissingCaa: 'pass',
    ...changes,
  });
const allows = (value: string, records: readonly string[]) => decide(value, { 'a.b.c': records }).allowed;

test('CAA-1: the climb goes from the name to its top-level domain; a wildcard strips its star', () => {
  expect(caaClimb('a.b.c')).toEqual(['a.b.c', 'b.c', 'c']);
  expect(caaClimb('*.b.c')).toEqual(['b.c', 'c']);
  expect(caaClimb('localhost')).toEqual(['localhost']);
  expect(caaClimb(`${'a.'.repeat(30)}b`)).toHaveLength(31); // CAA-12
});

test('CAA-1: the first name with records decides, those above are not looked at', () => {
  expect(decide('a.b.c', { 'a.b.c': ['0 issue ca.example'], 'b.c': ['0 issue ;'] })).toMatchObject({
    allowed: true,
    decidedAt: 'a.b.c',
  });
  expect(decide('a.b.c', { 'b.c': ['0 issue other.org'], c: ['0 issue ca.example'] })).toMatchObject({
    allowed: false,
    decidedAt: 'b.c',
  });
  expect(decide('*.b.c', { 'b.c': ['0 issue ca.example'] })).toMatchObject({ allowed: true, decidedAt: 'b.c' });
});

test.each<[string, readonly string[], boolean]>([
  ['a.b.c', ['0 issue ca.example'], true],
  ['a.b.c', ['0 issue other.org', '0 issue ca.example'], true],
  ['a.b.c', ['0 issue other.org'], false],
  ['a.b.c', ['0 issuewild ;'], true],
  ['a.b.c', ['0 issuewild ca.example', '0 issue other.org'], false],
  ['*.a.b.c', ['0 issue ca.example'], true],
  ['*.a.b.c', ['0 issue ca.example', '0 issuewild ;'], false],
  ['*.a.b.c', ['0 issue ;', '0 issuewild ca.example'], true],
  ['*.a.b.c', ['0 issue other.org'], false],
])('CAA-2: %s with %j', (value, records, allowed) => {
  expect(allows(value, records)).toBe(allowed);
});

test.each<[string, boolean]>([
  [';', false],
  ['', false],
  [' ; ', false],
  ['ca.example', true],
  ['  ca.example\t', true],
  ['ca.example;', true],
  ['ca.example ; ', true],
  ['ca.example; a=b', true],
  ['ca.example;a=b; c = d', true],
  ['ca.example; a=', true],
  ['CA.Example', true],
  ['ca.example.', false],
  ['ca..example', false],
  ['-ca.example', false],
  ['ca_example', false],
  ['ca.example a=b', false],
  ['ca.example; a', false],
  ['ca.example; =b', false],
  ['ca.example; a=b;', false],
  ['ca.example;; a=b', false],
  ['ca.example; a=b c', false],
  ['ca.example; a=b\u0001', false],
  ['ca.example\n', false],
  ['ca.example; ä=b', false],
  ['evil-ca.example', false],
  ['ca.example.org', false],
  ['other.example', true],
])('CAA-3, CAA-6: issue %j', (value, allowed) => {
  expect(decide('a.b.c', { 'a.b.c': [`0 issue ${value}`] }).allowed).toBe(allowed);
});

test.each<[string, boolean]>([
  ['128 unknown x', false],
  ['1 unknown x', false],
  ['129 unknown x', false],
  ['64 unknown x', true],
  ['0 unknown x', true],
  ['128 issue ca.example', true],
  ['128 iodef mailto:a@b', true],
  ['128 ISSUEMAIL x', true],
  ['128 issuevmc x', true],
  ['128 contactemail x', true],
  ['128 contactphone x', true],
])('CAA-4: beside a grant, %s', (other, allowed) => {
  expect(allows('a.b.c', ['0 issue ca.example', other])).toBe(allowed);
});

test('CAA-5: records that do not speak of issuing do not restrict', () => {
  expect(allows('a.b.c', ['0 iodef mailto:a@b', '0 unknown x'])).toBe(true);
  expect(decide('a.b.c', { 'a.b.c': ['0 iodef mailto:a@b'] }, { onMissingCaa: 'fail' }).allowed).toBe(true);
});

test('CAA-6: tags are read without case', () => {
  expect(allows('a.b.c', ['0 ISSUE other.org'])).toBe(false);
  expect(allows('*.a.b.c', ['0 IssueWild ca.example', '0 issue ;'])).toBe(true);
});

test.each<[string, boolean]>([
  [`accounturi=${ACCOUNT}`, true],
  ['accounturi=https://ca.example/acme/old/acct/1', true],
  [`accounturi=${ACCOUNT}2`, false],
  ['accounturi=', false],
  [`accounturi=${ACCOUNT}; accounturi=${ACCOUNT}`, false],
  [`AccountURI=${ACCOUNT}2`, false],
  ['validationmethods=dns-01', true],
  ['validationmethods=http-01,dns-01', true],
  ['validationmethods=http-01', false],
  ['validationmethods=', false],
  ['validationmethods=dns-01; validationmethods=dns-01', false],
  [`validationmethods=dns-01; accounturi=${ACCOUNT}`, true],
  ['unknown=1', true],
])('CAA-7, CAA-8: %s', (parameters, allowed) => {
  expect(allows('a.b.c', [`0 issue ca.example; ${parameters}`])).toBe(allowed);
});

test('CAA-7: one record may restrict while another grants', () => {
  expect(
    allows('a.b.c', ['0 issue ca.example; accounturi=https://x', '0 issue ca.example; validationmethods=dns-01']),
  ).toBe(true);
});

test('CAA-10: a failed lookup on the way is no permission; one above the deciding name is not asked for', () => {
  expect(decide('a.b.c', { 'a.b.c': 'SERVFAIL' })).toMatchObject({ allowed: false, decidedAt: 'a.b.c' });
  expect(decide('a.b.c', { 'b.c': 'timeout', c: ['0 issue ca.example'] })).toMatchObject({
    allowed: false,
    decidedAt: 'b.c',
  });
  expect(decide('a.b.c', { 'a.b.c': ['0 issue ca.example'], c: 'SERVFAIL' }).allowed).toBe(true);
});

test('CAA-11: without any record the directory decides; with one for another issuer it is refused in both modes', () => {
  expect(decide('a.b.c', {}).allowed).toBe(true);
  expect(decide('a.b.c', {}, { onMissingCaa: 'fail' }).allowed).toBe(false);
  for (const onMissingCaa of ['pass', 'fail'] as const) {
    expect(decide('a.b.c', { c: ['0 issue other.org'] }, { onMissingCaa }).allowed).toBe(false);
  }
});

test('a climb that was not finished is no permission', () => {
  expect(decide('a.b.c', {}, { answers: [] }).detail).toBe('CAA of a.b.c was not looked up.');
  expect(decide('a.b.c', {}, { answers: [{ name: 'a.b.c', records: [] }] }).allowed).toBe(false);
});

test('the sentence names the record that decided', () => {
  expect(decide('a.b.c', { 'b.c': ['0 issue other.org'] })).toEqual({
    allowed: false,
    detail:
      'CAA of b.c does not allow ca.example or Other.Example to issue for a.b.c: "issue other.org" names another issuer.',
    decidedAt: 'b.c',
    record: { flags: 0, tag: 'issue', value: 'other.org' },
  });
  expect(decide('a.b.c', { 'a.b.c': ['0 issue x\r\n'] }).detail).not.toMatch(/[\r\n]/);
});

test('hostile values cost linear time', () => {
  for (const value of [
    `a${' '.repeat(65_000)}b`,
    ';'.repeat(65_000),
    'a-'.repeat(32_000),
    `a;${'b=c;'.repeat(16_000)}`,
    `a;b${'\t'.repeat(65_000)}x`,
  ]) {
    expect(parseIssueValue(value)).toBeUndefined();
  }
});

test('CAA-7: a record for an account grants nothing where no account is given', () => {
  const verdict = decide('a.b.c', { 'a.b.c': [`0 issue ca.example; accounturi=${ACCOUNT}`] }, { accountUrls: [] });
  expect(verdict).toMatchObject({ allowed: false });
  expect(verdict.detail).toContain('names an account, and none is given');
});
