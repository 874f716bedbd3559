// DNS look-ups whose outcome is data: records, nothing there, or a failure that says which name got which answer.
import { Resolver } from 'node:dns/promises';
import type { CaaRecord } from '../core/ports.ts';
import { sharedQuestions } from './shared-questions.ts';

export type DnsAnswer<Row> =
  | { readonly outcome: 'found'; readonly name: string; readonly records: readonly Row[] }
  | { readonly outcome: 'none'; readonly name: string; readonly answer: 'NXDOMAIN' | 'NODATA' }
  | DnsFailure;

/** No statement about the records: `answer` is the response code, or what happened instead of one. */
type DnsFailure = { readonly outcome: 'failed'; readonly name: string; readonly answer: string };

export type ResolverOptions = {
  /** `address:port`; the system's resolvers when absent. */
  readonly servers?: readonly string[] | undefined;
  readonly timeoutMs?: number;
  readonly tries?: number;
};

/** One look-up of each kind of record that is needed here. */
type LookUp<Row> = (name: string, signal: AbortSignal) => Promise<DnsAnswer<Row>>;

/** They reject only with the signal's reason. */
export type DnsResolver = {
  readonly caa: LookUp<CaaRecord>;
  /** The strings of one record are one text. */
  readonly txt: LookUp<string>;
  readonly cname: LookUp<string>;
  readonly a: LookUp<string>;
  readonly aaaa: LookUp<string>;
};

const answers: Readonly<Record<string, string>> = {
  EFORMERR: 'FORMERR',
  ESERVFAIL: 'SERVFAIL',
  ENOTIMP: 'NOTIMP',
  EREFUSED: 'REFUSED',
  EBADRESP: 'a malformed answer',
  EBADNAME: 'no answer, because this is not a DNS name',
  ECONNREFUSED: 'no answer, connection refused',
  ETIMEOUT: 'no answer in time',
};

/** For so long a Resolver is used again: the system's list of servers may have changed. */
const REUSE_MS = 10_000;
const MOST_IDLE = 64;

/**
 * Nothing is cached: Node tells the TTL of neither CAA records nor their absence. Throws on a server that is not an
 * `address:port`.
 * Node hides response codes above REFUSED: with an empty answer section they look like NODATA.
 */
export function createResolver({ servers, timeoutMs = 3_000, tries = 2 }: ResolverOptions = {}): DnsResolver {
  const open = (): OpenResolver => {
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers !== undefined && servers.length > 0) resolver.setServers(servers);
    return { resolver, openedMs: performance.now() };
  };
  const idle = [open()];

  // A Resolver serves one look-up at a time, because cancel() ends all look-ups of one.
  const lookingUp =
    <Row>(query: Query<Row>): LookUp<Row> =>
    async (name, signal) => {
      const last = idle.pop();
      const held = last !== undefined && performance.now() - last.openedMs < REUSE_MS ? last : open();
      const answer = await lookUp(name, held.resolver, signal, query);
      if (idle.length < MOST_IDLE) idle.push(held);
      return answer;
    };

  return {
    // Most orders ask for the same parents. What proves control is asked for each proof by itself: an answer that was
    // under way before the proof was put up would fail it.
    caa: sharedQuestions(lookingUp(async (resolver, name) => (await resolver.resolveCaa(name)).map(toCaaRecord))),
    txt: lookingUp(async (resolver, name) => (await resolver.resolveTxt(name)).map((strings) => strings.join(''))),
    cname: lookingUp((resolver, name) => resolver.resolveCname(name)),
    a: lookingUp((resolver, name) => resolver.resolve4(name)),
    aaaa: lookingUp((resolver, name) => resolver.resolve6(name)),
  };
}

type OpenResolver = { readonly resolver: Resolver; readonly openedMs: number };
type Query<Row> = (resolver: Resolver, name: string) => Promise<readonly Row[]>;

async function lookUp<Row>(
  name: string,
  resolver: Resolver,
  signal: AbortSignal,
  query: Query<Row>,
): Promise<DnsAnswer<Row>> {
  signal.throwIfAborted();
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const records = await query(resolver, name);
    // An alias whose target has no such record comes as an empty list.
    return records.length > 0 ? { outcome: 'found', name, records } : { outcome: 'none', name, answer: 'NODATA' };
  } catch (error) {
    signal.throwIfAborted();
    const code = codeOf(error);
    if (code === 'ENOTFOUND') return { outcome: 'none', name, answer: 'NXDOMAIN' };
    if (code === 'ENODATA') return { outcome: 'none', name, answer: 'NODATA' };
    return { outcome: 'failed', name, answer: answers[code] ?? code };
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Anything without a code is not an answer of the network but a bug, and rises. */
function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  throw error;
}

const CRITICAL = 128;

/**
 * Node gives `{critical: <flags byte>, type: 'CAA', [tag]: value}`, so a tag called `critical` or `type` overwrites its
 * neighbour and `__proto__` leaves nothing. Such records, which nobody needs, come out as critical ones: they forbid.
 */
function toCaaRecord(record: object): CaaRecord {
  const fields = new Map<string, unknown>(Object.entries(record));
  const flags = fields.get('critical');
  const tags = [...fields].filter(([field]) => field !== 'critical' && field !== 'type');
  const [tag, value] = tags[0] ?? [];
  return typeof flags === 'number' && tag !== undefined
    ? { flags, tag, value: String(value) }
    : { flags: CRITICAL, tag: 'unreadable', value: '' };
}
