// The plane's own certificate authority: one CA for servers and users, and the key that signs ServiceAccount tokens.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assembleCertificate, buildTbsCertificate, newSerial } from '../../../src/x509/certificate.ts';
import { certificatePem } from '../../../src/x509/certificate-pem.ts';
import { encodeDer, oid, sequence, setOfOne, utf8 } from '../../../src/x509/der-writer.ts';
import {
  basicConstraints,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../../src/x509/extensions.ts';
import { oids } from '../../../src/x509/oids.ts';
import { toPem } from '../../../src/x509/pem.ts';
import { generatePrivateKey, type PrivateKey, pkcs8Of, readPrivateKey } from '../../../src/x509/private-key.ts';
import { signerOf } from '../../../src/x509/signer.ts';
import { keyIdentifierOf } from '../../../src/x509/spki.ts';

/** PEM, as kubeconfigs and command lines take it. */
export type KeyPair = { readonly certificate: string; readonly key: string };

const DAY_MS = 86_400_000;
const authority = 'plane CA';

/** Writes `ca.crt`, `ca.key`, `tls.crt`, `tls.key` (the API server's) and `service-accounts.key` with its `.pub`. */
export async function writePki(folder: string): Promise<void> {
  const [ca, server, serviceAccounts] = await Promise.all([newKey(), newKey(), newKey()]);
  const caExtensions = [
    basicConstraints({ ca: true }),
    keyUsage('keyCertSign', 'cRLSign'),
    subjectKeyIdentifier(keyIdentifierOf(ca.spki)),
  ];
  const loopback = subjectAltName(
    [
      { type: 'ip', value: '127.0.0.1' },
      { type: 'dns', value: 'localhost' },
    ],
    { critical: false },
  );
  const files = {
    'ca.crt': await certificate({ subject: nameOf(authority), key: ca, ca, extensions: caExtensions }),
    'ca.key': pemOf(ca),
    'tls.crt': await certificate({
      subject: nameOf('kube-apiserver'),
      key: server,
      ca,
      extensions: [extendedKeyUsage('serverAuth'), loopback],
    }),
    'tls.key': pemOf(server),
    'service-accounts.key': pemOf(serviceAccounts),
    'service-accounts.pub': toPem('PUBLIC KEY', serviceAccounts.spki),
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text, { mode: 0o600 })));
}

/** What the API server takes for a user (CN) in groups (one O each). */
export async function issueUser(folder: string, user: string, groups: readonly string[]): Promise<KeyPair> {
  const ca = await readPrivateKey(await readFile(join(folder, 'ca.key'), 'utf8'));
  const key = await newKey();
  const extensions = [extendedKeyUsage('clientAuth')];
  return { certificate: await certificate({ subject: nameOf(user, groups), key, ca, extensions }), key: pemOf(key) };
}

async function certificate(parts: {
  readonly subject: Buffer;
  readonly key: PrivateKey;
  readonly ca: PrivateKey;
  readonly extensions: readonly Extension[];
}): Promise<string> {
  const signer = signerOf(parts.ca);
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: nameOf(authority),
    subject: parts.subject,
    notBefore: wholeSeconds(Date.now() - DAY_MS),
    notAfter: wholeSeconds(Date.now() + DAY_MS),
    spki: parts.key.spki,
    issuerKeyType: signer.keyType,
    extensions: parts.extensions,
  });
  return certificatePem(assembleCertificate(tbs, signer.keyType, await signer.sign(tbs)));
}

const newKey = (): Promise<PrivateKey> => generatePrivateKey('ec_256');
const pemOf = (key: PrivateKey): string => toPem('PRIVATE KEY', pkcs8Of(key));

/** By hand: `buildName` knows one organisation, and a user may be in several groups. */
const nameOf = (commonName: string, organisations: readonly string[] = []): Buffer =>
  encodeDer(
    sequence(
      ...organisations.map((value) => setOfOne(sequence(oid(oids.organizationName), utf8(value)))),
      setOfOne(sequence(oid(oids.commonName), utf8(commonName))),
    ),
  );

const wholeSeconds = (ms: number): Date => new Date(Math.floor(ms / 1_000) * 1_000);
