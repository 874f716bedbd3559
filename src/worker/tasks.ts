// What is done in the background: rows that become due, and duties that come round. A new task is a row here.
import { ensureAuditPartitions } from '../core/audit-partitions.ts';
import type { Ca } from '../core/ca.ts';
import { claimCrls, postponeCrl, refreshCrl, sweepCrls } from '../core/crls.ts';
import { expireOpenWork } from '../core/expiry.ts';
import { sweepNonces } from '../core/nonces.ts';
import { claimOcspSigners, planOcspSigners, postponeOcspSigner, tendOcspSigner } from '../core/ocsp-signers.ts';
import { finishPendingSigningCerts } from '../core/pending-signing-certs.ts';
import { type Claim, claimRemovedKeys, postponeKeyRemoval, removeKey } from '../core/removed-keys.ts';
import { removeEnded } from '../core/retention.ts';
import { tellSigningCertEnds } from '../core/signing-cert-ends.ts';
import { claimStuckOrders, finishStuckOrder, postponeStuckOrder } from '../core/stuck-orders.ts';
import { claimChallenges, postponeChallenge, validateChallenge } from '../core/validate-challenge.ts';

/** Work on rows that are due, each under a lease. */
export type DueTask = {
  /** The payload of the NOTIFY on `acmery_due` that says that a row has become due. */
  readonly name: string;
  /** A row is due so long after the NOTIFY; at once when absent. */
  readonly notifiedAheadMs?: number;
  /** How many rows are worked on at once by one process. */
  readonly concurrency: number;
  /** Longer than a run ever takes. */
  readonly leaseMs: number;
  claim(ca: Ca, limit: number, leaseMs: number): Promise<readonly Claim[]>;
  /** Throws where it has to be tried again later. The signal says that the worker ends: what takes long is given back. */
  run(ca: Ca, claim: Claim, signal: AbortSignal): Promise<void>;
  postpone(ca: Ca, claim: Claim, dueAt: Date): Promise<void>;
};

/** Work that is done now and then, by one replica at a time. */
export type Duty = {
  readonly name: string;
  readonly intervalMs: number;
  /** Stops soon after the signal: what it has done stays done. */
  run(ca: Ca, signal: AbortSignal): Promise<void>;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Apart from the others, because its rows come from within, too (own-worker.ts). */
export const challengeTask: DueTask = {
  name: 'challenge',
  concurrency: 128,
  leaseMs: MINUTE_MS,
  claim: claimChallenges,
  run: validateChallenge,
  postpone: postponeChallenge,
};

export const dueTasks: readonly DueTask[] = [
  {
    name: 'signing_cert_keys',
    concurrency: 4,
    leaseMs: MINUTE_MS,
    claim: claimRemovedKeys,
    run: removeKey,
    postpone: postponeKeyRemoval,
  },
  {
    name: 'order',
    concurrency: 8,
    leaseMs: MINUTE_MS,
    claim: claimStuckOrders,
    run: finishStuckOrder,
    postpone: postponeStuckOrder,
  },
  {
    name: 'ocsp_signer',
    concurrency: 4,
    leaseMs: MINUTE_MS,
    claim: claimOcspSigners,
    run: tendOcspSigner,
    postpone: postponeOcspSigner,
  },
  {
    name: 'crl',
    notifiedAheadMs: 200,
    concurrency: 2,
    leaseMs: 2 * MINUTE_MS,
    claim: claimCrls,
    run: refreshCrl,
    postpone: postponeCrl,
  },
];

export const duties: readonly Duty[] = [
  { name: 'pending_signing_certs', intervalMs: MINUTE_MS, run: finishPendingSigningCerts },
  { name: 'ocsp_signers', intervalMs: MINUTE_MS, run: planOcspSigners },
  { name: 'crl_sweep', intervalMs: MINUTE_MS, run: sweepCrls },
  { name: 'signing_cert_ends', intervalMs: MINUTE_MS, run: tellSigningCertEnds },
  { name: 'spent_nonces', intervalMs: 5 * MINUTE_MS, run: sweepNonces },
  { name: 'audit_partitions', intervalMs: DAY_MS, run: ensureAuditPartitions },
  { name: 'expiry', intervalMs: MINUTE_MS, run: expireOpenWork },
  { name: 'retention', intervalMs: HOUR_MS, run: removeEnded },
];
