// Receives NOTIFY on one connection of its own, and comes back by itself when that is lost.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

export type ListenerEvents = {
  /** Listening has begun, for the first time or again: what was notified before is lost, so look at the tables. */
  readonly onListening?: () => void;
  /** Notifications are being lost from now on. */
  readonly onLost?: () => void;
};

/** By channel, what to do with the payload of a notification ('' when it has none); must not throw. */
export type ChannelHandlers = Readonly<Record<string, (payload: string) => void>>;

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A connection that a firewall has forgotten looks alive from here: ask now and then. */
const HEARTBEAT_MS = 15_000;
const GOODBYE_MS = 1_000;

export class Listener {
  readonly #connect: () => Promise<pg.Client>;
  readonly #random: () => number;
  readonly #handlers: ChannelHandlers;
  readonly #events: ListenerEvents;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #isListening = false;

  /** `connect` gives a connected client or throws; `random` gives numbers between 0 and 1. */
  constructor(
    connect: () => Promise<pg.Client>,
    random: () => number,
    handlers: ChannelHandlers,
    events: ListenerEvents,
  ) {
    this.#connect = connect;
    this.#random = random;
    this.#handlers = handlers;
    this.#events = events;
    this.#running = this.#run();
  }

  /** False while notifications are being lost. */
  get isListening(): boolean {
    return this.#isListening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const client = await this.#connect().catch(() => undefined);
      if (client !== undefined) {
        const ended = new AbortController();
        client.on('end', () => ended.abort());
        if (await this.#listen(client, ended.signal)) failures = 0;
        if (!ended.signal.aborted) await sayGoodbye(client);
      }
      const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
      await pause(longest * (0.5 + this.#random() / 2), undefined, { signal }).catch(() => {});
    }
  }

  /** Serves until the connection is lost or we close; false when listening never began. */
  async #listen(client: pg.Client, ended: AbortSignal): Promise<boolean> {
    client.on('notification', ({ channel, payload }) => this.#handlers[channel]?.(payload ?? ''));
    try {
      for (const channel of Object.keys(this.#handlers)) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      this.#isListening = true;
      this.#events.onListening?.();
      const over = AbortSignal.any([this.#closing.signal, ended]);
      while (!over.aborted) {
        await pause(HEARTBEAT_MS, undefined, { signal: over }).catch(() => {});
        if (!over.aborted) await client.query('select 1');
      }
    } catch {
      // The connection is lost, or too slow to be of use: both are told by onLost and cured by a new one.
    }
    const wasListening = this.#isListening;
    this.#isListening = false;
    if (wasListening) this.#events.onLost?.();
    return wasListening;
  }
}

async function sayGoodbye(client: pg.Client): Promise<void> {
  const deadline = AbortSignal.timeout(GOODBYE_MS);
  const closed = once(client, 'end', { signal: deadline });
  client.end(() => {});
  await closed.catch(() => client.connection.stream.destroy());
}
