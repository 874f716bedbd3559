// Our DER against that of another library: what it takes, read strictly, is what we take, and it reads the same in it.
import forge from 'node-forge';
import { expect, test } from 'vitest';
import { bytesOf, type DerNode, parseDer } from '../../../src/x509/der.ts';
import { type Encodable, encodeDer, implicit, implicitSequence, raw, sequence } from '../../../src/x509/der-writer.ts';
import { basicConstraints, crlDistributionPoint, keyUsage } from '../../../src/x509/extensions.ts';
import { oidOctets } from '../../../src/x509/object-identifier.ts';
import { oids } from '../../../src/x509/oids.ts';
import { pkcs8Of } from '../../../src/x509/private-key.ts';
import { X509Error } from '../../../src/x509/x509-error.ts';
import { aCertificate, aCsr, aKey, dns, ip, san } from './builders.ts';
import { mutantOf, octetMutantOf, type Random, seededRandom } from './mutants.ts';

declare module 'node-forge' {
  namespace asn1 {
    /** The form that its types leave out. */
    function fromDer(
      bytes: string,
      options: { strict: boolean; parseAllBytes: boolean; decodeBitStrings: boolean; maxDepth: number },
    ): Asn1;
  }
}

/** Identifier octet, whole encoding, what it holds. */
type Tree = readonly [tag: number, der: string, children: readonly Tree[]];

function ours(der: Buffer): Tree | undefined {
  const tree = (node: DerNode): Tree => [node.tag, bytesOf(node).toString('hex'), (node.children ?? []).map(tree)];
  try {
    return tree(parseDer(der, 'it'));
  } catch (error) {
    if (error instanceof X509Error) return undefined;
    throw new Error(`Crashed on ${der.toString('hex')}`, { cause: error });
  }
}

const MAX_DEPTH = 24;
const MAX_ELEMENTS = 10_000;

/** What forge reads and writes again octet for octet, if it keeps the rules of DER about tags. */
function theirs(der: Buffer): Tree | undefined {
  const options = { strict: true, parseAllBytes: true, decodeBitStrings: false, maxDepth: MAX_DEPTH };
  let root: forge.asn1.Asn1;
  try {
    root = forge.asn1.fromDer(der.toString('latin1'), options);
  } catch {
    return undefined;
  }
  const hexOf = (node: forge.asn1.Asn1): string => forge.asn1.toDer(node).toHex();
  const childrenOf = ({ value }: forge.asn1.Asn1) => (typeof value === 'string' ? [] : value);
  const nodes = [root];
  for (const node of nodes) nodes.push(...childrenOf(node));
  const tree = (node: forge.asn1.Asn1): Tree => [
    node.tagClass | (node.constructed ? 0x20 : 0) | node.type,
    hexOf(node),
    childrenOf(node).map(tree),
  ];
  const isTaken = hexOf(root) === der.toString('hex') && nodes.length <= MAX_ELEMENTS && nodes.every(keepsRules);
  return isTaken ? tree(root) : undefined;
}

function keepsRules({ tagClass, type, constructed, value }: forge.asn1.Asn1): boolean {
  const mustBeConstructed = type === 16 || type === 17;
  if (Number(type) === 31 || (tagClass === 0 && (type === 0 || constructed !== mustBeConstructed))) return false;
  // Forge minds the padding of an INTEGER alone.
  return tagClass !== 0 || type !== 10 || typeof value !== 'string' || !/^(\0[\0-\x7f]|\xff[\x80-\xff])/.test(value);
}

const TAGS = [
  0x01, 0x02, 0x02, 0x03, 0x04, 0x06, 0x0a, 0x0c, 0x1e, 0x30, 0x30, 0x31, 0x80, 0x82, 0x9e, 0xa0, 0xa2, 0xde,
];
const OCTETS = [0x00, 0x00, 0x01, 0x7f, 0x80, 0xff, 0xff];

const pick = (values: readonly number[], random: Random): number => values[random(values.length)] ?? 0;

