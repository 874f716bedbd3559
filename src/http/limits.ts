// What one listener lets strangers hold: time, memory, connections.

export type ListenLimits = {
  /** For the first byte, the TLS handshake, the request line and headers: what a slowloris sends for ever. */
  readonly headersMs: number;
  /** For the whole request, body included. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** Without a byte either way while a request is under way: a client that never reads its answer. */
  readonly stalledMs: number;
  readonly headerBytes: number;
  readonly connections: number;
  readonly requestsPerConnection: number;
};

export const defaultLimits: ListenLimits = {
  headersMs: 10_000,
  requestMs: 60_000,
  // Longer than the 60 s for which load balancers keep an idle connection: they must be the ones to close it.
  keepAliveMs: 65_000,
  // Longer than the deadline of any route, or a slow answer would find its connection gone.
  stalledMs: 120_000,
  headerBytes: 16 * 1024,
  connections: 4_096,
  requestsPerConnection: 10_000,
};

/** As node:http names them. */
export const serverOptions = (limits: ListenLimits) => ({
  headersTimeout: limits.headersMs,
  requestTimeout: limits.requestMs,
  keepAliveTimeout: limits.keepAliveMs,
  maxHeaderSize: limits.headerBytes,
  // Node looks for late requests this often.
  connectionsCheckingInterval: Math.max(20, Math.min(limits.headersMs, limits.requestMs) / 4),
  // The base answers a missing Host itself, in the door's words.
  requireHostHeader: false,
  // No stream for a body that does not come.
  optimizeEmptyRequests: true,
});
