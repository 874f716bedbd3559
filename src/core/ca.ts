// The context that every core function takes first: what the CA works with.
import type { Database } from '../store/database.ts';
import type { Events } from '../telemetry/events.ts';
import type { OwnWorker } from './own-worker.ts';
import type { CaaResolver, ChallengeProber, Clock, KeyStore } from './ports.ts';
import type { Urls } from './urls.ts';

/** So many in so long, or no limit. */
type Rate = { readonly count: number; readonly perMs: number } | 'off';

export type Limits = {
  /** Per account. */
  readonly orders: Rate;
  /** Per client address. */
  readonly accounts: Rate;
  /** Per account and name. */
  readonly failures: Rate;
};

/** How long what has ended is kept. */
type Retention = { readonly ordersMs: number; readonly expiredCertsMs: number; readonly auditMs: number };

export type Ca = {
  readonly database: Database;
  readonly keys: KeyStore;
  readonly clock: Clock;
  readonly urls: Urls;
  readonly caa: CaaResolver;
  readonly limits: Limits;
  readonly retention: Retention;
  readonly prober: ChallengeProber;
  readonly events: Events;
  readonly ownWorker: OwnWorker;
  /** Directories are declared elsewhere, so that one that is asked for may be on its way. */
  readonly directoriesComeLater: boolean;
};
