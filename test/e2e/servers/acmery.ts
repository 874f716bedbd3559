// Acmery as a user sets it up: a process of its own, a token, and a root, an intermediate and a directory made over /v1.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { serveAcmery } from '../../support/acmery-process.ts';
import { freePort } from '../free-port.ts';
import type { AcmeServer, Eab, ServerKind, Validation } from '../server.ts';

const DAYS = 30;

export const acmery: ServerKind = { name: 'acmery', start: startAcmery };

/** Sends to /v1 and returns the JSON of the reply. */
type Api = (path: string, body?: unknown) => Promise<ReturnType<typeof JSON.parse>>;

async function startAcmery(folder: string, { httpPort, tlsPort, resolver }: Validation): Promise<AcmeServer> {
  await using opened = new AsyncDisposableStack();
  const token = randomBytes(24).toString('hex');
  const acmePort = await freePort();
  const env = {
    ACMERY_BOOTSTRAP_TOKEN: token,
    ACMERY_PUBLIC_URL: `https://localhost:${acmePort}`,
    ACMERY_VALIDATION_HTTP_PORT: String(httpPort),
    ACMERY_VALIDATION_TLS_PORT: String(tlsPort),
    ACMERY_VALIDATION_RESOLVERS: resolver,
    ACMERY_VALIDATION_ALLOW: '127.0.0.0/8',
  };
  const dataDir = join(folder, 'data');
  const running = opened.use(await serveAcmery(dataDir, ['--acme-listen', `127.0.0.1:${acmePort}`], { env }));
  // Before a folder can go, the Postgres in it must have ended.
  opened.defer(() => running.stop('SIGTERM').then(() => undefined));
  await running.untilReady();
  const caFile = join(dataDir, 'tls/ca.crt');
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile) } });
  opened.defer(() => dispatcher.close());
  const api = apiOf(`https://localhost:${running.apiPort}/v1`, token, dispatcher);

  const directory = await makeDirectory(api);
  const rootFile = join(folder, 'root.pem');
  await writeFile(rootFile, directory.root_cert);
  const isServing = opened.move();
  return {
    directoryUrl: directory.directory_url,
    caFile,
    rootFile,
    defaultDays: DAYS,
    eab: () => makePair(api, directory.id, 'challenge'),
    autoEab: () => makePair(api, directory.id, 'auto_approve'),
    async registerKey(publicKey, orderValidations) {
      const named = { directory_id: directory.id, name: orderValidations, order_validations: orderValidations };
      await api('/acme_keys', { acme_key: { ...named, public_key: publicKey } });
    },
    async isRevoked(serial) {
      const { collection } = await api(`/issued_certs?directory_id=${directory.id}&serial=${serial}`);
      return collection[0]?.state === 'revoked';
    },
    [Symbol.asyncDispose]: () => isServing.disposeAsync(),
  };
}

async function makeDirectory(api: Api): ReturnType<Api> {
  const common = { key_availability: 'online', private_key_type: 'ec_256' };
  const root = await api('/signing_certs', { signing_cert: { ...common, cert_type: 'root', name: 'E2E Root' } });
  const issuing = await api('/signing_certs', {
    signing_cert: { ...common, cert_type: 'intermediate', name: 'E2E Issuing', signing_cert_id: root.id },
  });
  return api('/directories', {
    directory: {
      name: 'E2E',
      slug: 'e2e',
      signing_cert_id: issuing.id,
      allowed_dns_identifiers: ['**.corp.example'],
      allowed_ip_identifiers: ['127.0.0.0/8'],
      cert_max_days: DAYS,
    },
  });
}

async function makePair(api: Api, directoryId: string, orderValidations: string): Promise<Eab> {
  const { id, mac_key: hmac } = await api('/external_bindings', {
    external_binding: { directory_id: directoryId, name: orderValidations, order_validations: orderValidations },
  });
  return { kid: id, hmac };
}

const apiOf =
  (base: string, token: string, dispatcher: Agent): Api =>
  async (path, body) => {
    const reply = await fetch(`${base}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      dispatcher,
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${text}`);
    return JSON.parse(text);
  };
