// Damaged copies of DER for the fuzz test: by octet, and by element with all lengths put right again.

export type Random = (below: number) => number;

/** xorshift32: the same mutants on every run. */
export function seededRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

type Element = { tag: number; contents: Buffer | Element[] };

const octetMutations: readonly ((der: Buffer, random: Random) => Buffer)[] = [
  function flipBit(der, random) {
    const copy = Buffer.from(der);
    const at = random(copy.length);
    copy.writeUInt8(copy.readUInt8(at) ^ (1 << random(8)), at);
    return copy;
  },
  function setOctet(der, random) {
    const copy = Buffer.from(der);
    const values = [0x00, 0x01, 0x7f, 0x80, 0x81, 0x82, 0x84, 0xff, 0x30, 0x24, random(256)];
    copy.writeUInt8(values[random(values.length)] ?? 0, random(copy.length));
    return copy;
  },
  function truncate(der, random) {
    return der.subarray(0, random(der.length));
  },
  function append(der, random) {
    return Buffer.concat([der, Buffer.alloc(1 + random(4), random(256))]);
  },
  function insertOctets(der, random) {
    const at = random(der.length);
    return Buffer.concat([der.subarray(0, at), Buffer.alloc(1 + random(3), random(256)), der.subarray(at)]);
  },
  function dropOctets(der, random) {
    const at = random(der.length);
    return Buffer.concat([der.subarray(0, at), der.subarray(at + 1 + random(3))]);
  },
];

const elementMutations: readonly ((elements: readonly Element[], random: Random) => void)[] = [
  function duplicate(elements, random) {
    const parent = aParent(elements, random);
    const at = random(parent.length);
    const child = parent[at];
    if (child !== undefined) parent.splice(random(parent.length + 1), 0, child);
  },
  function remove(elements, random) {
    const parent = aParent(elements, random);
    parent.splice(random(parent.length), 1);
  },
  function swap(elements, random) {
    const parent = aParent(elements, random);
    const [moved] = parent.splice(random(parent.length), 1);
    if (moved !== undefined) parent.splice(random(parent.length + 1), 0, moved);
  },
  function changeTag(elements, random) {
    const element = elements[random(elements.length)];
    const tags = [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x1e, 0x30, 0x31, 0x80, 0x82, 0xa0, 0xa3, random(256)];
    if (element !== undefined) element.tag = tags[random(tags.length)] ?? 0;
  },
  function changeContents(elements, random) {
    const element = elements[random(elements.length)];
    if (element === undefined || !Buffer.isBuffer(element.contents)) return;
    const values = [Buffer.alloc(0), Buffer.of(0), Buffer.alloc(300, 0xff), Buffer.from('3000', 'hex')];
    element.contents = values[random(values.length)] ?? Buffer.alloc(0);
  },
  function growContents(elements, random) {
    const element = elements[random(elements.length)];
    if (element === undefined || !Buffer.isBuffer(element.contents)) return;
    element.contents = random(2) === 0 ? Buffer.concat([Buffer.of(0), element.contents]) : element.contents.subarray(1);
  },
];

/** One mutant of well-formed DER. */
export function mutantOf(der: Buffer, random: Random): Buffer {
  if (random(2) === 0) return octetMutantOf(der, random);
  const root = read(der);
  elementMutations[random(elementMutations.length)]?.(root.flatMap(withDescendants), random);
  return Buffer.concat(root.map(write));
}

/** One mutant of any octets. */
export function octetMutantOf(octets: Buffer, random: Random): Buffer {
  const mutate = octetMutations[random(octetMutations.length)];
  return octets.length === 0 ? octets : (mutate?.(octets, random) ?? octets);
}

function aParent(elements: readonly Element[], random: Random): Element[] {
  const parents = elements.flatMap(({ contents }) =>
    Buffer.isBuffer(contents) || contents.length === 0 ? [] : [contents],
  );
  return parents[random(parents.length)] ?? [];
}

const withDescendants = (element: Element): Element[] =>
  Buffer.isBuffer(element.contents) ? [element] : [element, ...element.contents.flatMap(withDescendants)];

function read(der: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < der.length; ) {
    const tag = der.readUInt8(at);
    const first = der.readUInt8(at + 1);
    const extra = first < 0x80 ? 0 : first & 0x7f;
    const length = extra === 0 ? first : der.readUIntBE(at + 2, extra);
    const contents = der.subarray(at + 2 + extra, at + 2 + extra + length);
    elements.push({ tag, contents: (tag & 0x20) === 0 ? contents : read(contents) });
    at += 2 + extra + length;
  }
  return elements;
}

function write({ tag, contents }: Element): Buffer {
  const body = Buffer.isBuffer(contents) ? contents : Buffer.concat(contents.map(write));
  const head =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...head), body]);
}
