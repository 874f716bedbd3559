// Certificate revocation lists as they are read: a million entries are walked over in slices, none becomes an object.
import { setImmediate } from 'node:timers/promises';
import { readSerial } from './certificate.ts';
import { type CrlReason, crlReasons } from './crl.ts';
import { contentsOf, contextConstructed, elementsOf, onlyChildOf, parseDer, readBits, readTime, tags } from './der.ts';
import { type Span, spanAt, spansIn } from './der-scan.ts';
import { type Extensions, noExtensions, parseExtensions } from './extension-reader.ts';
import { type DistinguishedName, parseName } from './name.ts';
import { oids } from './oids.ts';
import { readOnlyPem } from './pem.ts';
import type { Signed } from './signed.ts';
import { malformed, X509Error } from './x509-error.ts';

export type Crl = Signed & {
  readonly der: Buffer;
  readonly issuer: DistinguishedName;
  readonly thisUpdate: Date;
  /** Undefined where the list does not say when the next one comes. */
  readonly nextUpdate: Date | undefined;
  readonly extensions: Extensions;
  readonly entryCount: number;
  /** Bytes of the entries, one after the other. */
  readonly entries: Buffer;
};

export type CrlEntry = { readonly serial: Buffer; readonly revokedAt: Date; readonly reason: CrlReason };

const WHAT = 'the CRL';
const ENTRY = 'an entry of the CRL';
const MAX_BYTES = 33_554_432;
const MAX_PEM_LENGTH = 46_000_000;
const ENTRIES_AT_ONCE = 20_000;

export const readCrlPem = (text: string): Promise<Crl> =>
  parseCrl(readOnlyPem(text, WHAT, ['X509 CRL'], {}, MAX_PEM_LENGTH).der);

/** Reads up to 32 MiB unless told otherwise; lets others run between slices of the entries. Verifies no signature. */
export async function parseCrl(der: Buffer, maxBytes = MAX_BYTES): Promise<Crl> {
  if (der.length > maxBytes) throw new X509Error('too_large', `${WHAT} is larger than ${maxBytes} bytes.`);
  const outer = sequenceAt(der, 0, der.length);
  if (outer.end !== der.length) throw malformed(WHAT, 'has bytes after its end');
  const [content, algorithm, signature, ...others] = spansIn(der, outer, WHAT);
  if (content?.tag !== tags.sequence || algorithm === undefined || signature === undefined || others.length > 0) {
    throw malformed(WHAT, 'is not to-be-signed bytes, algorithm and signature');
  }
  const list = readList(der, content);
  const signatureAlgorithm = bytesAt(der, algorithm);
  if (!list.innerAlgorithm.equals(signatureAlgorithm))
    throw malformed(WHAT, 'names two different signature algorithms');
  return {
    der,
    tbs: bytesAt(der, content),
    signatureAlgorithm,
    signature: readBits(nodeAt(der, signature), 'the signature of the CRL'),
    ...list.facts,
    entryCount: list.entries === undefined ? 0 : await countEntries(der, list.entries),
    entries: list.entries === undefined ? Buffer.alloc(0) : der.subarray(list.entries.start, list.entries.end),
  };
}

/** The entry for a serial number; undefined when the list does not hold it. */
export function findCrlEntry({ entries }: Crl, serial: Buffer): CrlEntry | undefined {
  for (let at = 0; at < entries.length; ) {
    const entry = spanAt(entries, at, entries.length, ENTRY);
    const number = spanAt(entries, entry.start, entry.end, ENTRY);
    const zeros = entries[number.start] === 0 && number.end - number.start > 1 ? 1 : 0;
    // The last octet tells nearly all of them apart without a call.
    const isCandidate = entries[number.end - 1] === serial.at(-1);
    if (isCandidate && serial.compare(entries, number.start + zeros, number.end) === 0)
      return readEntry(bytesAt(entries, entry));
    at = entry.end;
  }
  return undefined;
}

type List = {
  readonly innerAlgorithm: Buffer;
  readonly entries: Span | undefined;
  readonly facts: Pick<Crl, 'issuer' | 'thisUpdate' | 'nextUpdate' | 'extensions'>;
};

