// The key store of an installation without a cluster: one file per key in a folder of its own.
import { randomBytes } from 'node:crypto';
import { KeysUnavailable } from '../core/errors.ts';
import type { KeyStore, Sealer, Signer, StoredKey } from '../core/ports.ts';
import { signerOf } from '../x509/signer.ts';
import { X509Error } from '../x509/x509-error.ts';
import { formatKeyFile, formatSealingKey, parseKeyFile, parseSealingKey } from './key-file.ts';
import { keyOfOrigin, type OpenedKey, openedKey } from './opened-key.ts';
import {
  createPrivateFile,
  listPrivateFiles,
  openPrivateFolder,
  readPrivateFile,
  removePrivateFile,
} from './private-files.ts';
import { sealerOf } from './seal.ts';

// Never a user's words: a reference is a file name.
const REF = /^[a-z0-9][a-z0-9_-]{0,79}$/;
const KEY = '.pem';
const SEALING_KEY = '.sealing-key.pem';

/** Opens the folder, making it where it is missing. Throws CaError `unavailable` saying what to repair. */
export async function openFileKeyStore(folder: string): Promise<KeyStore> {
  await openPrivateFolder(folder);
  const signers = new Map<string, Signer>();
  const sealers = new Map<string, Sealer>();

  async function read(ref: string): Promise<StoredKey | undefined> {
    return (await openKey(folder, ref))?.stored;
  }

  async function list(): Promise<readonly StoredKey[]> {
    const names = await listPrivateFiles(folder);
    const refs = names.filter((name) => name.endsWith(KEY)).map((name) => name.slice(0, -KEY.length));
    const keys = await Promise.all(refs.filter((ref) => REF.test(ref)).map(read));
    return keys.filter((key) => key !== undefined);
  }

  async function sealer(ref: string): Promise<Sealer> {
    const cached = sealers.get(ref);
    if (cached !== undefined) return cached;
    const opened = sealerOf(await openSealingKey(folder, ref));
    sealers.set(ref, opened);
    return opened;
  }

  return {
    read,
    list,
    nameOf: (ref) => fileOf(ref, KEY),
    async createOnce(ref, material) {
      // Refuses what would be a damaged file later.
      await openedKey(ref, material);
      await createPrivateFile(folder, fileOf(ref, KEY), formatKeyFile(material));
      return (await read(ref)) ?? raiseMissing(folder, ref);
    },
    async find(origin) {
      return keyOfOrigin(await list(), origin);
    },
    async signer(ref) {
      const cached = signers.get(ref);
      if (cached !== undefined) return cached;
      const { key } = (await openKey(folder, ref)) ?? raiseMissing(folder, ref);
      const signer = signerOf(key);
      signers.set(ref, signer);
      return signer;
    },
    sealer,
    async createSealer(ref) {
      await ensureSealingKey(folder, fileOf(ref, SEALING_KEY));
      return sealer(ref);
    },
    async remove(ref) {
      signers.delete(ref);
      sealers.delete(ref);
      await removePrivateFile(folder, fileOf(ref, KEY));
      await removePrivateFile(folder, fileOf(ref, SEALING_KEY));
    },
  };
}

async function openKey(folder: string, ref: string): Promise<OpenedKey | undefined> {
  const text = await readPrivateFile(folder, fileOf(ref, KEY));
  if (text === undefined) return undefined;
  try {
    const file = parseKeyFile(text);
    if (file === undefined) throw damaged(folder, ref);
    return await openedKey(ref, file);
  } catch (error) {
    // Syntax errors of JSON and refusals of PEM and DER mean the same to the one who must restore the file.
    throw error instanceof X509Error || error instanceof SyntaxError ? damaged(folder, ref) : error;
  }
}

async function openSealingKey(folder: string, ref: string): Promise<Buffer> {
  const text = (await readPrivateFile(folder, fileOf(ref, SEALING_KEY))) ?? raiseMissing(folder, ref);
  try {
    const key = parseSealingKey(text);
    if (key === undefined) throw damaged(folder, ref);
    return key;
  } catch (error) {
    throw error instanceof X509Error ? damaged(folder, ref) : error;
  }
}

async function ensureSealingKey(folder: string, name: string): Promise<void> {
  if ((await readPrivateFile(folder, name)) !== undefined) return;
  await createPrivateFile(folder, name, formatSealingKey(randomBytes(32)));
}

function fileOf(ref: string, ending: string): string {
  if (!REF.test(ref))
    throw new RangeError('A key reference is 1 to 80 lower-case letters, digits, hyphens and underscores.');
  return `${ref}${ending}`;
}

const damaged = (folder: string, ref: string): KeysUnavailable =>
  new KeysUnavailable(`The key file of ${ref} in ${folder} is damaged. Restore it from a backup.`);

function raiseMissing(folder: string, ref: string): never {
  throw new KeysUnavailable(`The key ${ref} is not in ${folder}. Restore the folder from a backup.`);
}
