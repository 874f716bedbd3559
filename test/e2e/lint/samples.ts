// What linters are given: certificates, CRLs and OCSP answers of a running server, fetched as its clients fetch them.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { keyTypes, type LeafKeyType, leafKeyTypes } from '../../../src/x509/algorithms.ts';
import { parseCertificate } from '../../../src/x509/certificate.ts';
import { readCertificatePem } from '../../../src/x509/certificate-pem.ts';
import { parseCrl } from '../../../src/x509/crl-reader.ts';
import { type Extension, mustStaple } from '../../../src/x509/extensions.ts';
import type { SubjectName } from '../../../src/x509/general-name.ts';
import type { NameFields } from '../../../src/x509/name.ts';
import { generatePrivateKey } from '../../../src/x509/private-key.ts';
import { eventually } from '../../support/eventually.ts';
import { ocspRequest, readOcspAnswer } from '../../support/ocsp.ts';
import { aCsr, aKey, dns, ip, san } from '../../unit/x509/builders.ts';
import type { Acmery, Api } from '../servers/acmery-server.ts';
import { type Enrolment, openEnrolment, profiles } from './enrolment.ts';

type Role = 'root' | 'intermediate' | 'leaf' | 'revoked' | 'responder';

export type Sample = {
  readonly kind: 'certificate' | 'crl' | 'ocsp';
  /** As reports call it. */
  readonly name: string;
  readonly der: Buffer;
  /** Of certificates alone. */
  readonly role?: Role;
  /** How many certificates an OCSP answer is about; one where nothing is said. */
  readonly statements?: number;
};

export type Group = { readonly name: string; readonly samples: readonly Sample[] };

const reasons = [0, 1, 2, 3, 4, 5, 9, 10] as const;
const REVOCATION_DEADLINE_MS = 30_000;

type CaWish = {
  readonly name: string;
  readonly root: Readonly<Record<string, unknown>>;
  readonly intermediate: Readonly<Record<string, unknown>>;
  readonly leafKeyTypes: readonly LeafKeyType[];
};

const constrained: CaWish = {
  name: 'a constrained CA',
  root: {
    private_key_type: 'ec_256',
    subject: { C: 'DE', ST: 'Bayern', L: 'München', O: 'Größe & Söhne', OU: 'PKI', CN: 'Constrained Root' },
    // Ends after 2049: such dates are written in another way.
    valid_days: 14_600,
    path_length: 2,
    name_constraints: {
      permitted_dns: ['corp.example'],
      excluded_dns: ['deep.secret.corp.example'],
      permitted_ip: ['10.0.0.0/8', 'fd00::/8'],
      excluded_ip: ['10.9.0.0/16'],
    },
  },
  intermediate: {
    private_key_type: 'ec_256',
    path_length: 1,
    valid_days: 14_600,
    name_constraints: { permitted_dns: ['corp.example'], permitted_ip: ['10.0.0.0/16', 'fd00::/16'] },
  },
  leafKeyTypes: ['ec_256'],
};

const wishes: readonly CaWish[] = [
  ...keyTypes.map((keyType) => ({
    name: `a CA of ${keyType}`,
    root: { private_key_type: keyType },
    intermediate: { private_key_type: keyType },
    leafKeyTypes,
  })),
  constrained,
];

type LeafWish = {
  readonly names: readonly SubjectName[];
  readonly subject?: NameFields;
  readonly extensions?: readonly Extension[];
};

/** What leaves hold, besides profiles and keys. */
const leaves: Readonly<Record<string, LeafWish>> = {
  'a wildcard': { names: [dns('*.corp.example')] },
  'two addresses': { names: [ip('10.0.0.1'), ip('fd00::1')] },
  'a name of more than 64 characters': { names: [dns(`${'a'.repeat(60)}.corp.example`)] },
  'an internationalised name': { names: [dns('xn--bcher-kva.corp.example')] },
  'a common name': { names: [dns('shop.corp.example')], subject: { CN: 'shop.corp.example' } },
  'a hundred names': { names: Array.from({ length: 100 }, (_, index) => dns(`n${index}.corp.example`)) },
  'must-staple': { names: [dns('shop.corp.example')], extensions: [mustStaple()] },
};