function readList(der: Buffer, content: Span): List {
  const spans = [...spansIn(der, content, WHAT)];
  const next = (name: string): Span => spans.shift() ?? raiseMissing(name);
  const nextIf = (...wanted: readonly number[]) => (wanted.includes(spans[0]?.tag ?? -1) ? spans.shift() : undefined);
  const version = nextIf(tags.integer);
  if (version !== undefined && !bytesAt(der, version).equals(Buffer.of(tags.integer, 1, 1))) {
    throw malformed('the version of the CRL', 'is not 2');
  }
  const innerAlgorithm = bytesAt(der, next('signature algorithm'));
  const issuer = parseName(nodeAt(der, next('issuer')), 'the issuer of the CRL');
  const thisUpdate = readTime(nodeAt(der, next('date')), 'the date of the CRL');
  const nextUpdate = nextIf(tags.utcTime, tags.generalizedTime);
  const entries = nextIf(tags.sequence);
  const extensions = nextIf(contextConstructed(0));
  if (spans.length > 0) throw malformed(WHAT, 'holds unexpected elements');
  if (extensions !== undefined && version === undefined)
    throw malformed(WHAT, 'has extensions without being of version 2');
  return {
    innerAlgorithm,
    entries,
    facts: {
      issuer,
      thisUpdate,
      nextUpdate: nextUpdate === undefined ? undefined : readTime(nodeAt(der, nextUpdate), 'the next date of the CRL'),
      extensions:
        extensions === undefined
          ? noExtensions
          : parseExtensions(onlyChildOf(nodeAt(der, extensions), contextConstructed(0), WHAT), WHAT),
    },
  };
}

async function countEntries(der: Buffer, { start, end }: Span): Promise<number> {
  let count = 0;
  for (let at = start; at < end; count++) {
    if (count % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) await setImmediate();
    at = checkEntry(der, at, end);
  }
  return count;
}

/** Serial number, time, perhaps extensions, and nothing else. Returns where the entry ends. */
function checkEntry(der: Buffer, at: number, limit: number): number {
  const entry = spanAt(der, at, limit, ENTRY);
  const serial = spanAt(der, entry.start, entry.end, ENTRY);
  const revokedAt = spanAt(der, serial.end, entry.end, ENTRY);
  const isTime = revokedAt.tag === tags.utcTime || revokedAt.tag === tags.generalizedTime;
  if (entry.tag !== tags.sequence || serial.tag !== tags.integer || !isTime || (der[serial.start] ?? 0x80) >= 0x80) {
    throw malformed(ENTRY, 'is not a serial number and a time');
  }
  if (revokedAt.end < entry.end) {
    const extensions = spanAt(der, revokedAt.end, entry.end, ENTRY);
    if (extensions.tag !== tags.sequence || extensions.end !== entry.end)
      throw malformed(ENTRY, 'holds unexpected elements');
  }
  return entry.end;
}

function readEntry(der: Buffer): CrlEntry {
  const elements = elementsOf(parseDer(der, ENTRY), tags.sequence, ENTRY);
  const serial = readSerial(elements.next('serial number'), 'the serial number of an entry of the CRL');
  const revokedAt = readTime(elements.next('time'), 'the time of an entry of the CRL');
  const extensions = elements.nextIf(tags.sequence);
  elements.end();
  const reason = extensions === undefined ? undefined : parseExtensions(extensions, ENTRY).all.find(isReason);
  return { serial, revokedAt, reason: reason === undefined ? 'unspecified' : readReason(reason.value) };
}

const isReason = ({ oid }: { readonly oid: string }): boolean => oid === oids.reasonCode;

function readReason(value: Buffer): CrlReason {
  const [code = crlReasons.length, ...others] = contentsOf(parseDer(value, ENTRY), tags.enumerated, ENTRY);
  const reason = crlReasons[code];
  if (reason === undefined || others.length > 0) throw malformed(ENTRY, 'has an unknown reason');
  return reason;
}

function sequenceAt(der: Buffer, at: number, limit: number): Span {
  const span = spanAt(der, at, limit, WHAT);
  if (span.tag !== tags.sequence) throw malformed(WHAT, 'is not a SEQUENCE');
  return span;
}

const bytesAt = (der: Buffer, { at, end }: Span): Buffer => der.subarray(at, end);

const nodeAt = (der: Buffer, span: Span) => parseDer(bytesAt(der, span), WHAT);

function raiseMissing(name: string): never {
  throw malformed(WHAT, `ends before its ${name}`);
}
