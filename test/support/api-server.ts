// An HTTPS server in the place of an API server: for what a real one does only when something is wrong.
import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import forge from 'node-forge';
import { onTestFinished } from 'vitest';
import { openCluster } from '../../src/kubernetes/client.ts';
import type { Events } from '../../src/telemetry/events.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

type ApiOptions = {
  readonly basePath?: string;
  readonly ca?: string;
  readonly user?: object;
  readonly events?: Events;
};

export const tls = serverCertificate();

/** An HTTPS server and a cluster opened with a kubeconfig for it; token-1 is the token until it is set anew. */
export async function apiServer(handler: Handler, options: ApiOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-api-server-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const requests: { url: string; headers: IncomingMessage['headers']; body: string; atMs: number }[] = [];
  let connections = 0;
  const server = createServer(tls, (request, response) => {
    const recorded = { url: request.url ?? '', headers: request.headers, body: '', atMs: performance.now() };
    requests.push(recorded);
    request.on('data', (chunk) => {
      recorded.body += chunk;
    });
    void handler(request, response);
  });
  let openConnections = 0;
  server.on('secureConnection', (socket) => {
    connections++;
    openConnections++;
    socket.on('close', () => openConnections--);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;

  const caFile = join(folder, `${port}.ca.crt`);
  const kubeconfig = join(folder, `${port}.kubeconfig`);
  const entry = { server: `https://127.0.0.1:${port}${options.basePath ?? ''}`, 'certificate-authority': caFile };
  const setToken = (token: string) => writeFile(kubeconfig, kubeconfigOf(entry, options.user ?? { token }));
  await writeFile(caFile, options.ca ?? tls.cert);
  await setToken('token-1');
  const cluster = await openCluster({ kubeconfig, ...(options.events && { events: options.events }) });
  if (cluster === undefined) throw new Error('a kubeconfig gives a cluster');
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    cluster,
    requests,
    connections: () => connections,
    openConnections: () => openConnections,
    caFile,
    setToken,
    stop,
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await stop();
    },
  };
}

export function json(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function status(reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message };
}

/** JSON is YAML. */
export function kubeconfigOf(cluster: object, user: object, context = 'test', name = 'test'): string {
  return JSON.stringify({
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'acmery-system' } }],
    'current-context': context,
  });
}

/** Self-signed, for 127.0.0.1. */
export function serverCertificate(): { key: string; cert: string } {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(
    createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
  );
  certificate.validity.notBefore = new Date(Date.now() - 3_600_000);
  certificate.validity.notAfter = new Date(Date.now() + 3_600_000);
  const name = [{ name: 'commonName', value: randomUUID() }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }]);
  certificate.sign(forge.pki.privateKeyFromPem(key), forge.md.sha256.create());
  return { key, cert: forge.pki.certificateToPem(certificate) };
}
