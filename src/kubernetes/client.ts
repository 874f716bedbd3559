// The connection to a Kubernetes API server: JSON requests with deadlines, bounded retries and typed errors.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Events } from '../telemetry/events.ts';
import type { Environment } from './access.ts';
import { type ClusterAnswer, ClusterError, errorOfAnswer } from './cluster-error.ts';
import { type Credentials, type CredentialsSource, openCredentials } from './credentials.ts';
import { isInPod, SERVICE_ACCOUNT } from './pod-access.ts';
import { unlessAborted } from './unless-aborted.ts';

export type ClusterRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the server's address, with its query: `/api/v1/namespaces?limit=500`. */
  readonly path: string;
  readonly body?: unknown;
  /** Of the body; a PATCH must say which kind of patch it is. Default: `application/json`. */
  readonly contentType?: string;
  /** The form in which the answer is wanted. Default: `application/json`. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** Throws where it must not be sent any more; asked each time just before it is. */
  readonly mayBeSent?: () => void;
  /** For everything together: retries, their waits and the reading of the answer. */
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 30_000;
const MAX_RETRIES = 3;

export type ClusterOptions = {
  /** A path, or several as in KUBECONFIG. */
  readonly kubeconfig?: string | undefined;
  /** The folder that Kubernetes mounts into a pod. */
  readonly serviceAccount?: string;
  readonly environment?: Environment;
  readonly events?: ClusterEvents;
};

/** Undefined when there is neither a kubeconfig nor a ServiceAccount. Sends nothing yet. Throws ClusterError `NoCredentials`. */
export async function openCluster(options: ClusterOptions): Promise<Cluster | undefined> {
  const { kubeconfig, serviceAccount = SERVICE_ACCOUNT, environment = {}, events } = options;
  if (kubeconfig === undefined && !isInPod(serviceAccount)) return undefined;
  const source = await openCredentials(
    kubeconfig === undefined ? { serviceAccount, environment } : { kubeconfig, environment },
  );
  return new Cluster(source, await source.load(), events);
}

/** What those need of it who neither open nor close it. */
export type ClusterRequests = Pick<Cluster, 'server' | 'request' | 'stream'>;

type ClusterEvents = Pick<Events, 'clusterAnswered'>;
/** What is sent: a watch is a request whose answer does not end. */
type Sent = Omit<ClusterRequest, 'signal' | 'timeoutMs'> & { readonly isWatch: boolean };

export class Cluster {
  readonly #source: CredentialsSource;
  readonly #events: ClusterEvents | undefined;
  #credentials: Credentials;
  #renewal: Promise<void> | undefined;

  constructor(source: CredentialsSource, credentials: Credentials, events?: ClusterEvents) {
    this.#source = source;
    this.#credentials = credentials;
    this.#events = events;
  }

  get server(): string {
    return this.#credentials.address.server;
  }

  /** The namespace of the kubeconfig's context or of the ServiceAccount. */
  get namespace(): string | undefined {
    return this.#credentials.namespace;
  }

