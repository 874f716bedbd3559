// The shortest way to a leaf: a directory that allows every profile and key type, and an account that is auto-approved.
import { readFile } from 'node:fs/promises';
import { readCertificatePem } from '../../../src/x509/certificate-pem.ts';
import { AcmeClient } from '../../support/acme-client.ts';
import type { Acmery } from '../servers/acmery-server.ts';

export type Enrolment = Disposable & {
  /** The DER of the certificate that an order for these names ends with. */
  issue(names: readonly string[], csr: Buffer, profile: string): Promise<Buffer>;
};

export const profiles = ['server', 'client', 'mtls'] as const;
const allowed_key_types = ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096', 'ed25519'];

export async function openEnrolment(
  { api, acmePort, caFile }: Acmery,
  signing_cert_id: string,
  slug: string,
): Promise<Enrolment> {
  const directory = await api('/directories', {
    directory: { name: slug, slug, signing_cert_id, profiles, allowed_key_types },
  });
  const trust = await readFile(caFile, 'utf8');
  using opened = new DisposableStack();
  const client = opened.use(new AcmeClient({ directoryUrl: directory.directory_url, port: acmePort, trust }));
  const policy = { directory_id: directory.id, name: slug, order_validations: 'auto_approve' };
  await api('/acme_keys', { acme_key: { ...policy, public_key: client.key.publicPem } });
  await client.register();
  const held = opened.move();
  return {
    async issue(names, csr, profile) {
      const order = await client.newOrder(names, { profile });
      const done = await client.finalize(order.json, csr);
      if (done.json?.status !== 'valid')
        throw new Error(`The order for ${names[0]} came to ${order.text} ${done.text}`);
      const { text } = await client.post(done.json.certificate);
      return readCertificatePem(text.slice(0, text.indexOf('-----END') + '-----END CERTIFICATE-----\n'.length)).der;
    },
    [Symbol.dispose]: () => held.dispose(),
  };
}
