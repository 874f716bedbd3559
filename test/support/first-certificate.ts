// A CA, a directory and a certificate, from a program that runs with a bootstrap token: made over /v1, fetched over ACME.

import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ServingAcmery } from './acmery-process.ts';

const CLIENT = join(import.meta.dirname, 'run-acme-client.ts');
export const BOOTSTRAP_TOKEN = 'a-bootstrap-token-as-long-as-needed';
const NAME = 'shop.corp.example';

/** The certificate that was issued, verified up to the root of its directory. */
export async function firstCertificate(acmery: ServingAcmery, anchorsFile: string): Promise<X509Certificate> {
  const make = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const reply = await acmery.api(`/v1${path}`, { authorization: `Bearer ${BOOTSTRAP_TOKEN}` }, 'POST', body);
    if (reply.status !== 201) throw new Error(`POST /v1${path}: ${reply.status} ${reply.body}`);
    return JSON.parse(reply.body);
  };
  const online = { key_availability: 'online', private_key_type: 'ec_256' };
  const root = await make('/signing_certs', { signing_cert: { ...online, cert_type: 'root', name: 'Root' } });
  const issuing = await make('/signing_certs', {
    signing_cert: { ...online, cert_type: 'intermediate', name: 'Issuing', signing_cert_id: root.id },
  });
  const directory = await make('/directories', {
    directory: { name: 'Web', slug: 'web', signing_cert_id: issuing.id, allowed_dns_identifiers: ['**.corp.example'] },
  });
  const binding = await make('/external_bindings', {
    external_binding: { directory_id: directory.id, name: 'shop', order_validations: 'auto_approve' },
  });
  const { id: kid = '', mac_key: hmac = '', directory_url: server = '' } = binding;
  const { stdout } = await promisify(execFile)(process.execPath, [CLIENT, server, kid, hmac, NAME], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: anchorsFile },
  });
  const [leaf, ...chain] =
    stdout
      .match(/-----BEGIN CERTIFICATE-----[\w+/=\s]+-----END CERTIFICATE-----/g)
      ?.map((pem) => new X509Certificate(pem)) ?? [];
  const issuer = chain[0];
  const anchor = new X509Certificate(directory.root_cert ?? '');
  if (leaf === undefined || issuer === undefined || !leaf.verify(issuer.publicKey) || !issuer.verify(anchor.publicKey))
    throw new Error(`What was issued does not chain to the root: ${stdout}`);
  return leaf;
}