/** Everything that a server makes, a group for each CA and one for its own HTTPS. */
export async function makeSamples(server: Acmery): Promise<readonly Group[]> {
  const groups: Group[] = [];
  for (const [index, wish] of wishes.entries())
    groups.push({ name: wish.name, samples: await samplesOf(server, wish, `lint-${index}`) });
  return [...groups, { name: 'our own HTTPS', samples: await servingSamples(server) }];
}

async function samplesOf(server: Acmery, wish: CaWish, slug: string): Promise<readonly Sample[]> {
  const { api } = server;
  const root = await makeCa(api, { ...wish.root, cert_type: 'root', name: `${wish.name}, root` });
  const issuing = await makeCa(api, {
    ...wish.intermediate,
    cert_type: 'intermediate',
    name: `${wish.name}, issuing`,
    signing_cert_id: root.id,
  });
  using enrolment = await openEnrolment(server, issuing.id, slug);
  const issued = [...(await byProfile(enrolment, wish.leafKeyTypes)), ...(await byContents(enrolment))];
  const revoked = await revokeAll(api, enrolment, issuing.id);
  const [first] = issued;
  if (first === undefined) throw new Error('no leaf was issued');
  return [
    { kind: 'certificate', role: 'root', name: 'root', der: derOf(root.public_cert) },
    { kind: 'certificate', role: 'intermediate', name: 'intermediate', der: derOf(issuing.public_cert) },
    ...issued,
    ...revoked,
    { kind: 'crl', name: 'empty CRL', der: await crlWith(server, root.id, 0) },
    { kind: 'crl', name: 'CRL with every reason', der: await crlWith(server, issuing.id, reasons.length) },
    ...(await ocspSamples(server, root, [derOf(issuing.public_cert)])),
    ...(await ocspSamples(server, issuing, [first.der, ...revoked.map(({ der }) => der)])),
  ];
}

type CaCert = { readonly id: string; readonly public_cert: string };

const makeCa = (api: Api, wish: Readonly<Record<string, unknown>>): Promise<CaCert> =>
  api('/signing_certs', { signing_cert: { key_availability: 'online', ...wish } });

async function byProfile(enrolment: Enrolment, types: readonly LeafKeyType[]): Promise<readonly Sample[]> {
  const made: Sample[] = [];
  for (const profile of profiles) {
    for (const keyType of types) {
      const csr = await aCsr({ extensions: [san(dns('shop.corp.example'))] }, await aKey(keyType));
      made.push(leaf(`${profile} leaf of ${keyType}`, await enrolment.issue(['shop.corp.example'], csr, profile)));
    }
  }
  return made;
}

async function byContents(enrolment: Enrolment): Promise<readonly Sample[]> {
  const made: Sample[] = [];
  for (const [what, { names, subject = {}, extensions = [] }] of Object.entries(leaves)) {
    const csr = await aCsr({ subject, extensions: [san(...names), ...extensions] }, await aKey('ec_256'));
    const values = names.map(({ value }) => value);
    made.push(leaf(`leaf with ${what}`, await enrolment.issue(values, csr, 'server')));
  }
  return made;
}

const leaf = (name: string, der: Buffer): Sample => ({ kind: 'certificate', role: 'leaf', name, der });

