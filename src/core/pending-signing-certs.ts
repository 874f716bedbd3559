// CA certs of /v1 that a crash left in the making: completed where their key was stored, else dropped.
import { findUnfinishedSigningCerts, type UnfinishedSigningCert } from '../store/signing-certs.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { completeSigningCert } from './complete-signing-cert.ts';
import type { ErrorKind } from './errors.ts';
import { formatId } from './ids.ts';
import { undoMaking } from './make-signing-cert.ts';
import { refusalOf } from './refusals.ts';

/** Who makes one still waits at most a minute for it; RSA keys that wait for each other can take longer. */
const ABANDONED_MS = 10 * 60_000;

/** Who asked for it is not known any more. */
const sweeper: Actor = { kind: 'service', name: 'worker' };

/** What was begun can never be completed: the certificate was imported again meanwhile, or a CA cert above it revoked. */
const final: ReadonlySet<ErrorKind> = new Set(['duplicate_certificate', 'cannot_sign']);

/** Takes up each one on its own: a failure leaves it for the next time. */
export async function finishPendingSigningCerts(ca: Ca): Promise<void> {
  const before = new Date(ca.clock.now().getTime() - ABANDONED_MS);
  for (const row of await findUnfinishedSigningCerts(ca.database.db, before)) {
    try {
      await finish(ca, row);
    } catch (error) {
      ca.events.taskFailed({ task: 'pending_signing_certs', id: formatId('scrt', row.id), attempt: 1, error });
    }
  }
}

async function finish(ca: Ca, row: UnfinishedSigningCert): Promise<void> {
  const stored = await ca.keys.read(row.id);
  if (stored === undefined) return drop(ca, row.id);
  try {
    await completeSigningCert(ca, sweeper, row, stored);
  } catch (error) {
    const { kind } = refusalOf(error) ?? {};
    if (kind === undefined || !final.has(kind)) throw error;
    await drop(ca, row.id);
  }
}

async function drop(ca: Ca, id: string): Promise<void> {
  if (await undoMaking(ca, id)) ca.events.signingCertDropped({ id: formatId('scrt', id) });
}
