// Signature algorithms that are accepted, one row each, and the reading of their AlgorithmIdentifier.
import {
  contextConstructed,
  type DerNode,
  elementsOf,
  onlyChildOf,
  readNull,
  readOid,
  readSmallInteger,
  tags,
} from './der.ts';
import { encodeDer, nullValue, oid, sequence } from './der-writer.ts';
import { oids } from './oids.ts';
import { malformed, X509Error } from './x509-error.ts';

export type HashName = 'sha256' | 'sha384' | 'sha512';

export type SignatureAlgorithm = {
  readonly name: string;
  readonly family: 'rsa' | 'ec' | 'ed25519';
  /** Undefined where the scheme hashes by itself. */
  readonly hash: HashName | undefined;
  /** Set for RSASSA-PSS alone. */
  readonly saltLength?: number;
};

type Row = SignatureAlgorithm & { readonly oid: string; readonly parameters: 'null' | 'absent' };

const rows: readonly Row[] = [
  { name: 'sha256WithRSA', oid: oids.sha256WithRSAEncryption, parameters: 'null', family: 'rsa', hash: 'sha256' },
  { name: 'sha384WithRSA', oid: oids.sha384WithRSAEncryption, parameters: 'null', family: 'rsa', hash: 'sha384' },
  { name: 'sha512WithRSA', oid: oids.sha512WithRSAEncryption, parameters: 'null', family: 'rsa', hash: 'sha512' },
  { name: 'ecdsaWithSHA256', oid: oids.ecdsaWithSha256, parameters: 'absent', family: 'ec', hash: 'sha256' },
  { name: 'ecdsaWithSHA384', oid: oids.ecdsaWithSha384, parameters: 'absent', family: 'ec', hash: 'sha384' },
  { name: 'ecdsaWithSHA512', oid: oids.ecdsaWithSha512, parameters: 'absent', family: 'ec', hash: 'sha512' },
  { name: 'Ed25519', oid: oids.ed25519, parameters: 'absent', family: 'ed25519', hash: undefined },
];

const pssHashes: Readonly<Record<string, HashName>> = {
  [oids.sha256]: 'sha256',
  [oids.sha384]: 'sha384',
  [oids.sha512]: 'sha512',
};

/** What people are likely to come with, so that the refusal can name it. */
const refusedNames: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.4': 'MD5 with RSA',
  '1.2.840.113549.1.1.5': 'SHA-1 with RSA',
  '1.3.14.3.2.29': 'SHA-1 with RSA',
  '1.2.840.113549.1.1.14': 'SHA-224 with RSA',
  '1.2.840.10045.4.1': 'SHA-1 with ECDSA',
  '1.2.840.10045.4.3.1': 'SHA-224 with ECDSA',
  '1.2.840.10040.4.3': 'SHA-1 with DSA',
  '2.16.840.1.101.3.4.3.2': 'SHA-256 with DSA',
  '1.3.101.113': 'Ed448',
};

/** The AlgorithmIdentifier of a row, for writing. */
export function encodeSignatureAlgorithm(name: string): Buffer {
  const row = rows.find((candidate) => candidate.name === name);
  if (row === undefined) throw new RangeError(`There is no signature algorithm ${name}.`);
  return encodeDer(sequence(oid(row.oid), row.parameters === 'null' ? nullValue() : undefined));
}

/** Throws `unsupported_algorithm` for SHA-1, DSA and everything else that is not a row. */
export function readSignatureAlgorithm(node: DerNode, what: string): SignatureAlgorithm {
  const elements = elementsOf(node, tags.sequence, `the signature algorithm of ${what}`);
  const identifier = readOid(elements.next('identifier'), `the signature algorithm of ${what}`);
  if (identifier === oids.rsassaPss) {
    const algorithm = readPss(elements.next('parameters'), what);
    elements.end();
    return algorithm;
  }
  const row = rows.find((candidate) => candidate.oid === identifier);
  if (row === undefined) throw unsupported(what, refusedNames[identifier] ?? `the unknown algorithm ${identifier}`);
  if (row.parameters === 'null') readNull(elements.next('parameters'), `the signature algorithm of ${what}`);
  elements.end();
  return row;
}

/** RFC 4055 section 3.1: one SHA-2 hash for the message and for MGF1. Absent parameters mean SHA-1. */
function readPss(node: DerNode, what: string): SignatureAlgorithm {
  const where = `the RSASSA-PSS parameters of ${what}`;
  const parameters = elementsOf(node, tags.sequence, where);
  const hashField = parameters.nextIf(contextConstructed(0));
  const maskField = parameters.nextIf(contextConstructed(1));
  const saltField = parameters.nextIf(contextConstructed(2));
  const trailerField = parameters.nextIf(contextConstructed(3));
  parameters.end();
  if (hashField === undefined || maskField === undefined) throw unsupported(what, 'RSASSA-PSS with SHA-1');
  const hash = readHash(onlyChildOf(hashField, contextConstructed(0), where), what);
  const mask = elementsOf(onlyChildOf(maskField, contextConstructed(1), where), tags.sequence, where);
  if (readOid(mask.next('mask function'), where) !== oids.mgf1) throw malformed(where, 'name an unknown mask function');
  if (readHash(mask.next('hash of the mask function'), what) !== hash)
    throw unsupported(what, 'RSASSA-PSS with two hashes');
  mask.end();
  const saltLength =
    saltField === undefined ? 20 : readSmallInteger(onlyChildOf(saltField, contextConstructed(2), where), where, 512);
  if (trailerField !== undefined) readSmallInteger(onlyChildOf(trailerField, contextConstructed(3), where), where, 1);
  return { name: `RSASSA-PSS ${hash}`, family: 'rsa', hash, saltLength };
}

function readHash(node: DerNode, what: string): HashName {
  const elements = elementsOf(node, tags.sequence, `the hash algorithm of ${what}`);
  const identifier = readOid(elements.next('identifier'), `the hash algorithm of ${what}`);
  const parameters = elements.nextIf(tags.null);
  if (parameters !== undefined) readNull(parameters, `the hash algorithm of ${what}`);
  elements.end();
  const hash = pssHashes[identifier];
  if (hash === undefined) throw unsupported(what, `RSASSA-PSS with the hash ${identifier}`);
  return hash;
}

const unsupported = (what: string, name: string): X509Error =>
  new X509Error(
    'unsupported_algorithm',
    `${what} is signed with ${name}; accepted are SHA-256, SHA-384 and SHA-512 with RSA, RSA-PSS or ECDSA, and Ed25519.`,
  );
