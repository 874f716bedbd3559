// Acmery as ACME clients meet it: a root, an intermediate and a directory, made over /v1.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AcmeServer, Eab, ServerKind, Validation } from '../server.ts';
import { type Api, runAcmery } from './acmery-server.ts';

const DAYS = 30;

export const acmery: ServerKind = { name: 'acmery', start: startAcmery };

async function startAcmery(folder: string, { httpPort, tlsPort, resolver }: Validation): Promise<AcmeServer> {
  await using opened = new AsyncDisposableStack();
  const { api, caFile } = opened.use(
    await runAcmery(folder, {
      ACMERY_VALIDATION_HTTP_PORT: String(httpPort),
      ACMERY_VALIDATION_TLS_PORT: String(tlsPort),
      ACMERY_VALIDATION_RESOLVERS: resolver,
      ACMERY_VALIDATION_ALLOW: '127.0.0.0/8',
    }),
  );
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
