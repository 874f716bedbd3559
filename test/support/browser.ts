// A headless Chromium, driven by its DevTools protocol: what it asks for, what it complains about, what it shows.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** As the packages of distributions and Google call it. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The command of the first that is in PATH and runs. */
export const findBrowser = (): string | undefined =>
  names.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);

export type Scheme = 'light' | 'dark';

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: ReturnType<typeof JSON.parse>;
  readonly result?: ReturnType<typeof JSON.parse>;
  readonly error?: { readonly message: string };
};

const DEADLINE_MS = 20_000;

/** Trusts every certificate, knows no host but this machine, and forgets everything afterwards. */
export async function openBrowser(command: string): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-browser-'));
  const child = spawn(
    command,
    [
      '--headless=new',
      '--remote-debugging-port=0',
      `--user-data-dir=${folder}`,
      '--ignore-certificate-errors',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
      '--no-first-run',
      '--no-default-browser-check',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-default-apps',
      '--disable-extensions',
      '--disable-sync',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--hide-scrollbars',
      '--mute-audio',
      // Root has no sandbox, and everything it opens here is ours.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const address = await addressOf(child);
  const socket = new WebSocket(address);
  await once(socket, 'open');
  return new Browser(child, folder, socket);
}

async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stderr === null) throw new Error('the browser has no standard error');
  const said: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    const address = /^DevTools listening on (ws:\S+)$/.exec(line)?.[1];
    if (address !== undefined) {
      child.stderr.resume();
      return address;
    }
    said.push(line);
  }
  throw new Error(`The browser ended before it listened: ${said.slice(-5).join(' ')}`);
}

export class Browser implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<ReturnType<typeof JSON.parse>>>();
  readonly #listeners = new Map<string, (message: Message) => void>();
  #last = 0;

  constructor(child: ChildProcess, folder: string, socket: WebSocket) {
    this.#child = child;
    this.#folder = folder;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message: Message & { readonly sessionId?: string } = JSON.parse(String(data));
      if (message.id === undefined) return this.#listeners.get(message.sessionId ?? '')?.(message);
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.result);
      else waiting?.reject(new Error(message.error.message));
    });
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<ReturnType<typeof JSON.parse>> {
    this.#last += 1;
    const waiting = Promise.withResolvers<ReturnType<typeof JSON.parse>>();
    this.#waiting.set(this.#last, waiting);
    this.#socket.send(
      JSON.stringify({ id: this.#last, method, params, ...(sessionId !== undefined && { sessionId }) }),
    );
    return waiting.promise;
  }

  /** A tab with cookies of its own. */
  async openTab(base: string): Promise<Tab> {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(base, (method, params) => this.send(method, params, sessionId));
    this.#listeners.set(sessionId, (message) => tab.hear(message));
    for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await tab.send(`${domain}.enable`);
    return tab;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    // It is not answered: the connection ends with the browser.
    void this.send('Browser.close');
    await ended;
    this.#socket.close();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

type Send = (method: string, params?: object) => Promise<ReturnType<typeof JSON.parse>>;

export class Tab {
  /** URLs of everything that was asked for. */
  readonly requests: string[] = [];
  /** Errors and warnings: of scripts, of the policy, of the network. */
  readonly complaints: string[] = [];
  /** The status that the last page came with. */
  status = 0;
  readonly send: Send;
  readonly #base: string;
  #loaded = Promise.withResolvers<void>();

  constructor(base: string, send: Send) {
    this.#base = base;
    this.send = send;
  }

  hear({ method, params }: Message): void {
    if (method === 'Page.loadEventFired') this.#loaded.resolve();
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Network.responseReceived' && params.type === 'Document') this.status = params.response.status;
    if (method === 'Runtime.exceptionThrown') this.complaints.push(`exception: ${params.exceptionDetails.text}`);
    if (method === 'Runtime.consoleAPICalled' && /error|warning|assert/.test(params.type))
      this.complaints.push(`console: ${JSON.stringify(params.args)}`);
    // That a page has a status of failure is for tests to say.
    if (method === 'Log.entryAdded' && /error|warning/.test(params.entry.level) && params.entry.source !== 'network')
      this.complaints.push(`${params.entry.source}: ${params.entry.text}`);
  }

  async goTo(path: string): Promise<void> {
    await this.during(async () => {
      await this.send('Page.navigate', { url: path.startsWith('/') ? `${this.#base}${path}` : path });
    });
  }

  /** What leads to another page, until that is loaded. */
  async during(action: () => Promise<unknown>): Promise<void> {
    this.#loaded = Promise.withResolvers<void>();
    await action();
    const late = AbortSignal.timeout(DEADLINE_MS);
    const { promise, reject } = Promise.withResolvers<never>();
    late.addEventListener('abort', () => reject(new Error('The page did not load in time.')));
    await Promise.race([this.#loaded.promise, promise]);
  }

  /** The value of an expression in the page, as JSON. */
  async evaluate<Value>(expression: string): Promise<Value> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async setView(width: number, height: number, scheme: Scheme): Promise<void> {
    const isPhone = width < 600;
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: isPhone });
    await this.setMedia(scheme);
  }

  setMedia(scheme: Scheme, media = ''): Promise<unknown> {
    return this.send('Emulation.setEmulatedMedia', {
      media,
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    });
  }

  async type(text: string): Promise<void> {
    await this.send('Input.insertText', { text });
  }

  async press(key: 'Tab' | 'Enter'): Promise<void> {
    const event = { key, code: key, windowsVirtualKeyCode: key === 'Tab' ? 9 : 13, text: key === 'Tab' ? '' : '\r' };
    await this.send('Input.dispatchKeyEvent', { type: key === 'Tab' ? 'rawKeyDown' : 'keyDown', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  /** The whole page, not what is in view alone. */
  async screenshot(file: string): Promise<void> {
    const { cssContentSize } = await this.send('Page.getLayoutMetrics');
    const clip = { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale: 1 };
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
    await writeFile(file, Buffer.from(data, 'base64'));
  }
}
