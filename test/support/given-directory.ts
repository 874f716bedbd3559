// Directories for tests, made by the core as /v1 makes them.
import type { Ca } from '../../src/core/ca.ts';
import { createDirectory } from '../../src/core/create-directory.ts';
import type { SingleDirectoryView } from '../../src/core/directories.ts';
import { formatId } from '../../src/core/ids.ts';
import { type DirectoryCreate, directoryInput } from '../../src/resources/fields.ts';
import { admin } from './given.ts';
import { givenIntermediate } from './given-signing-cert.ts';

type Wanted = Partial<Omit<DirectoryCreate, 'signing_cert_id'>> & { readonly issuer?: { readonly id: string } };

let made = 0;

/** With the defaults of /v1 and a slug that no other has, on `issuer` or a CA cert of its own. */
export async function givenDirectory(ca: Ca, { issuer, ...wanted }: Wanted = {}): Promise<SingleDirectoryView> {
  const { id } = issuer ?? (await givenIntermediate(ca));
  made += 1;
  const directory = { name: 'Web', slug: `web-${made}`, ...wanted, signing_cert_id: formatId('scrt', id) };
  const input = directoryInput.create({ directory });
  if (!input.ok) throw new Error(`This is no directory: ${JSON.stringify(input.problems)}`);
  return createDirectory(ca, admin, { ...input.value, signing_cert_id: id });
}