/** One leaf for each reason, each with a key of its own: a compromised key is refused afterwards. */
async function revokeAll(api: Api, enrolment: Enrolment, issuerId: string): Promise<readonly Sample[]> {
  const made: Sample[] = [];
  for (const reason of reasons) {
    const csr = await aCsr({ extensions: [san(dns('shop.corp.example'))] }, await generatePrivateKey('ec_256'));
    const der = await enrolment.issue(['shop.corp.example'], csr, 'server');
    const serial = serialOf(der).toString('hex');
    const { collection } = await api(`/issued_certs?signing_cert_id=${issuerId}&serial=${serial}`);
    await api(`/issued_certs/${collection[0].id}`, { issued_cert: { reason } }, 'DELETE');
    made.push({ kind: 'certificate', role: 'revoked', name: `leaf revoked for reason ${reason}`, der });
  }
  return made;
}

/** As soon as it has so many entries. */
async function crlWith({ httpUrl }: Acmery, id: string, entries: number): Promise<Buffer> {
  let der: Buffer = Buffer.alloc(0);
  await eventually(
    `the CRL has ${entries} entries`,
    async () => {
      const reply = await fetch(`${httpUrl}/crl/${id}.crl`);
      der = Buffer.from(await reply.arrayBuffer());
      return reply.ok && (await parseCrl(der)).entryCount === entries;
    },
    REVOCATION_DEADLINE_MS,
  );
  return der;
}

/** Answers about each certificate and about one that was never issued, in the forms of requests, and the responder. */
async function ocspSamples(
  { httpUrl }: Acmery,
  { id, public_cert: issuerPem }: CaCert,
  certificates: readonly Buffer[],
): Promise<readonly Sample[]> {
  const serials = certificates.map(serialOf);
  const stranger = randomBytes(16);
  const nonce = randomBytes(32);
  const requests = {
    ...Object.fromEntries(serials.map((serial, index) => [`${index}`, ocspRequest(issuerPem, [serial])])),
    unknown: ocspRequest(issuerPem, [stranger]),
    'with a nonce': ocspRequest(issuerPem, [...serials.slice(0, 1)], { nonce }),
    'by SHA-256': ocspRequest(issuerPem, [...serials.slice(0, 1)], { hash: 'sha256' }),
    'about several': ocspRequest(issuerPem, [...serials, stranger], { nonce }),
  };
  const answers: Sample[] = [];
  let responder: Buffer = Buffer.alloc(0);
  for (const [name, body] of Object.entries(requests)) {
    const headers = { 'Content-Type': 'application/ocsp-request' };
    const reply = await fetch(`${httpUrl}/ocsp/${id}`, { method: 'POST', headers, body: new Uint8Array(body) });
    const der = Buffer.from(await reply.arrayBuffer());
    const { statuses, certificate } = await readOcspAnswer(der, issuerPem);
    responder = certificate;
    answers.push({
      kind: 'ocsp',
      name: `OCSP answer ${name} (${statuses.join(', ')})`,
      statements: statuses.length,
      der,
    });
  }
  return [...answers, { kind: 'certificate', role: 'responder', name: 'OCSP responder', der: responder }];
}

/** The serving CA, the certificate of a listener, and the CRL that it names. */
async function servingSamples({ acmePort, httpUrl, caFile }: Acmery): Promise<readonly Sample[]> {
  const anchorPem = await readFile(caFile, 'utf8');
  const listener = await shownBy(acmePort, anchorPem);
  const [crlUrl = ''] = parseCertificate(listener).extensions.crlUrls ?? [];
  const reply = await fetch(`${httpUrl}${new URL(crlUrl).pathname}`);
  return [
    { kind: 'certificate', role: 'root', name: 'serving CA', der: derOf(anchorPem) },
    { kind: 'certificate', role: 'leaf', name: 'certificate of a listener', der: listener },
    { kind: 'crl', name: 'CRL of the serving CA', der: Buffer.from(await reply.arrayBuffer()) },
  ];
}

function shownBy(port: number, ca: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca }, () => {
      resolve(socket.getPeerCertificate().raw);
      socket.destroy();
    }).on('error', reject);
  });
}

const derOf = (pem: string): Buffer => readCertificatePem(pem).der;

const serialOf = (der: Buffer): Buffer => parseCertificate(der).serial;
