import { expect, test } from 'vitest';
import { renderProblem, replyToError, replyToRefusal } from '../../../src/acme/problems.ts';
import { AcmeError, acmeErrorTypes } from '../../../src/core/acme-error.ts';
import { CaError, errorKinds } from '../../../src/core/errors.ts';
import { refusal } from '../../../src/http/refusals.ts';
import { DatabaseError, DatabaseUnavailable } from '../../../src/store/database-error.ts';

const URN = 'urn:ietf:params:acme:error:';
const documentOf = (reply: ReturnType<typeof replyToError>) => JSON.parse(String(reply?.body));

test('ERR-1: a problem has type, detail and status, in the form that acmez wants', () => {
  const reply = replyToError(new AcmeError('badCSR', 'The CSR has no names.'), 'request-1');

  expect(reply).toMatchObject({
    status: 400,
    headers: { 'Content-Type': 'application/problem+json', 'Content-Language': 'en' },
  });
  expect(documentOf(reply)).toEqual({ type: `${URN}badCSR`, detail: 'The CSR has no names.', status: 400 });
});

test('ERR-2, ERR-3: the identifiers stand in the subproblems', () => {
  const identifier = { type: 'dns', value: 'shop.example' };
  const error = new AcmeError('rejectedIdentifier', 'One name is outside.', {
    subproblems: [{ type: 'rejectedIdentifier', detail: 'Outside.', identifier }],
  });

  const document = documentOf(replyToError(error, 'request-1'));
  expect(document.subproblems).toEqual([{ type: `${URN}rejectedIdentifier`, detail: 'Outside.', identifier }]);
  expect(document).not.toHaveProperty('identifier');
});

test('ERR-4, G-26: what is temporary is 503 with Retry-After and the request id', () => {
  for (const error of [
    new CaError('unavailable', 'The key store is away.'),
    new CaError('conflict', 'Somebody else changed it.'),
    new DatabaseUnavailable('away'),
  ]) {
    const reply = replyToError(error, 'request-1');
    expect(reply).toMatchObject({ status: 503, headers: { 'Retry-After': expect.stringMatching(/^[1-9]\d*$/) } });
    expect(documentOf(reply)).toMatchObject({ type: `${URN}serverInternal`, requestId: 'request-1' });
  }
});

test('ERR-6, ERR-7: no kind of the core is 409, and what is at fault with us is 5xx', () => {
  const statuses = Object.keys(errorKinds).map((kind) => {
    const reply = replyToError(new CaError(kind as keyof typeof errorKinds, 'Why.'), 'request-1');
    expect(acmeErrorTypes).toHaveProperty(documentOf(reply).type.slice(URN.length));
    return reply?.status;
  });
  expect(statuses).not.toContain(409);
  expect(statuses).not.toContain(undefined);
});

test('ERR-8: a detail is one line without control characters', () => {
  const error = new AcmeError('dns', 'one\r\ntwo\u0000\u001b[31m\u0085three');
  expect(documentOf(replyToError(error, 'request-1')).detail).toBe('one two [31m three');
});

test('what nobody expected is nothing that this renders', () => {
  expect(replyToError(new Error('bug'), 'request-1')).toBeUndefined();
  const unknown = new DatabaseError('bug', { code: '42601' } as never);
  expect(replyToError(unknown, 'request-1')).toBeUndefined();
});

test('members and headers of an error come through', () => {
  const error = new AcmeError('badSignatureAlgorithm', 'No.', {
    members: { algorithms: ['ES256'] },
    headers: { 'Retry-After': '30' },
  });
  const reply = replyToError(error, 'request-1');
  expect(documentOf(reply).algorithms).toEqual(['ES256']);
  expect(reply?.headers).toMatchObject({ 'Retry-After': '30' });
});

test('G-30: what the base refuses is a problem of an ACME type', () => {
  expect(replyToRefusal(refusal('method_not_allowed', { allow: ['POST'] }), 'request-1')).toMatchObject({
    status: 405,
    headers: { Allow: 'POST' },
  });
  const overloaded = replyToRefusal(refusal('overloaded'), undefined);
  expect(documentOf(overloaded)).toEqual({ type: `${URN}serverInternal`, detail: expect.any(String), status: 503 });
});

test('a stored problem is shown with its type and a status', () => {
  const identifier = { type: 'dns', value: 'shop.example' } as const;
  expect(
    renderProblem({
      type: 'unauthorized',
      detail: 'Other content.',
      subproblems: [{ type: 'unauthorized', detail: 'Other content.', identifier }],
    }),
  ).toEqual({
    type: `${URN}unauthorized`,
    detail: 'Other content.',
    status: 403,
    subproblems: [{ type: `${URN}unauthorized`, detail: 'Other content.', identifier }],
  });
  // ERR-3, HTTP-15.
  const shown = renderProblem({ type: 'connection', detail: 'Away.', status: 400, identifier });
  expect(Object.keys(shown)).toEqual(['type', 'detail', 'status']);
});