/** An element of any shape; one in a hundred has a tag or a length that is wrong. */
function anElement(random: Random, depth = 0): Buffer {
  const tag = random(100) === 0 ? random(256) : pick(TAGS, random);
  const parts = { length: random(5) };
  const contents =
    (tag & 0x20) !== 0 && depth < 6
      ? Buffer.concat(Array.from(parts, () => anElement(random, depth + 1)))
      : Buffer.from(Array.from(parts, () => pick(OCTETS, random)));
  const wrong = [
    [0x80],
    [0x81, contents.length],
    [0x82, 0, contents.length],
    [contents.length + 1],
    [0x85, 0, 0, 0, 0, 1],
  ];
  const right = contents.length < 0x80 ? [contents.length] : [0x82, contents.length >> 8, contents.length];
  const short = contents.length < 0x100 && contents.length >= 0x80 ? [0x81, contents.length] : right;
  return Buffer.concat([
    Buffer.of(tag, ...(random(100) === 0 ? (wrong[random(wrong.length)] ?? []) : short)),
    contents,
  ]);
}

/** How many of so many inputs were taken. */
function compared(count: number, input: () => Buffer): number {
  let taken = 0;
  for (let turn = 0; turn < count; turn++) {
    const der = input();
    const tree = ours(der);
    expect(tree, der.toString('hex')).toEqual(theirs(der));
    if (tree !== undefined) taken++;
  }
  return taken;
}

test('trees of any shape, most of them well-formed', () => {
  const random = seededRandom(71);
  const taken = compared(4_000, () => anElement(random));
  expect(taken).toBeGreaterThan(1_000);
  expect(taken).toBeLessThan(3_500);
});

test('any octets', () => {
  const random = seededRandom(72);
  const taken = compared(4_000, () =>
    Buffer.from(Array.from({ length: random(12) }, () => pick([...TAGS, ...OCTETS, 2], random))),
  );
  expect(taken).toBeGreaterThan(20);
});

test('mutants of a request, a certificate and private keys', async () => {
  const extensions = [
    basicConstraints({ ca: true, pathLength: 1 }),
    keyUsage('keyCertSign', 'cRLSign'),
    san(dns('a.example'), ip('10.0.0.1')),
    crlDistributionPoint('http://ca.example/crl'),
  ];
  const originals = [
    await aCsr({ subject: { CN: 'a.example', O: 'Käse' }, extensions }),
    await aCertificate({ extensions }),
    pkcs8Of(await aKey('rsa_2048')),
    pkcs8Of(await aKey('ed25519')),
  ];
  const random = seededRandom(73);
  for (const original of originals) {
    expect(ours(original)).toEqual(theirs(original));
    const taken = compared(600, () => {
      const mutant = mutantOf(original, random);
      return random(4) === 0 ? octetMutantOf(mutant, random) : mutant;
    });
    expect(taken).toBeGreaterThan(50);
  }
});

test('the bounds of depth and number, and lengths where their form changes', () => {
  const nested = (depth: number) => {
    let node: Encodable = sequence();
    for (let above = 1; above < depth; above++) node = sequence(node);
    return encodeDer(node);
  };
  const wide = (count: number) =>
    encodeDer(sequence(...Array.from({ length: count - 1 }, () => implicit(0, Buffer.of()))));
  const long = (length: number) => encodeDer(implicitSequence(0, implicit(1, Buffer.alloc(length, 7)), raw(wide(40))));
  const lengths = [0, 1, 126, 127, 128, 129, 255, 256, 257, 60_000];
  const taken = [nested(MAX_DEPTH), wide(MAX_ELEMENTS), ...lengths.map(long)];
  const refused = [nested(MAX_DEPTH + 1), wide(MAX_ELEMENTS + 1)];
  expect([...taken, ...refused].map(ours)).toEqual([...taken, ...refused].map(theirs));
  expect(refused.map(ours)).toEqual([undefined, undefined]);
  for (const der of taken) expect(ours(der)?.[1]).toBe(der.toString('hex'));
});

test('object identifiers are written as forge writes them', () => {
  const random = seededRandom(74);
  const others = Array.from({ length: 500 }, () => {
    const first = random(3);
    const arcs = Array.from({ length: random(6) }, () => random(2 ** (1 + random(31))));
    return [first, random(first < 2 ? 40 : 5_000), ...arcs].join('.');
  });
  for (const dotted of [...Object.values(oids), ...others])
    expect(oidOctets(dotted).toString('hex'), dotted).toBe(forge.asn1.oidToDer(dotted).toHex());
});
