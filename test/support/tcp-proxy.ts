// A TCP relay on loopback that can be cut, silenced and mended: a network between the program and what it depends on.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy implements AsyncDisposable {
  readonly port: number;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #connections = 0;
  #isSilent = false;

  private constructor(port: number, target: { readonly host: string; readonly port: number }) {
    this.port = port;
    this.#target = target;
  }

  /** Chooses a port; nothing listens on it before `mend`. */
  static async to(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    server.close();
    await once(server, 'close');
    return new TcpProxy(address.port, target);
  }

  /** That were opened so far. */
  get connections(): number {
    return this.#connections;
  }

  /** Listens, and relays on new connections; one that was silenced stays so. */
  async mend(): Promise<void> {
    this.#isSilent = false;
    if (this.#server !== undefined) return;
    this.#server = createServer((near) => this.#relay(near)).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** A black hole, until `mend`: connections stay open, new ones are accepted, and nothing comes through. */
  silence(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) swallow(socket);
  }

  async cut(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(server, 'close');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cut();
  }

  #relay(near: Socket): void {
    this.#connections++;
    const far = connect(this.#target);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      if (this.#isSilent) swallow(one);
      else one.pipe(other);
    }
  }
}

function swallow(socket: Socket): void {
  socket.unpipe();
  socket.resume();
}
