// Distinguished names: built from fields, read into fields and text. Equality is equality of the DER.
import { bytesOf, childrenOf, type DerNode, elementsOf, parseDer, readOid, tags } from './der.ts';
import { type Encodable, encodeDer, oid, printable, sequence, setOfOne, utf8 } from './der-writer.ts';
import { oids } from './oids.ts';
import { readText, textOf } from './text.ts';
import { X509Error } from './x509-error.ts';

type NameField = 'CN' | 'O' | 'OU' | 'L' | 'ST' | 'C';
export type NameFields = { readonly [field in NameField]?: string };

export type DistinguishedName = {
  readonly der: Buffer;
  /** Every value in the order of the encoding; `field` is undefined for attributes that have no short name here. */
  readonly attributes: readonly {
    readonly oid: string;
    readonly field: NameField | undefined;
    readonly value: string;
  }[];
  /** One value per field; of several the most specific, which is the last. */
  readonly fields: NameFields;
};

type Row = { readonly field: NameField; readonly oid: string; readonly maxLength: number };

/** In the order of encoding, the most general first. Lengths are the upper bounds of RFC 5280 appendix A.1. */
const rows: readonly Row[] = [
  { field: 'C', oid: oids.countryName, maxLength: 2 },
  { field: 'ST', oid: oids.stateOrProvinceName, maxLength: 128 },
  { field: 'L', oid: oids.localityName, maxLength: 128 },
  { field: 'O', oid: oids.organizationName, maxLength: 64 },
  { field: 'OU', oid: oids.organizationalUnitName, maxLength: 64 },
  { field: 'CN', oid: oids.commonName, maxLength: 64 },
];

/** DER of a Name; fields that are absent are left out, none at all gives the empty name. */
export function buildName(fields: NameFields): Buffer {
  const parts = rows.map((row) => {
    const value = fields[row.field];
    return value === undefined ? undefined : setOfOne(sequence(oid(row.oid), encodeValue(row, value)));
  });
  return encodeDer(sequence(...parts));
}

export function parseName(name: DerNode | Buffer, what: string): DistinguishedName {
  const node = Buffer.isBuffer(name) ? parseDer(name, what) : name;
  const attributes = childrenOf(node, tags.sequence, what).flatMap((set) => {
    const members = childrenOf(set, tags.set, what);
    if (members.length === 0) throw new X509Error('bad_name', `${what} has an empty part.`);
    return members.map((member) => readAttribute(member, what));
  });
  const known = attributes.flatMap(({ field, value }) => (field === undefined ? [] : [[field, value]]));
  return { der: bytesOf(node), attributes, fields: Object.fromEntries(known) };
}

/** RFC 4514: the most specific part first, special characters escaped. */
export function nameText({ attributes }: DistinguishedName): string {
  const parts = attributes.map(({ field, oid: identifier, value }) => `${field ?? identifier}=${escapeValue(value)}`);
  return parts.reverse().join(',');
}

function readAttribute(node: DerNode, what: string): DistinguishedName['attributes'][number] {
  const elements = elementsOf(node, tags.sequence, what);
  const identifier = readOid(elements.next('attribute type'), what);
  const value = readText(elements.next('attribute value'), what);
  elements.end();
  return { oid: identifier, field: rows.find((row) => row.oid === identifier)?.field, value };
}

function encodeValue({ field, maxLength }: Row, value: string): Encodable {
  if (value.length === 0 || [...value].length > maxLength) {
    throw new X509Error(
      'bad_name',
      `${field} of a name must have 1 to ${maxLength} characters, not ${[...value].length}.`,
    );
  }
  if (field !== 'C') return checkedText(field, value);
  if (!/^[A-Z]{2}$/.test(value)) throw new X509Error('bad_name', 'C of a name must be two capital letters, like DE.');
  return printable(value);
}

/** What is written must be what `parseName` would read. */
function checkedText(field: NameField, value: string): Encodable {
  const octets = Buffer.from(value, 'utf8');
  if (textOf(tags.utf8String, octets, `${field} of a name`) !== value)
    throw new X509Error('bad_name', `${field} of a name is not Unicode text.`);
  return utf8(value);
}

const escapeValue = (value: string): string => value.replace(/[",+;<>\\]|^[# ]| $/g, '\\$&');
