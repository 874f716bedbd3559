// The row of an object that another one names. A status alone proves nothing: in his own namespace a user may write any.
import { parseId } from '../core/ids.ts';
import { isRowOf } from '../core/row-owners.ts';
import type { Resource } from '../resources/resource.ts';
import type { OperatorContext, Outcome } from './reconciler.ts';

type Row = { readonly id: string; readonly outcome?: undefined };
type NoRow = { readonly outcome: Exclude<Outcome, { outcome: 'done' }>; readonly id?: undefined };

const prefixes = { SigningCert: 'scrt', Directory: 'dir' } as const;
const AGAIN_MS = 10_000;

/** The uuid that its status shows, where that row is its own. */
export async function rowOf(
  { ca }: OperatorContext,
  found: Resource<keyof typeof prefixes, unknown, { readonly observedGeneration: number; readonly id?: string }>,
): Promise<Row | NoRow> {
  const { namespace, name, uid } = found.metadata;
  const title = `${found.kind} ${namespace}/${name}`;
  const id = parseId(prefixes[found.kind], found.status?.id ?? '');
  if (id === undefined) return { outcome: waiting(`${title} has no id yet.`) };
  if (await isRowOf(ca, id, uid)) return { id };
  return {
    outcome: waiting(`${title} shows an id that is not its own; it is corrected when that object is looked at.`),
  };
}

const waiting = (message: string): NoRow['outcome'] => ({
  outcome: 'wait',
  reason: 'DependencyNotReady',
  message,
  afterMs: AGAIN_MS,
});
