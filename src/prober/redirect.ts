// Where a redirect may lead: pure, over the Location header that the target has sent and nobody may repeat (SEC-4).

export type Hop = {
  readonly secure: boolean;
  /** A DNS name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  readonly hostHeader: string;
  /** What a relative Location is relative to. */
  readonly url: string;
};

/** Where challenges are looked for: these stand in for 80 and 443 wherever a URL names no port. */
export type ValidationPorts = { readonly httpPort: number; readonly tlsPort: number };

/** H01-4: what comes after `from`, or why it is not followed. */
export function nextHop(location: string, from: Hop, { httpPort, tlsPort }: ValidationPorts): Hop | string {
  const url = URL.parse(location, from.url);
  if (url === null) return 'to something that is no URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'to something that is neither http nor https';
  if (url.username !== '' || url.password !== '') return 'to a URL with credentials';
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? tlsPort : httpPort) : Number(url.port);
  const ports = new Set([80, 443, httpPort, tlsPort]);
  if (!ports.has(port)) return `to a port other than ${[...ports].join(', ')}`;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return { secure, host, port, path: url.pathname + url.search, hostHeader: url.host, url: url.href };
}
