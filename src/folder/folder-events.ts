// What happens to objects of a folder goes into the log: there is no `kubectl describe` to show it.
import type { EventSink } from '../operator/ports.ts';
import type { Events } from '../telemetry/events.ts';

export const folderEvents = (events: Events): EventSink => ({
  record({ kind, metadata: { namespace, name } }, { type, reason, note }) {
    events.objectEvent({ object: `${kind} ${namespace}/${name}`, type, reason, note });
  },
});
