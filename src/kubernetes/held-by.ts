// The cluster as the one that leads writes to it. A process that was stopped wakes up with work in hand, and may go on with
// it before any timer has told it that others lead.
import type { ClusterRequests } from './client.ts';
import type { LeaseLeadership } from './lease.ts';

export const heldBy = (
  leadership: Pick<LeaseLeadership, 'requireHeld'>,
  cluster: ClusterRequests,
): ClusterRequests => ({
  get server() {
    return cluster.server;
  },
  request: (request) =>
    cluster.request(request.method === 'GET' ? request : { ...request, mayBeSent: () => leadership.requireHeld() }),
  stream: (...asked) => cluster.stream(...asked),
});
