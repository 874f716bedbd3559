// The EAB pair that somebody who has just begun can use.
import { join } from 'node:path';
import type { ExternalBindingResource } from '../resources/external-binding-resource.ts';
import type { App } from './app.ts';

export type BoundClient = {
  readonly directoryUrl: string;
  /** The folder of its EAB pair. */
  readonly place: string;
  readonly isAutoApproved: boolean;
};

/** Of the bindings of a folder that nobody has used yet the first. */
export function boundClient({ world: { declared, outputsFolder } }: App): BoundClient | undefined {
  const source = declared?.source;
  if (source === undefined || outputsFolder === undefined) return undefined;
  const bindings = source.list('ExternalBinding') as readonly ExternalBindingResource[];
  const { metadata, status } = bindings.find(({ status }) => status?.secretName && !status.acmeKeyId) ?? {};
  if (metadata === undefined || status?.secretName === undefined || status.directoryUrl === undefined) return undefined;
  const place = join(outputsFolder, metadata.namespace, status.secretName);
  return { directoryUrl: status.directoryUrl, place, isAutoApproved: status.orderValidations === 'auto_approve' };
}
