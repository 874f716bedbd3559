// Problem documents, and the refusals of the base in them.
import { expect, test } from 'vitest';
import { problemReply, refusalProblem } from '../../../src/http/problem.ts';
import { refusal } from '../../../src/http/refusals.ts';

test('a problem has the members of RFC 9457 in order, then its own, on one line', () => {
  const reply = problemReply({
    status: 403,
    type: 'urn:ietf:params:acme:error:unauthorized',
    title: 'Unauthorized',
    detail: 'Not\r\nyours.',
    extensions: { code: 'x', subproblems: undefined },
    headers: { 'Retry-After': '1' },
  });

  expect(reply).toEqual({
    status: 403,
    headers: { 'Content-Type': 'application/problem+json', 'Content-Language': 'en', 'Retry-After': '1' },
    body: '{"type":"urn:ietf:params:acme:error:unauthorized","title":"Unauthorized","status":403,"detail":"Not yours.","code":"x"}',
  });
});

test('type and title come from the status where nothing else is said', () => {
  expect(problemReply({ status: 404, detail: 'Gone.' }).body).toBe(
    '{"type":"about:blank","title":"Not Found","status":404,"detail":"Gone."}',
  );
});

test('what may be tried again says when, spread over 1 to 5 seconds', () => {
  const times = Array.from({ length: 200 }, () => refusal('overloaded').headers['Retry-After']);

  expect([...new Set(times)].sort()).toEqual(['1', '2', '3', '4', '5']);
});

test('a refusal keeps its headers, names its kind and the request', () => {
  expect(refusalProblem(refusal('method_not_allowed', { allow: ['GET', 'HEAD'] }), 'r1')).toMatchObject({
    status: 405,
    headers: { Allow: 'GET, HEAD' },
    body: expect.stringMatching(/"code":"method_not_allowed","request_id":"r1"}$/),
  });
});
