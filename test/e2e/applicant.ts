// The applicant's side of validation: ports for the clients' own responders, a web root for those without one, and TXT records.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { basename, join } from 'node:path';
import { freePort } from './free-port.ts';
import { openNameServer } from './name-server.ts';

export type Applicant = {
  /** Where the server looks for http-01 and tls-alpn-01. */
  readonly httpPort: number;
  readonly tlsPort: number;
  /** `127.0.0.1:port` of the DNS server that everybody asks. */
  readonly resolver: string;
  /** Takes `{fqdn, value}` at `/present` and `/cleanup`: what a hook calls to write a TXT record. */
  readonly txtUrl: string;
};

export async function openApplicant(): Promise<Applicant & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const names = opened.use(await openNameServer());
  const verbs: Readonly<Record<string, (name: string, value: string) => void>> = {
    '/present': names.add,
    '/cleanup': names.remove,
  };
  const server = await listening(0, async (path, body) => {
    const { fqdn, value } = JSON.parse(body);
    verbs[path]?.(fqdn, value);
    return '';
  });
  opened.defer(() => closed(server));
  const running = opened.move();
  return {
    httpPort: await freePort(),
    tlsPort: await freePort(),
    resolver: names.address,
    txtUrl: `http://127.0.0.1:${portOf(server)}`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Serves the files of a folder as `/.well-known/acme-challenge/...`, for clients that only write files. */
export async function serveWebRoot(folder: string, port: number): Promise<AsyncDisposable> {
  const server = await listening(port, (path) => readFile(join(folder, basename(path)), 'utf8'));
  return { [Symbol.asyncDispose]: () => closed(server) };
}

async function listening(port: number, answer: (path: string, body: string) => Promise<string>): Promise<Server> {
  const server = createServer((request, response) => {
    const text = textOf(request).then((body) => answer(request.url ?? '', body));
    text.then(
      (found) => response.writeHead(200).end(found),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
