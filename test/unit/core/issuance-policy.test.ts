import { expect, test } from 'vitest';
import { parseAddress, parseAddressRange } from '../../../src/core/addresses.ts';
import { dnsPatternSet, parseDnsPattern } from '../../../src/core/dns-patterns.ts';
import { parseIdentifiers } from '../../../src/core/identifiers.ts';
import { explainAll, firstRefusal, type IssuanceRequest, issuanceChecks } from '../../../src/core/issuance-policy.ts';
import { parseNameConstraints } from '../../../src/core/name-constraints.ts';
import type { Parsed } from '../../../src/core/parsed.ts';

const need = <T>(result: Parsed<T>): T => {
  if (!result.ok) throw new Error(result.refusal);
  return result.value;
};
const address = (text: string) => need(parseAddress(text));
const ranges = (texts: readonly string[]) => texts.map((text) => need(parseAddressRange(text)));
const patterns = (texts: readonly string[]) => dnsPatternSet(texts.map((text) => need(parseDnsPattern(text))));
const constrainedTo = (domain: string) => {
  const result = parseNameConstraints({ permitted_dns: [domain] });
  if (!result.ok) throw new Error(domain);
  return { name: 'Root', constraints: result.value };
};

type Changes = Partial<Omit<IssuanceRequest, 'directory' | 'issuer' | 'identifiers' | 'malformed'>> & {
  names?: readonly string[];
  directory?: Partial<IssuanceRequest['directory']>;
  issuer?: Partial<IssuanceRequest['issuer']>;
};
const NOW = new Date('2026-03-01T12:00:00Z');
const request = ({ names = ['shop.corp.example'], directory, issuer, ...changes }: Changes = {}): IssuanceRequest => {
  const { identifiers, refusals } = parseIdentifiers(
    names.map((value) => ({ type: /^[\d.]+$/.test(value) ? 'ip' : 'dns', value })),
  );
  return {
    now: NOW,
    orderedAt: NOW,
    identifiers,
    malformed: refusals,
    notBefore: undefined,
    notAfter: undefined,
    profile: undefined,
    keyType: 'not_given',
    clientAddress: address('10.0.0.1'),
    accountState: 'valid',
    directory: {
      name: 'web',
      deleted: false,
      allowedDns: patterns(['**.corp.example']),
      allowedIp: ranges(['10.0.0.0/8']),
      remoteIps: [],
      certMinDays: 2,
      certMaxDays: 97,
      profiles: ['server', 'mtls'],
      allowedKeyTypes: ['ec_256', 'rsa_2048'],
      ...directory,
    },
    issuer: {
      name: 'Issuing',
      state: 'active',
      deleted: false,
      certType: 'intermediate',
      keyAvailability: 'online',
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2030-01-01T00:00:00Z'),
      revokedAbove: undefined,
      chain: [],
      ...issuer,
    },
    ...changes,
  };
};
const refusal = (changes: Changes) => {
  const found = firstRefusal(issuanceChecks, request(changes));
  return found && `${found.rule}: ${found.detail}`;
};

test.each<[string, Changes]>([
  ['a name under a pattern', {}],
  ['a wildcard, another name and an address', { names: ['*.corp.example', 'a.b.corp.example', '10.9.9.9'] }],
  [
    'a listed profile, key type and client',
    { profile: 'mtls', keyType: 'ec_256', directory: { remoteIps: ranges(['10.0.0.0/24']) } },
  ],
  ['no account and no client known yet', { accountState: 'not_given', clientAddress: 'not_given' }],
  ['a chain whose constraints permit it', { issuer: { chain: [constrainedTo('corp.example')] } }],
])('%s passes', (_, changes) => {
  expect(refusal(changes)).toBeUndefined();
});