  /** The JSON of a successful answer, as the server sent it. Throws ClusterError, or the signal's reason. */
  async request<Reply = unknown>(request: ClusterRequest): Promise<Reply> {
    const timeoutMs = request.timeoutMs ?? TIMEOUT_MS;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
    try {
      return (await this.#untilAnswered(request, signal, performance.now() + timeoutMs)) as Reply;
    } catch (error) {
      if (error instanceof ClusterError) throw error;
      request.signal?.throwIfAborted();
      if (deadline.aborted) {
        const message = `${nameOf(request)}: ${this.server} did not answer within ${timeoutMs} ms.`;
        throw new ClusterError(0, 'Timeout', message, { cause: error });
      }
      throw this.#explained(request, error);
    }
  }

  /**
   * The body of a successful answer as it comes. It has no deadline: the signal ends it. Throws ClusterError, or the
   * signal's reason.
   */
  async *stream(path: string, signal: AbortSignal, accept?: string): AsyncGenerator<Buffer> {
    const request: Sent = { method: 'GET', path, isWatch: true, ...(accept !== undefined && { accept }) };
    try {
      const credentials = this.#credentials;
      let reply = await this.#send(request, credentials, signal);
      if (reply.statusCode === 401) {
        await reply.body.dump();
        await unlessAborted(this.#renew(credentials), signal);
        reply = await this.#send(request, this.#credentials, signal);
      }
      if (reply.statusCode >= 300) throw errorOfAnswer(nameOf(request), await answerOf(reply));
      yield* reply.body;
    } catch (error) {
      if (error instanceof ClusterError) throw error;
      signal.throwIfAborted();
      throw this.#explained(request, error);
    }
  }

  /** Requests still under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source[Symbol.asyncDispose]();
  }

  async #untilAnswered(request: ClusterRequest, signal: AbortSignal, endsAtMs: number): Promise<unknown> {
    let retries = 0;
    let hasRenewed = false;
    for (;;) {
      const credentials = this.#credentials;
      const answer = await answerOf(await this.#send({ ...request, isWatch: false }, credentials, signal));
      if (answer.code < 300) return bodyOf(answer, request);

      const error = errorOfAnswer(nameOf(request), answer);
      if (error.code === 401 && !hasRenewed) {
        hasRenewed = true;
        await unlessAborted(this.#renew(credentials), signal);
        continue;
      }
      const waitMs = waitBeforeRetry(error);
      if (waitMs === undefined || retries === MAX_RETRIES || performance.now() + waitMs >= endsAtMs) throw error;
      retries++;
      await sleep(waitMs, undefined, { signal });
    }
  }

  async #send(request: Sent, credentials: Credentials, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { headers, requests, watches } = await unlessAborted(credentials.authenticate(), signal);
    request.mayBeSent?.();
    const { origin, basePath, host } = credentials.address;
    const hasBody = request.body !== undefined;
    const startedAt = performance.now();
    const answered = (code: string): void =>
      this.#events?.clusterAnswered({
        host,
        method: request.method,
        code,
        durationMs: performance.now() - startedAt,
      });
    try {
      const sent = (request.isWatch ? watches : requests).request({
        origin,
        path: `${basePath}${request.path}`,
        method: request.method,
        headers: {
          ...headers,
          accept: request.accept ?? 'application/json',
          'user-agent': 'acmery',
          ...(hasBody && { 'content-type': request.contentType ?? 'application/json' }),
        },
        body: hasBody ? JSON.stringify(request.body) : null,
        signal,
      });
      // A request that waits for a connection does not hear the signal before it has one.
      const reply = await unlessAborted(sent, signal);
      answered(`${reply.statusCode}`);
      return reply;
    } catch (error) {
      answered('<error>');
      throw error;
    }
  }

  /** What the network did to a request; anything else is a bug. */
  #explained(request: Pick<ClusterRequest, 'method' | 'path'>, error: unknown): unknown {
    if (!isNetworkError(error)) return error;
    const message = `${nameOf(request)}: ${this.server} cannot be reached: ${error.message || error.code}.`;
    return new ClusterError(0, 'Unreachable', message, { cause: error });
  }

  /** Reads token and certificates anew, once for all requests that were refused with the same ones. */
  async #renew(refused: Credentials): Promise<void> {
    if (this.#credentials !== refused) return;
    this.#renewal ??= this.#source
      .load()
      .then((credentials) => {
        this.#credentials = credentials;
      })
      .finally(() => {
        this.#renewal = undefined;
      });
    await this.#renewal;
  }
}

async function answerOf(reply: Dispatcher.ResponseData): Promise<ClusterAnswer> {
  const text = await reply.body.text();
  return { code: reply.statusCode, headers: reply.headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bodyOf({ code, text, body }: ClusterAnswer, request: ClusterRequest): unknown {
  if (body !== undefined || text === '') return body;
  const message = `${nameOf(request)}: expected JSON, got something else. Is the address that of a Kubernetes API server?`;
  throw new ClusterError(code, 'NotKubernetes', message);
}

/** With Retry-After the server says that it did nothing, so that any request may be sent again. */
const waitBeforeRetry = ({ code, retryAfterMs }: ClusterError): number | undefined =>
  code === 429 || code === 503 ? retryAfterMs : undefined;

const nameOf = ({ method, path }: Pick<ClusterRequest, 'method' | 'path'>): string => `${method} ${path}`;

const isNetworkError = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';
