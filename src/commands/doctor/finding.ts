// What one check of the doctor is given, and what it answers.

import type { KeysOfService } from '../../app/keys-for.ts';
import type { KeylessCa } from '../../app/open-ca.ts';
import type { Settings } from '../../config/settings.ts';
import type { Ca } from '../../core/ca.ts';
import type { Cluster } from '../../kubernetes/client.ts';

export type Patient = {
  readonly settings: Settings;
  /** Each is opened once for all checks that need it, and rejects where that cannot be. */
  cluster(): Promise<Cluster | undefined>;
  keys(): Promise<KeysOfService>;
  keyless(): Promise<KeylessCa>;
  ca(): Promise<Ca>;
};

export type Finding = {
  readonly outcome: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to do, where the detail does not say it. */
  readonly advice?: string;
};

/** An error that is thrown is a failure; its message says what to do. */
export type Examine = (patient: Patient) => Promise<Finding>;

export const ok = (detail: string): Finding => ({ outcome: 'ok', detail });
export const warning = (detail: string, advice: string): Finding => ({ outcome: 'warning', detail, advice });
export const failed = (detail: string, advice: string): Finding => ({ outcome: 'failed', detail, advice });
export const skipped = (detail: string): Finding => ({ outcome: 'skipped', detail });
