// What a request to the API server ends in when it does not succeed.

/** What the API server answered instead of success, or why there is no answer. */
export class ClusterError extends Error {
  /** The HTTP status; 0 when there was no answer. */
  readonly code: number;
  /** Kubernetes' word (`NotFound`, `Conflict`, `AlreadyExists`, ...) or `Unreachable`, `Timeout`, `NoCredentials`, `NotKubernetes`, `NotLeading`. */
  readonly reason: string;
  /** When the server asks to come again. */
  readonly retryAfterMs: number | undefined;
  /** Whether these are the words of an API server, and not of something between. */
  readonly isStatus: boolean;

  constructor(
    code: number,
    reason: string,
    message: string,
    options: { retryAfterMs?: number | undefined; isStatus?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ClusterError';
    this.code = code;
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
    this.isStatus = options.isStatus ?? false;
  }
}

/** An answer as it came; `body` is its JSON, undefined where it has none. */
export type ClusterAnswer = {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: unknown;
};

/** Reasons for answers that come without a Status: from a proxy, or from the server's own flow control. */
const reasons: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
};
const SHOWN_CHARACTERS = 200;

/** `what` is the request in words: `GET /api/v1/namespaces/default`. */
export function errorOfAnswer(what: string, { code, headers, text, body }: ClusterAnswer): ClusterError {
  const status = statusOf(body);
  const reason = status.reason || (reasons[code] ?? 'Unknown');
  const said = status.message || text.slice(0, SHOWN_CHARACTERS).trim();
  const retryAfter = headers['retry-after'];
  return new ClusterError(code, reason, `${what}: ${code} ${reason}: ${said}`, {
    isStatus: status.kind !== undefined,
    // The other form, a date, is not what API servers send.
    retryAfterMs:
      typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : undefined,
  });
}

/** Of a Status that comes as an event of a watch, after its answer was a success. */
export function errorOfEvent(what: string, object: unknown): ClusterError {
  const { code = 500, reason = 'Unknown', message = '', details } = statusOf(object);
  const seconds = details?.retryAfterSeconds;
  return new ClusterError(code, reason, `${what}: ${code} ${reason}: ${message}`, {
    isStatus: true,
    retryAfterMs: seconds === undefined ? undefined : seconds * 1_000,
  });
}

type Status = {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
};

function statusOf(body: unknown): Status {
  const status = typeof body === 'object' && body !== null ? (body as Status) : {};
  return status.kind === 'Status' ? status : {};
}
