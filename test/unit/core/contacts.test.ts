import { expect, test } from 'vitest';
import { AcmeError } from '../../../src/core/acme-error.ts';
import { requireContacts } from '../../../src/core/contacts.ts';

const refusal = (contacts: readonly string[]): string | undefined => {
  try {
    requireContacts(contacts);
    return undefined;
  } catch (error) {
    return error instanceof AcmeError ? error.type : String(error);
  }
};

test.each([
  [[]],
  [['mailto:ops@corp.example']],
  [['MAILTO:Ops+acme@Corp.Example']],
  [['mailto:root@localhost', 'mailto:ops@till.lan']],
  [['mailto:a%2Bb@corp.example']],
  [Array.from({ length: 10 }, (_, number) => `mailto:ops${number}@corp.example`)],
])('ACC-7, ACC-8: %j may be the contacts of an account', (contacts) => {
  expect(refusal(contacts)).toBeUndefined();
});

test.each([
  ['tel:+4930123', 'unsupportedContact'],
  ['https://corp.example', 'unsupportedContact'],
  ['javascript:alert(1)', 'unsupportedContact'],
  ['', 'invalidContact'],
  ['ops@corp.example', 'invalidContact'],
  ['mailto:', 'invalidContact'],
  ['mailto:ops', 'invalidContact'],
  ['mailto:@corp.example', 'invalidContact'],
  ['mailto:ops@', 'invalidContact'],
  ['mailto:ops@-corp.example', 'invalidContact'],
  ['mailto:ops@corp..example', 'invalidContact'],
  ['mailto:ops@corp.example?subject=hello', 'invalidContact'],
  ['mailto:a@corp.example,b@corp.example', 'invalidContact'],
  ['mailto:a@corp.example\nb', 'invalidContact'],
  ['mailto:ops@cörp.example', 'invalidContact'],
  [`mailto:${'o'.repeat(400)}@corp.example`, 'invalidContact'],
])('ACC-7: the contact %j is refused as %s', (contact, type) => {
  expect(refusal(['mailto:ops@corp.example', contact])).toBe(type);
});

test('ACC-8: eleven contacts are too many, and the message names the limit', () => {
  const contacts = Array.from({ length: 11 }, () => 'mailto:ops@corp.example');
  expect(() => requireContacts(contacts)).toThrow('at most 10 contacts, and 11 came');
});

test('ERR-8: what a client wrote is quoted, escaped and cut', () => {
  expect(() => requireContacts([`tel:\n${'1'.repeat(200)}`])).toThrow(/^The contact "tel:\\n1+\.\.\." is of/);
});
