// What other doors have changed of that which custom resources declare.
import type { KindName } from '../resources/resource.ts';
import type { Ca } from './ca.ts';
import { customResourceKinds } from './origin.ts';

type OwnedChange = { readonly kind: KindName; readonly namespace: string; readonly name: string };

export type OwnedChangeHandlers = {
  /** The row of this object was changed, used or deleted. */
  changed(object: OwnedChange): void;
  /** From now on all is told. What happened before is not: every object may have changed. */
  listening(): void;
};

/** Listens until it is disposed of, also where the database is away at first or for a while. The handlers must not throw. */
export const onOwnedChanges = (
  { database }: Pick<Ca, 'database'>,
  { changed, listening }: OwnedChangeHandlers,
): AsyncDisposable =>
  database.listen(
    {
      acmery_owned: (payload) => {
        const object = readChange(payload);
        if (object !== undefined) changed(object);
      },
    },
    { onListening: listening },
  );

/** Undefined for what this program has not sent. */
function readChange(payload: string): OwnedChange | undefined {
  const value = parsed(payload);
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, namespace, name } = { kind: undefined, namespace: undefined, name: undefined, ...value };
  const known = Object.entries(customResourceKinds).find(([declared]) => declared === kind)?.[1];
  if (known === undefined || typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  return { kind: known, namespace, name };
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
