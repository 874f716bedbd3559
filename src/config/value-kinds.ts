// The kinds of value that a setting can have: how their text is read, and what they accept in words.
import { BlockList, isIP } from 'node:net';

export type ValueKind<T> = {
  /** Completes the sentence "expected ...". */
  readonly accepts: string;
  /** What is refused is not shown: in a text of another form nobody can tell the secret from the rest. */
  readonly mayHoldSecret?: true;
  /** The value, or undefined when the text is not acceptable. */
  parse(text: string): T | undefined;
};

export type ListenAddress = { readonly host: string; readonly port: number };

const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type DurationUnit = keyof typeof DURATION_UNITS_MS;

const HOST_NAME =
  /^(?=.{1,253}$)(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

const text = (accepts: string): ValueKind<string> => ({
  accepts,
  parse: (value) => (value === '' ? undefined : value),
});

/** What can be sent as a bearer token (RFC 6750 section 2.1). What is refused is never shown. */
export const bearerToken = (minLength: number): ValueKind<string> => ({
  accepts: `${minLength} or more letters, digits and any of -._~+/`,
  parse: (value) => (value.length >= minLength && /^[A-Za-z0-9._~+/-]+=*$/.test(value) ? value : undefined),
});

export const path: ValueKind<string> = text('a path');

export const oneOf = <const T extends string>(...values: readonly T[]): ValueKind<T> => ({
  accepts: values.join(' | '),
  parse: (value) => values.find((candidate) => candidate === value),
});

export const wholeNumber = (from: number, to: number): ValueKind<number> => ({
  accepts: `a whole number from ${from} to ${to}`,
  parse: (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    return number >= from && number <= to ? number : undefined;
  },
});

/** Milliseconds from `250ms`, `30s`, `5m`, `12h` or `30d`. */
export const duration = (fromMs: number, toMs: number): ValueKind<number> => ({
  accepts: `a duration from ${durationText(fromMs)} to ${durationText(toMs)} (250ms, 30s, 5m, 12h, 30d)`,
  parse: (value) => {
    const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(value);
    if (match?.[1] === undefined || !isDurationUnit(match[2])) return undefined;
    const ms = Number(match[1]) * DURATION_UNITS_MS[match[2]];
    return ms >= fromMs && ms <= toMs ? ms : undefined;
  },
});

/** So many in so long, or no limit. */
export type Rate = { readonly count: number; readonly perMs: number } | 'off';

const RATE_UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** `500/s`, `100/m`, `10000/h` or `off`. */
export const rate: ValueKind<Rate> = {
  accepts: 'N/s, N/m or N/h, N from 1 to 1000000, such as 100/h; or off',
  parse: (value) => {
    if (value === 'off') return value;
    const match = /^([1-9]\d{0,6})\/([smh])$/.exec(value);
    const [count, perMs] = [Number(match?.[1]), RATE_UNITS_MS[match?.[2] ?? '']];
    return perMs === undefined || count > 1_000_000 ? undefined : { count, perMs };
  },
};

export const listenAddress: ValueKind<ListenAddress> = {
  accepts: 'host:port, such as 127.0.0.1:8443, [::1]:8443 or 0.0.0.0:0 (port 0: any free one)',
  parse: (value) => {
    const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value);
    const host = match?.[1] ?? match?.[2];
    const port = Number(match?.[3]);
    if (host === undefined || port > 65_535) return undefined;
    if (match?.[1] !== undefined ? isIP(host) !== 6 : isIP(host) !== 4 && !isHostName(host)) return undefined;
    return { host, port };
  },
};

/** An absolute URL of one scheme without credentials, query or fragment; a final slash is dropped. */
export const urlOf = (scheme: 'http' | 'https'): ValueKind<string> => ({
  accepts: `an absolute ${scheme} URL without query, such as ${scheme}://ca.corp.example`,
  parse: (value) => {
    if (!URL.canParse(value)) return undefined;
    const url = new URL(value);
    const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
    return url.protocol === `${scheme}:` && isPlain ? url.href.replace(/\/$/, '') : undefined;
  },
});

const FIRST_LABEL_IS_SLUG = /^https:\/\/\{slug\}\.(?=[^/:])/;

/** As urlOf('https'); `{slug}` may stand for the whole first label of the host, so that every directory has its own. */
export const publicUrl: ValueKind<string> = {
  accepts: `${urlOf('https').accepts}; {slug} may be the first label of its host`,
  parse: (value) => {
    const url = urlOf('https').parse(value);
    const rest = url?.replace(FIRST_LABEL_IS_SLUG, 'https://');
    return rest === undefined || /[{}]|%7[bd]/i.test(rest) ? undefined : url;
  },
};

/** A resolver is named by its address: there is none yet that could look up a name. */
export const dnsServer: ValueKind<string> = {
  accepts: 'an IP address with or without a port, such as 10.0.0.10:53 or [fd00::10]:53',
  parse: (value) => {
    if (isIP(value) === 6) return value.includes('%') ? undefined : `[${value}]:53`;
    const match = /^(?:\[([^\]%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(value);
    const port = Number(match?.[3] ?? 53);
    if (port === 0 || port > 65_535) return undefined;
    if (match?.[1] !== undefined) return isIP(match[1]) === 6 ? `[${match[1]}]:${port}` : undefined;
    return isIP(match?.[2] ?? '') === 4 ? `${match?.[2]}:${port}` : undefined;
  },
};

export const postgresUrl: ValueKind<string> = {
  accepts: 'a URL such as postgres://user:password@host:5432/database?sslmode=verify-full',
  mayHoldSecret: true,
  parse: (value) => (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value) ? value : undefined),
};

/** A comma-separated list; white space around the entries is ignored, an empty text is an empty list. */
export const listOf = <T>(entry: ValueKind<T>): ValueKind<readonly T[]> => ({
  accepts: `a comma-separated list; each entry ${entry.accepts}`,
  parse: (value) => {
    const entries = value.split(',').map((part) => part.trim());
    const values = entries.filter((part) => part !== '').map((part) => entry.parse(part));
    return values.every((parsed) => parsed !== undefined) ? values : undefined;
  },
});

export const cidr: ValueKind<string> = {
  accepts: 'an address or network, such as 10.0.0.0/8 or fd00::1',
  parse: (value) => {
    const [address = '', prefix, ...rest] = value.split('/');
    const family = isIP(address);
    if (family === 0 || address.includes('%') || rest.length > 0) return undefined;
    if (prefix === undefined) return value;
    if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) return undefined;
    new BlockList().addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
    return value;
  },
};

const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const namespaceName: ValueKind<string> = {
  accepts: 'the name of a namespace',
  parse: (value) => (NAMESPACE.test(value) ? value : undefined),
};

export const namespaceOrAny: ValueKind<string> = {
  accepts: 'the name of a namespace, or *',
  parse: (value) => (value === '*' || NAMESPACE.test(value) ? value : undefined),
};

export const tlsName: ValueKind<string> = {
  accepts: 'a host name, *.name or an IP address',
  parse: (value) => (isIP(value) !== 0 || isHostName(value) ? value.toLowerCase() : undefined),
};

const isHostName = (value: string): boolean => HOST_NAME.test(value.toLowerCase());

const isDurationUnit = (unit: string | undefined): unit is DurationUnit =>
  unit !== undefined && Object.hasOwn(DURATION_UNITS_MS, unit);

export function durationText(ms: number): string {
  const units = Object.entries(DURATION_UNITS_MS).reverse();
  const [unit, size] = units.find(([, unitMs]) => ms >= unitMs && ms % unitMs === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
