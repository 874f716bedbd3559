// The text of one key file: what it is, whom it was made for, the private key, and the certificate where there is one.
// `openssl` reads such a file as it is: text before a PEM block is ignored.
import type { KeyMaterial, KeyOrigin } from '../core/ports.ts';
import { readPemBlocks, toPem } from '../x509/pem.ts';

/** What a file holds. The key bytes stay in here and in the signer made of them. */
export type KeyFile = {
  readonly pkcs8: Buffer;
  readonly certificate: Buffer | undefined;
  readonly origin: KeyOrigin | undefined;
};

const ORIGIN_LINE = 'Acmery-Origin: ';
const SEALING_LABEL = 'ACMERY SEALING KEY';
const SEALING_KEY_BYTES = 32;

export function formatKeyFile({ pkcs8, certificate, origin }: KeyMaterial): string {
  return [
    'Private key of Acmery. Whoever can read this file can sign certificates.\n',
    origin === undefined ? '' : `${ORIGIN_LINE}${formatOrigin(origin)}\n`,
    toPem('PRIVATE KEY', pkcs8),
    certificate === undefined ? '' : toPem('CERTIFICATE', certificate),
  ].join('');
}

/** Undefined for text of any other form. */
export function parseKeyFile(text: string): KeyFile | undefined {
  const [key, certificate, ...others] = readPemBlocks(text, 'the key file');
  if (key?.label !== 'PRIVATE KEY' || others.length > 0) return undefined;
  if (certificate !== undefined && certificate.label !== 'CERTIFICATE') return undefined;
  const line = text.split('\n').find((candidate) => candidate.startsWith(ORIGIN_LINE));
  const origin = line === undefined ? undefined : parseOrigin(line.slice(ORIGIN_LINE.length));
  if (line !== undefined && origin === undefined) return undefined;
  return { pkcs8: key.der, certificate: certificate?.der, origin };
}

export const formatSealingKey = (key: Buffer): string =>
  `Sealing key of Acmery. Without it nobody can read what is sealed in the database: keep a copy with your backups.\n${toPem(SEALING_LABEL, key)}`;

export function parseSealingKey(text: string): Buffer | undefined {
  const [key, ...others] = readPemBlocks(text, 'the key file');
  const isSealingKey = key?.label === SEALING_LABEL && key.der.length === SEALING_KEY_BYTES && others.length === 0;
  return isSealingKey ? key.der : undefined;
}

/** One line of JSON in which nothing looks like a PEM marker. */
const formatOrigin = (origin: KeyOrigin): string => JSON.stringify(origin).replaceAll('--', '-\\u002d');

function parseOrigin(json: string): KeyOrigin | undefined {
  const parsed: unknown = JSON.parse(json);
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  if (!('namespace' in parsed && 'name' in parsed && 'uid' in parsed)) return undefined;
  const { namespace, name, uid } = parsed;
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return { namespace, name, uid };
}
