// The ConfigMap of a Directory: where it is, and whom its clients have to trust.
import { directoryRoots } from '../core/directory-roots.ts';
import { parseId } from '../core/ids.ts';
import type { DirectoryResource } from '../resources/directory-resource.ts';
import { fits, LONGEST_NAME } from './output-names.ts';
import { SourceError } from './ports.ts';
import { done, type OperatorContext, type Step, type Visit } from './reconciler.ts';
import { LOOK_AGAIN_MS } from './user-secret.ts';

const nameOf = ({ metadata: { name } }: DirectoryResource): string => `${name}-acme`;

/** Its name follows from that of the Directory alone. */
export const configMapNameFits: Step<DirectoryResource> = async (_, { resource }) =>
  fits('metadata.name', nameOf(resource), LONGEST_NAME);

/** Not at a restart, where the status says that it is there, and what it tells is what the status told before. */
export const trustPublished: Step<DirectoryResource> = async (operator, visit) => {
  const { resource, status, signal } = visit;
  const name = nameOf(resource);
  if (!visit.isThorough && status.configMapName === name && isAsBefore(visit)) return done;
  try {
    const data = await trustOf(operator, status);
    const output = { kind: 'ConfigMap', name, data, wasMade: status.configMapName === name } as const;
    await operator.outputs.apply(resource, output, signal);
    status.configMapName = name;
    return done;
  } catch (error) {
    if (!(error instanceof SourceError) || error.refusal !== 'foreign') throw error;
    visit.comeBackAt(new Date(operator.ca.clock.now().getTime() + LOOK_AGAIN_MS));
    return {
      outcome: 'stalled',
      reason: 'ConfigMapConflict',
      message: `ConfigMap ${resource.metadata.namespace}/${name} is there, and was not made for this object. Delete it, or declare the Directory under another name.`,
    };
  }
};

const isAsBefore = ({ resource: { metadata, status: before }, status }: Visit<DirectoryResource>): boolean =>
  before?.observedGeneration === metadata.generation &&
  before.id === status.id &&
  before.directoryUrl === status.directoryUrl;

/** During a rollover the roots of both CAs. */
export async function trustOf(
  { ca, anchors }: OperatorContext,
  { id, directoryUrl }: { readonly id?: string; readonly directoryUrl?: string },
): Promise<Readonly<Record<string, string>>> {
  const uuid = parseId('dir', id ?? '');
  const roots = uuid === undefined ? [] : await directoryRoots(ca, uuid);
  const trusted = anchors();
  return {
    directory: directoryUrl ?? '',
    ...(trusted !== undefined && { 'ca.crt': trusted }),
    ...(roots.length > 0 && { 'roots.pem': roots.join('') }),
  };
}
