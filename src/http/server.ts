// One listening port: opens it, bounds what strangers can make it hold, shows the current certificate, drains.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Events } from '../telemetry/events.ts';
import { refusalOf, refuseSocket } from './client-error.ts';
import { defaultLimits, type ListenLimits, serverOptions } from './limits.ts';
import { formatAddress, type ListenAddress, listenError } from './listen-address.ts';
import type { MountedDoor } from './mount.ts';
import { sniffPlainHttp } from './tls-sniff.ts';
import type { TlsPair, TlsSource } from './tls-source.ts';

export type ListenOptions = {
  /** Named in the sentence that says why listening failed. */
  readonly setting: string;
  /** Port 0 takes any that is free. */
  readonly address: ListenAddress;
  readonly door: MountedDoor;
  readonly events: Events;
  /** Plain HTTP when absent. */
  readonly tls?: TlsSource;
  readonly limits?: Partial<ListenLimits>;
};

type Drained = { readonly cutConnections: number };

/** Throws ListenError with one sentence that says what to change. */
export async function openListener(options: ListenOptions): Promise<Listener> {
  const listener = new Listener(options);
  try {
    await listener.listen(options.address);
  } catch (error) {
    throw error instanceof Error ? listenError(options.setting, options.address, error) : error;
  }
  options.events.listenerOpened({ door: options.door.name, url: listener.url });
  return listener;
}

export class Listener implements AsyncDisposable {
  readonly #door: MountedDoor;
  readonly #events: Events;
  readonly #scheme: 'http' | 'https';
  readonly #server: ReturnType<typeof createServer>;
  readonly #sockets = new Set<Socket>();
  readonly #unanswered = new Set<ServerResponse>();
  readonly #closeSilent: () => void;
  readonly #stopWatchingTls: () => void;
  #drained: Promise<Drained> | undefined;

  constructor({ door, events, tls, limits: asked }: ListenOptions) {
    const limits = { ...defaultLimits, ...asked };
    this.#door = door;
    this.#events = events;
    this.#scheme = tls === undefined ? 'http' : 'https';
    if (tls === undefined) {
      this.#server = createServer(serverOptions(limits));
      this.#stopWatchingTls = this.#closeSilent = () => undefined;
    } else {
      const options = { ...contextOf(tls.current()), ...serverOptions(limits), handshakeTimeout: limits.headersMs };
      const server = createTlsServer(options);
      this.#server = server;
      this.#stopWatchingTls = tls.onChange((pair) => server.setSecureContext(contextOf(pair)));
      this.#closeSilent = sniffPlainHttp(server, limits.headersMs, (socket) =>
        refuseSocket(socket, 'tls_expected', door.refuse),
      );
    }
    this.#server.maxConnections = limits.connections;
    // Node 24 leaves out the headers beyond its own limit without a word; the base counts them and refuses.
    this.#server.maxHeadersCount = 0;
    this.#server.timeout = limits.stalledMs;
    this.#server.maxRequestsPerSocket = limits.requestsPerConnection;
    this.#server.on('drop', () => events.connectionDropped({ door: door.name }));
    this.#server.on('connection', (socket: Socket) => this.#track(socket));
    this.#server.on('clientError', (error, socket) => this.#refuseBytes(error, socket));
    for (const event of ['request', 'checkContinue'] as const)
      this.#server.on(event, (request, response) => {
        this.#watch(response);
        door.listener(request, response);
      });
  }

  /** Resolves once connections are taken; rejects with the system's error. */
  async listen({ host, port }: ListenAddress): Promise<void> {
    this.#server.listen({ host, port });
    await once(this.#server, 'listening');
    this.#server.on('error', (error) => this.#events.internalError({ where: this.#door.name, error }));
  }

  /** Where connections are taken, with the port that the system chose for port 0. */
  get address(): ListenAddress {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The listener is closed.');
    return { host: address.address, port: address.port };
  }

  get url(): string {
    return `${this.#scheme}://${formatAddress(this.address)}`;
  }

  /** Takes no more connections, lets requests under way finish until the deadline, then cuts what is left. */
  drain(deadlineMs: number): Promise<Drained> {
    this.#drained ??= this.#drain(deadlineMs);
    return this.#drained;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }

  async #drain(deadlineMs: number): Promise<Drained> {
    let cutConnections = 0;
    const closed = once(this.#server, 'close');
    this.#stopWatchingTls();
    // Not the HTTP server's own close: to it a connection is idle as soon as its reply is handed over, sent or not.
    NetServer.prototype.close.call(this.#server);
    this.#closeSilent();
    this.#closeIdle();
    for (const response of this.#unanswered) closeAfter(response);
    const timer = setTimeout(() => {
      cutConnections = this.#sockets.size;
      for (const socket of this.#sockets) socket.destroy();
    }, deadlineMs);
    await closed;
    clearTimeout(timer);
    // Ends its search for late requests, which is all that is left of it.
    this.#server.close();
    return { cutConnections };
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #watch(response: ServerResponse): void {
    this.#unanswered.add(response);
    if (this.#drained !== undefined) closeAfter(response);
    response.on('close', () => {
      this.#unanswered.delete(response);
      // One whose head was sent before the drain began leaves an idle connection behind.
      if (this.#drained !== undefined) setImmediate(() => this.#closeIdle());
    });
  }

  #closeIdle(): void {
    const isSending = (response: ServerResponse) => response.writableEnded && !response.writableFinished;
    if (![...this.#unanswered].some(isSending)) this.#server.closeIdleConnections();
  }

  #refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
    const begun = [...this.#unanswered].filter((response) => response.req.socket === socket);
    // An answer in the middle of another one would be read as part of it.
    const isFree = begun.length <= 1 && begun.every((response) => !response.headersSent);
    const kind = refusalOf(error);
    if (isFree && kind !== undefined) refuseSocket(socket, kind, this.#door.refuse);
    else socket.destroy();
  }
}

/** RFC 9325: forward secrecy and authenticated encryption alone, which leaves out CBC and RSA key exchange. */
const ciphers = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE+AESGCM', 'ECDHE+CHACHA20'],
].join(':');

const contextOf = ({ certificate, key }: TlsPair) => ({
  cert: certificate,
  key,
  ciphers,
  minVersion: 'TLSv1.2' as const,
});

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}
