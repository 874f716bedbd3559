import { expect, test } from 'vitest';
import type { IssuanceRequest, IssuanceRule, Refusal } from '../../../src/core/issuance-policy.ts';
import { issuanceRefused } from '../../../src/core/issuance-refusals.ts';

const asked = { notBefore: undefined, notAfter: new Date(0) } as const;
type Dates = Pick<IssuanceRequest, 'notBefore' | 'notAfter'>;

const refused = (rule: IssuanceRule, subproblems: Refusal['subproblems'] = [], dates: Dates = asked) =>
  issuanceRefused({ rule, detail: 'The rule says no.', subproblems }, dates);

const expected = {
  directory_active: { type: 'malformed', status: 404 },
  client_address: { type: 'unauthorized', status: 403 },
  account_state: { type: 'unauthorized', status: 401 },
  identifier_syntax: { type: 'malformed', status: 400 },
  issuer_usable: { type: 'serverInternal', status: 503 },
  profile: { type: 'invalidProfile', status: 400 },
  names_allowed: { type: 'rejectedIdentifier', status: 403 },
  addresses_allowed: { type: 'rejectedIdentifier', status: 403 },
  name_constraints: { type: 'rejectedIdentifier', status: 403 },
  key_type: { type: 'badCSR', status: 400 },
  validity: { type: 'malformed', status: 400 },
} as const satisfies Record<IssuanceRule, object>;

test.each(Object.entries(expected) as [IssuanceRule, object][])('ERR-5: what the rule %s refuses', (rule, error) => {
  expect(refused(rule)).toMatchObject({ ...error, message: 'The rule says no.' });
});

test('ORD-15: where nobody asked for dates, the directory is at fault and not the client', () => {
  const error = refused('validity', [], { notBefore: undefined, notAfter: undefined });
  expect(error).toMatchObject({ type: 'serverInternal', status: 503, headers: { 'Retry-After': '300' } });
});

test('ERR-2, ERR-5: each identifier has the type of its own rule, and the whole that of the rule that refuses', () => {
  const email = { type: 'email', value: 'a@corp.example' };
  const name = { type: 'dns', value: 'a..b' };
  const outside = { type: 'dns', value: 'shop.example.org' };
  const subproblem = (rule: IssuanceRule, identifier: typeof email) => ({ rule, identifier, detail: 'No.' });
  const unsupported = [subproblem('identifier_syntax', email), subproblem('names_allowed', outside)];

  expect(refused('identifier_syntax', unsupported)).toMatchObject({
    type: 'unsupportedIdentifier',
    status: 400,
    subproblems: [
      { type: 'unsupportedIdentifier', identifier: email, detail: 'No.' },
      { type: 'rejectedIdentifier', identifier: outside, detail: 'No.' },
    ],
  });
  expect(refused('identifier_syntax', [...unsupported, subproblem('identifier_syntax', name)])).toMatchObject({
    type: 'malformed',
    status: 400,
  });
});
