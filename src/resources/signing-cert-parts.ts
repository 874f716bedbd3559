// The parts of a CA cert that are objects: its subject and its name constraints.
import { closed, described, listOf, Type } from '../schema/define.ts';
import { addressRange, dnsSubtree, objectName } from '../schema/fragments.ts';

const subjectPart = (maxLength: number, description: string) =>
  Type.Optional(described(objectName, description, { maxLength }));
export const subject = closed(
  {
    CN: subjectPart(64, 'Common name; the name of the CA cert when absent.'),
    O: subjectPart(64, 'Organization; the name of the CA cert when absent.'),
    OU: subjectPart(64, 'Organizational unit.'),
    L: subjectPart(128, 'Locality.'),
    ST: subjectPart(128, 'State or province.'),
    C: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        format: 'country-code',
        maxLength: 2,
        pattern: '^[A-Z]{2}$',
        description: 'Country code.',
      }),
    ),
  },
  { description: 'Subject of a generated CA cert.' },
);
export const shownSubject = Type.Unsafe<Record<string, string>>({
  type: ['object', 'null'],
  additionalProperties: { type: 'string' },
  description: 'Subject of the certificate.',
  examples: [{ CN: 'Corp Issuing', O: 'Corp' }],
});

const subtrees = (description: string) => Type.Optional(listOf(dnsSubtree, 100, { description }));
const subranges = (description: string) => Type.Optional(listOf(addressRange, 100, { description }));
export const nameConstraints = closed(
  {
    permitted_dns: subtrees('Domains below which all DNS names must lie.'),
    excluded_dns: subtrees('Domains below which no DNS name may lie.'),
    permitted_ip: subranges('Ranges in which all IP addresses must lie.'),
    excluded_ip: subranges('Ranges in which no IP address may lie.'),
  },
  { description: 'Which names certificates below this CA may hold (RFC 5280 section 4.2.1.10).' },
);
