// DNS look-ups whose outcome is data: records, nothing there, or a failure that says which name got which answer.
import { Resolver } from 'node:dns/promises';
import type { CaaRecord } from '../core/ports.ts';

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

export type DnsResolver = {
  /** Rejects only with the signal's reason. */
  caa(name: string, signal: AbortSignal): Promise<DnsAnswer<CaaRecord>>;
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

/**
 * Nothing is cached. Throws on a server that is not an `address:port`.
 * Node hides response codes above REFUSED: with an empty answer section they look like NODATA.
 */
export function createResolver({ servers, timeoutMs = 3_000, tries = 2 }: ResolverOptions = {}): DnsResolver {
  const open = (): Resolver => {
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers !== undefined && servers.length > 0) resolver.setServers(servers);
    return resolver;
  };
  open();
  return {
    // A Resolver for each look-up, because cancel() ends all look-ups of one, and the system's list may have changed.
    caa: (name, signal) =>
      lookUp(name, open(), signal, async (resolver) => (await resolver.resolveCaa(name)).map(toCaaRecord)),
  };
}

async function lookUp<Row>(
  name: string,
  resolver: Resolver,
  signal: AbortSignal,
  query: (resolver: Resolver) => Promise<readonly Row[]>,
): Promise<DnsAnswer<Row>> {
  signal.throwIfAborted();
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const records = await query(resolver);
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
