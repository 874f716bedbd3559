// The EAB pair that somebody who has just begun can use.
import { join } from 'node:path';
import type { DirectoryResource } from '../resources/directory-resource.ts';
import type { ExternalBindingResource } from '../resources/external-binding-resource.ts';
import type { App } from './app.ts';

export type BoundClient = {
  readonly directoryUrl: string;
  /** The folder of its EAB pair. */
  readonly place: string;
  readonly isAutoApproved: boolean;
  /** Then it makes no account any more. */
  readonly isUsed: boolean;
  /** A name that its directory allows. */
  readonly name: string;
};

/** The first of the bindings of a folder, of those that nobody has used yet if there are any. */
export function boundClient({ world: { declared, outputsFolder } }: App): BoundClient | undefined {
  const source = declared?.source;
  if (source === undefined || outputsFolder === undefined) return undefined;
  const bindings = source.list('ExternalBinding') as readonly ExternalBindingResource[];
  const ready = bindings.filter(({ status }) => status?.secretName !== undefined);
  const { metadata, spec, status } = ready.find(({ status }) => status?.acmeKeyId === undefined) ?? ready[0] ?? {};
  const { secretName, directoryUrl } = status ?? {};
  if (metadata === undefined || spec === undefined || secretName === undefined || directoryUrl === undefined)
    return undefined;
  const { name, namespace = metadata.namespace } = spec.directoryRef;
  const directory = source.get({ kind: 'Directory', namespace, name }) as DirectoryResource | undefined;
  return {
    directoryUrl,
    place: join(outputsFolder, metadata.namespace, secretName),
    isUsed: status?.acmeKeyId !== undefined,
    isAutoApproved: status?.orderValidations === 'auto_approve',
    name: nameUnder(directory?.spec.allowedDnsIdentifiers[0] ?? '**', metadata.name),
  };
}

/** The label stands where a pattern leaves one open. */
const nameUnder = (pattern: string, label: string): string =>
  pattern === '**' ? `${label}.corp.example` : pattern.replace(/^\*\*?/, label);
