// The CA of our own HTTPS: its certificate is the anchor that clients trust, the same on every replica. A successor is
// made a year before the end and stands beside it, so that clients know both long before the first leaf changes sides.

import { readServiceState, replaceServiceState } from '../store/service-state.ts';
import { assembleCertificate, buildTbsCertificate, newSerial, parseCertificate } from '../x509/certificate.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import { authorityKeyIdentifier, basicConstraints, keyUsage, subjectKeyIdentifier } from '../x509/extensions.ts';
import { buildName } from '../x509/name.ts';
import { generatePrivateKey, pkcs8Of } from '../x509/private-key.ts';
import { signerOf } from '../x509/signer.ts';
import { keyIdentifierOf } from '../x509/spki.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import type { Signer } from './ports.ts';

const DAY_MS = 86_400_000;
const LIFE_MS = 3_650 * DAY_MS;
const SUCCESSOR_BEFORE_END_MS = 365 * DAY_MS;
const HANDOVER_BEFORE_END_MS = 90 * DAY_MS;
const BACKDATE_MS = 300_000;
const STATE_KEY = 'serving_ca';
/** Each lost race means that another replica wrote; more than a few in a row means that something else is wrong. */
const ATTEMPTS = 5;

type Generation = { readonly ref: string; readonly certificate: Buffer; readonly notAfter: Date };

export type ServingCa = {
  /** PEM of every generation that clients should trust. */
  readonly anchors: string;
  readonly signer: Signer;
  /** DER of the certificate that the signer belongs to. */
  readonly certificate: Buffer;
  readonly notAfter: Date;
  /** Which of its generations that is; they count from 1. */
  readonly generation: number;
};

/** What is there, without making anything; undefined before the first start. */
export async function findServingCa(ca: Ca): Promise<ServingCa | undefined> {
  const generations = generationsOf(await readServiceState(ca.database.db, STATE_KEY));
  return generations.length === 0 ? undefined : opened(ca, generations, ca.clock.now());
}

/** Reads the serving CA, making it or its successor where due. Of several replicas at once one makes it. */
export async function openServingCa(ca: Ca): Promise<ServingCa> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const now = ca.clock.now();
    const seen = await readServiceState(ca.database.db, STATE_KEY);
    const generations = generationsOf(seen);
    const newest = generations.at(-1);
    if (newest !== undefined && remainingMs(newest, now) > SUCCESSOR_BEFORE_END_MS) return opened(ca, generations, now);
    const next = [...generations, await makeGeneration(ca, generations.length + 1)];
    await replaceServiceState(ca.database.db, STATE_KEY, seen, stateOf(next));
  }
  throw new CaError('unavailable', 'Other processes keep changing the serving CA; try again in a moment.');
}

async function opened(ca: Ca, generations: readonly Generation[], now: Date): Promise<ServingCa> {
  const alive = generations.filter((generation) => remainingMs(generation, now) > 0);
  const signing = alive.find((generation) => remainingMs(generation, now) > HANDOVER_BEFORE_END_MS) ?? alive.at(-1);
  if (signing === undefined) throw new Error('a serving CA without a living generation');
  return {
    anchors: alive.map(({ certificate }) => certificatePem(certificate)).join(''),
    signer: await ca.keys.signer(signing.ref),
    certificate: signing.certificate,
    notAfter: signing.notAfter,
    generation: generations.indexOf(signing) + 1,
  };
}

/** One generation by its number, whether it still signs or not; undefined where there is none. */
export async function findServingGeneration(
  ca: Ca,
  number: number,
): Promise<{ readonly certificate: Buffer; signer(): Promise<Signer> } | undefined> {
  const found = generationsOf(await readServiceState(ca.database.db, STATE_KEY))[number - 1];
  return found && { certificate: found.certificate, signer: () => ca.keys.signer(found.ref) };
}

/** Key first, then the row: a crash between leaves a key that the next start takes as it is. */
async function makeGeneration(ca: Ca, number: number): Promise<Generation> {
  const ref = `serving-ca-${number}`;
  const key = await generatePrivateKey('ec_256');
  const signer = signerOf(key);
  const name = buildName({ O: 'Acmery', CN: `Acmery serving CA ${number}` });
  const keyIdentifier = keyIdentifierOf(signer.spki);
  const now = ca.clock.now().getTime();
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: name,
    subject: name,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + LIFE_MS),
    spki: signer.spki,
    issuerKeyType: signer.keyType,
    extensions: [
      basicConstraints({ ca: true, pathLength: 0 }),
      keyUsage('keyCertSign', 'cRLSign'),
      subjectKeyIdentifier(keyIdentifier),
      authorityKeyIdentifier(keyIdentifier),
    ],
  });
  const certificate = assembleCertificate(tbs, signer.keyType, await signer.sign(tbs));
  const stored = await ca.keys.createOnce(ref, { pkcs8: pkcs8Of(key), certificate });
  return generationOf(ref, stored.certificate ?? certificate);
}

const remainingMs = ({ notAfter }: Generation, now: Date): number => notAfter.getTime() - now.getTime();

const generationOf = (ref: string, certificate: Buffer): Generation => ({
  ref,
  certificate,
  notAfter: parseCertificate(certificate).notAfter,
});

type StoredGeneration = { readonly ref: string; readonly certificate: string };

const generationsOf = (state: unknown): Generation[] =>
  ((state ?? []) as StoredGeneration[]).map(({ ref, certificate }) =>
    generationOf(ref, Buffer.from(certificate, 'base64')),
  );

const stateOf = (generations: readonly Generation[]): StoredGeneration[] =>
  generations.map(({ ref, certificate }) => ({ ref, certificate: certificate.toString('base64') }));
