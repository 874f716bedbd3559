// Contacts of ACME accounts (RFC 8555 section 7.3): one mail address each, of any domain, internal ones too.
import { quoted } from '../schema/field-problem.ts';
import { AcmeError } from './acme-error.ts';

const MOST_CONTACTS = 10;
const LONGEST = 320;

// RFC 6068: `?` would begin header fields, `,` another address. Single labels and `.lan` are domains, too (ACC-8).
const LOCAL_PART = /^[A-Za-z0-9.!#$%&'*+/=^_`{|}~-]+$/;
const DOMAIN = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Throws `unsupportedContact`, `invalidContact`, and `malformed` for too many (ACC-7). */
export function requireContacts(contacts: readonly string[]): void {
  if (contacts.length > MOST_CONTACTS) {
    throw new AcmeError('malformed', `An account has at most ${MOST_CONTACTS} contacts, and ${contacts.length} came.`);
  }
  for (const contact of contacts) requireContact(contact);
}

function requireContact(contact: string): void {
  const [, scheme, address = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(contact) ?? [];
  if (scheme === undefined) throw invalid(contact, 'is no URL; write mailto: and an address');
  if (scheme.toLowerCase() !== 'mailto') {
    throw new AcmeError(
      'unsupportedContact',
      `The contact ${quoted(contact, 80)} is of the scheme ${quoted(scheme, 20)}; only mailto is supported.`,
    );
  }
  if (contact.length > LONGEST) throw invalid(contact, `is longer than ${LONGEST} characters`);
  if (address.includes('?')) throw invalid(contact, 'has header fields; write the address alone');
  if (address.includes(',')) throw invalid(contact, 'has several addresses; write a contact for each');
  const at = address.lastIndexOf('@');
  if (at < 0 || !LOCAL_PART.test(address.slice(0, at)) || !DOMAIN.test(address.slice(at + 1)))
    throw invalid(contact, 'is not a mail address');
}

const invalid = (contact: string, what: string): AcmeError =>
  new AcmeError('invalidContact', `The contact ${quoted(contact, 80)} ${what}.`);
