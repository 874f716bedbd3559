// Whose bearer token of the cluster this is, and what RBAC lets him do here: TokenReview and SubjectAccessReview, remembered shortly.
import { createHmac, randomBytes } from 'node:crypto';
import type { CallerReview, Review } from '../api/ports.ts';
import { Recent } from '../core/recent.ts';
import { API_GROUP } from '../resources/resource.ts';
import type { Events } from '../telemetry/events.ts';
import type { Cluster } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import { isForbidden } from './source-errors.ts';
import { unlessAborted } from './unless-aborted.ts';

type ReviewOptions = {
  readonly cluster: Cluster;
  readonly events: Events;
  /** Milliseconds from any start, which never go back. */
  readonly elapsedMs?: () => number;
  /** So many answers of each sort. */
  readonly mostRemembered?: number;
};

/** Tokens for other services are none for us. */
const AUDIENCE = API_GROUP;
/** From most to least: who may do one may do the next. */
const levels = ['admin', 'write', 'read'] as const;

const REMEMBERED = 4_096;
const ALLOW_MS = 30_000;
const DENY_MS = 5_000;
const AT_ONCE = 16;
const WAITING = 256;
const TIMEOUT_MS = 5_000;

const NO_ANSWER = 'The API server that checks tokens of the cluster does not answer. Try again.';
const NOT_ALLOWED = 'This server may not have tokens of the cluster checked. Use an API token.';

type Remembered = { readonly review: Review; readonly untilMs: number };

export function clusterCallerReview({
  cluster,
  events,
  elapsedMs = () => performance.now(),
  mostRemembered = REMEMBERED,
}: ReviewOptions): CallerReview {
  // Tokens themselves are not kept.
  const secret = randomBytes(32);
  // Apart: anybody can send tokens without end that are none, and must not drive out those that are.
  const allowed = new Recent<Remembered>(mostRemembered);
  const denied = new Recent<Remembered>(mostRemembered);
  const underWay = new Map<string, Promise<Review>>();
  const places = new Places(AT_ONCE, WAITING);

  async function ask(token: string, digest: string): Promise<Review> {
    const review = await places
      .with(() => reviewToken(cluster, token))
      .catch((error: unknown): Review => {
        if (!(error instanceof ClusterError)) throw error;
        events.callerReviewUnavailable({ reason: error.message });
        return { outcome: 'unavailable', detail: isForbidden(error) ? NOT_ALLOWED : NO_ANSWER };
      });
    events.callerReviewed({ outcome: review.outcome });
    if (review.outcome !== 'unavailable') {
      const isAllowed = review.outcome === 'known' && review.caller.permission !== undefined;
      if (!isAllowed) allowed.delete(digest);
      const [answers, forMs] = isAllowed ? [allowed, ALLOW_MS] : [denied, DENY_MS];
      answers.set(digest, { review, untilMs: elapsedMs() + forMs });
    }
    return review;
  }

  return {
    async review(token, signal) {
      const digest = createHmac('sha256', secret).update(token).digest('base64');
      const known = allowed.get(digest) ?? denied.get(digest);
      if (known !== undefined && elapsedMs() < known.untilMs) return known.review;
      let asked = underWay.get(digest);
      if (asked === undefined) {
        asked = ask(token, digest).finally(() => underWay.delete(digest));
        underWay.set(digest, asked);
      }
      // Others may wait for the same answer.
      return unlessAborted(asked, signal);
    },
  };
}

type User = {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
};
type TokenStatus = { readonly authenticated?: boolean; readonly user?: User; readonly audiences?: readonly string[] };

async function reviewToken(cluster: Cluster, token: string): Promise<Review> {
  const { status = {} } = await cluster.request<{ status?: TokenStatus }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [AUDIENCE] },
    },
    timeoutMs: TIMEOUT_MS,
  });
  const { authenticated, user, audiences = [] } = status;
  // An authenticator that knows nothing of audiences names none: its yes would hold for tokens of other services.
  if (authenticated !== true || user?.username === undefined || !audiences.includes(AUDIENCE))
    return { outcome: 'unknown' };
  const answers = await Promise.all(levels.map((level) => mayUse(cluster, user, level)));
  const permission = levels.find((_, index) => answers[index]);
  return { outcome: 'known', caller: { name: user.username, permission } };
}

async function mayUse(cluster: Cluster, { username, ...user }: User, level: (typeof levels)[number]): Promise<boolean> {
  const resourceAttributes = { group: API_GROUP, resource: 'permissions', name: level, verb: 'use' };
  const review = await cluster.request<{ status?: { allowed?: boolean; denied?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: username, ...user, resourceAttributes },
    },
    timeoutMs: TIMEOUT_MS,
  });
  return review.status?.allowed === true && review.status.denied !== true;
}

/** So many at once; so many more wait; what comes beyond is refused. */
class Places {
  readonly #waiting: (() => void)[] = [];
  readonly #mostWaiting: number;
  #free: number;

  constructor(atOnce: number, mostWaiting: number) {
    this.#free = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  async with<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else if (this.#waiting.length < this.#mostWaiting)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else throw new ClusterError(0, 'TooManyRequests', 'Too many tokens wait to be checked.');
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // A place goes from hand to hand.
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
