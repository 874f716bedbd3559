// The context that every core function takes first: what the CA works with.
import type { Database } from '../store/database.ts';
import type { Events } from '../telemetry/events.ts';
import type { CaaResolver, ChallengeProber, Clock, KeyStore } from './ports.ts';
import type { Urls } from './urls.ts';

export type Ca = {
  readonly database: Database;
  readonly keys: KeyStore;
  readonly clock: Clock;
  readonly urls: Urls;
  readonly caa: CaaResolver;
  readonly prober: ChallengeProber;
  readonly events: Events;
};
