// Issued certs for tests: really signed by their CA, stored with the valid order that they came from.
import { isIP } from 'node:net';
import type { Ca } from '../../src/core/ca.ts';
import { newUuid } from '../../src/core/ids.ts';
import { assembleCertificate, buildTbsCertificate, newSerial, parseCertificate } from '../../src/x509/certificate.ts';
import { basicConstraints, keyUsage, subjectAltName } from '../../src/x509/extensions.ts';
import { jwkOf, thumbprintOf } from '../../src/x509/jwk.ts';
import { buildName } from '../../src/x509/name.ts';
import { generatePrivateKey } from '../../src/x509/private-key.ts';
import { DAY_MS } from './clock.ts';
import { type GivenAccount, givenOrder } from './given-order.ts';

export type GivenCert = {
  readonly id: string;
  readonly orderId: string;
  readonly serial: Buffer;
  readonly der: Buffer;
  readonly expiresAt: Date;
};

type Wanted = {
  readonly names?: readonly string[];
  readonly validForDays?: number;
  /** Another CA cert than that of the account: the directory's earlier one. */
  readonly signingCertId?: string;
  readonly serial?: Buffer;
  /** DER SubjectPublicKeyInfo; one that all share unless it is given. */
  readonly spki?: Buffer;
};

const leafKey = generatePrivateKey('ec_256');

export async function givenIssuedCert(ca: Ca, account: GivenAccount, wanted: Wanted = {}): Promise<GivenCert> {
  const { names = ['shop.corp.example'], validForDays = 90, signingCertId = account.signingCertId } = wanted;
  const { db } = ca.database;
  const now = ca.clock.now();
  const issuer = await db
    .selectFrom('signing_certs')
    .select(['subject_der', 'key_ref'])
    .where('id', '=', signingCertId)
    .executeTakeFirstOrThrow();
  const signer = await ca.keys.signer(issuer.key_ref ?? '');
  const { spki } = wanted.spki === undefined ? await leafKey : { spki: wanted.spki };
  const identifiers = names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const);
  const tbs = buildTbsCertificate({
    serial: wanted.serial ?? newSerial(),
    issuer: issuer.subject_der ?? Buffer.alloc(0),
    subject: buildName({}),
    notBefore: now,
    notAfter: new Date(now.getTime() + validForDays * DAY_MS - 1000),
    spki,
    extensions: [
      subjectAltName(identifiers, { critical: true }),
      basicConstraints({ ca: false }),
      keyUsage('digitalSignature'),
    ],
    issuerKeyType: signer.keyType,
  });
  const der = assembleCertificate(tbs, signer.keyType, await signer.sign(tbs));
  const { serial, notBefore, notAfter } = parseCertificate(der);
  const id = newUuid(now);
  const orderId = await givenOrder(ca, account, { state: 'valid', issued_cert_id: id, identifiers });
  await db
    .insertInto('issued_certs')
    .values({
      id,
      order_id: orderId,
      acme_key_id: account.acmeKeyId,
      directory_id: account.directoryId,
      signing_cert_id: signingCertId,
      not_before: notBefore,
      not_after: notAfter,
      state: 'valid',
      serial,
      key_thumbprint: thumbprintOf(jwkOf(spki, 'the key')),
      subjects: names,
      der,
    })
    .execute();
  await db
    .insertInto('issued_cert_names')
    .values([...new Set(names)].map((name) => ({ name, issued_cert_id: id })))
    .execute();
  return { id, orderId, serial, der, expiresAt: notAfter };
}
