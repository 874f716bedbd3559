// Names with their keys and requests, made before the measuring begins.
import { randomBytes } from 'node:crypto';
import { buildCsr } from '../../../src/x509/csr.ts';
import { subjectAltName } from '../../../src/x509/extensions.ts';
import { buildName } from '../../../src/x509/name.ts';
import { generatePrivateKey } from '../../../src/x509/private-key.ts';
import { signerOf } from '../../../src/x509/signer.ts';

export type Prepared = {
  readonly name: string;
  /** DER, base64url. */
  readonly csr: string;
};

const noSubject = buildName({});

const run = randomBytes(3).toString('hex');
let named = 0;

/** One that no order of any load has had. */
export const newName = (): string => `h${named++}.${run}.bench.example`;

export const prepare = (count: number): Promise<Prepared[]> =>
  Promise.all(Array.from({ length: count }, () => prepareOne(newName())));

async function prepareOne(name: string): Promise<Prepared> {
  const signer = signerOf(await generatePrivateKey('ec_256'));
  const extensions = [subjectAltName([{ type: 'dns', value: name }], { critical: true })];
  return { name, csr: (await buildCsr({ subject: noSubject, extensions }, signer)).toString('base64url') };
}