test.each<[Changes, string]>([
  [{ directory: { deleted: true } }, 'directory_active: Directory web was deleted.'],
  [
    { directory: { remoteIps: ranges(['10.1.0.0/16', 'fd00::/8']) } },
    'client_address: Directory web may be used from 10.1.0.0/16, fd00::/8; 10.0.0.1 is outside.',
  ],
  [{ accountState: 'revoked' }, 'account_state: The account is revoked; only a valid one gets certificates.'],
  [{ accountState: 'deactivated' }, 'account_state: The account is deactivated; only a valid one gets certificates.'],
  [
    { names: ['bad_name'] },
    'identifier_syntax: "bad_name" has a label with other characters than a-z, 0-9 and "-": "bad_name".',
  ],
  [{ names: [] }, 'identifier_syntax: There is no identifier.'],
  [{ issuer: { deleted: true } }, 'issuer_usable: CA cert Issuing was deleted; directory web needs another one.'],
  [{ issuer: { state: 'revoked' } }, 'issuer_usable: CA cert Issuing is revoked; directory web needs another one.'],
  [
    { issuer: { revokedAbove: 'Upper' } },
    'issuer_usable: CA cert Issuing stands below CA cert Upper, which is revoked; directory web needs another one.',
  ],
  [
    { issuer: { state: 'pending' } },
    'issuer_usable: CA cert Issuing has no certificate yet; directory web needs another one.',
  ],
  [
    { issuer: { certType: 'root' } },
    'issuer_usable: CA cert Issuing is a root, which signs no certificates of a directory; directory web needs another one.',
  ],
  [
    { issuer: { keyAvailability: 'offline' } },
    'issuer_usable: CA cert Issuing has its key offline; directory web needs another one.',
  ],
  [
    { issuer: { notAfter: NOW } },
    'issuer_usable: CA cert Issuing ended on 2026-03-01T12:00:00Z; directory web needs another one.',
  ],
  [
    { issuer: { notBefore: new Date('2026-03-01T12:00:01Z') } },
    'issuer_usable: CA cert Issuing begins only on 2026-03-01T12:00:01Z; directory web needs another one.',
  ],
  [{ profile: 'client' }, 'profile: Directory web offers the profiles server, mtls; "client" is not one of them.'],
  [
    { names: ['shop.example.org'] },
    'names_allowed: Directory web allows names under **.corp.example; shop.example.org is outside.',
  ],
  [
    { names: ['corp.example', 'a.org', 'b.org'] },
    'names_allowed: Directory web allows names under **.corp.example; corp.example is outside. 2 more identifiers are refused.',
  ],
  [
    { directory: { allowedDns: patterns([]) } },
    'names_allowed: Directory web allows no DNS names; shop.corp.example is outside.',
  ],
  [
    { names: ['x'], directory: { allowedDns: patterns(['a', 'b', 'c', 'd', 'e', 'f', 'g']) } },
    'names_allowed: Directory web allows names under a, b, c, d, e and 2 more; x is outside.',
  ],
  [{ names: ['11.0.0.1'] }, 'addresses_allowed: Directory web allows addresses in 10.0.0.0/8; 11.0.0.1 is outside.'],
  [
    { names: ['11.0.0.1'], directory: { allowedIp: [] } },
    'addresses_allowed: Directory web allows no IP addresses; 11.0.0.1 is outside.',
  ],
  [
    { issuer: { chain: [constrainedTo('a.corp.example')] } },
    'name_constraints: CA cert Root permits only a.corp.example; shop.corp.example is outside.',
  ],
  [{ keyType: 'ed25519' }, 'key_type: Directory web takes keys of type ec_256, rsa_2048; ed25519 is not one of them.'],
  [
    { notAfter: new Date('2027-03-01T12:00:00Z') },
    'validity: notAfter 2027-03-01T12:00:00Z is outside the allowed window from 2026-03-03T12:00:00Z to 2026-06-06T12:00:00Z (directory web allows 2 to 97 days).',
  ],
])('%# the first rule that fails refuses, with a sentence to act on', (changes, sentence) => {
  expect(refusal(changes)).toBe(sentence);
});

test('ERR-2, ORD-11: every refused identifier is listed once, whichever rule refuses it', () => {
  const found = firstRefusal(
    issuanceChecks,
    request({
      names: ['ok.a.corp.example', 'b.corp.example', 'x.org', '11.0.0.1'],
      issuer: { chain: [constrainedTo('a.corp.example')] },
    }),
  );
  expect(found?.rule).toBe('names_allowed');
  expect(found?.subproblems.map(({ rule, identifier }) => `${rule} ${identifier.type} ${identifier.value}`)).toEqual([
    'names_allowed dns x.org',
    'addresses_allowed ip 11.0.0.1',
    'name_constraints dns b.corp.example',
  ]);
});

test('a rule that is not about identifiers has no subproblems', () => {
  expect(firstRefusal(issuanceChecks, request({ accountState: 'revoked', names: ['x.org'] }))?.subproblems).toEqual([]);
});

test('explain gives every rule its verdict, in the order of the checks', () => {
  const rules = explainAll(
    issuanceChecks,
    request({ names: ['shop.corp.example', 'x.org'], directory: { deleted: true } }),
  );
  expect(rules.map(({ rule, outcome }) => `${rule} ${outcome}`)).toEqual([
    'directory_active fail',
    'client_address pass',
    'account_state pass',
    'identifier_syntax pass',
    'issuer_usable pass',
    'profile pass',
    'names_allowed fail',
    'addresses_allowed not_applicable',
    'name_constraints not_applicable',
    'key_type not_applicable',
    'validity pass',
  ]);
  expect(rules.find(({ rule }) => rule === 'names_allowed')?.identifiers).toEqual([
    {
      identifier: { type: 'dns', value: 'shop.corp.example' },
      outcome: 'pass',
      detail: 'shop.corp.example matches **.corp.example.',
    },
    {
      identifier: { type: 'dns', value: 'x.org' },
      outcome: 'fail',
      detail: 'Directory web allows names under **.corp.example; x.org is outside.',
    },
  ]);
  expect(rules.at(-1)?.detail).toBe('The certificate lives from 2026-03-01T11:55:00Z to 2026-05-30T11:59:59Z.');
  for (const { detail } of rules) expect(detail).toMatch(/^\S.*\.$/);
});

test('explain without a client address leaves the address list aside', () => {
  const rules = explainAll(
    issuanceChecks,
    request({ clientAddress: 'not_given', directory: { remoteIps: ranges(['10.0.0.0/8']) } }),
  );
  expect(rules.find(({ rule }) => rule === 'client_address')?.outcome).toBe('not_applicable');
});
