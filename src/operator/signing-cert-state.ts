// What can be said of a CA cert at a time: whether it can be used, and until when.
import type { SigningCertStatus } from '../resources/signing-cert-resource.ts';
import type { ConditionValue } from './conditions.ts';
import { done, type Outcome } from './reconciler.ts';

const DAY_MS = 86_400_000;
const EXPIRING_DAYS = 30;

type Facts = Pick<SigningCertStatus, 'notAfter' | 'revokedAt' | 'csr'>;

export type SigningCertState = {
  readonly issued: ConditionValue;
  readonly expiring: ConditionValue;
  readonly outcome: Outcome;
  /** When something else is to be said. */
  readonly changesAt?: Date;
};

const SUCCESSOR = 'Declare a new SigningCert, and let those that refer to this one refer to that.';

export function stateOf({ notAfter, revokedAt, csr }: Facts, now: Date): SigningCertState {
  if (notAfter === undefined) return waitsForCertificate(csr);
  if (revokedAt !== undefined) return ended('Revoked', `It was revoked on ${revokedAt}. ${SUCCESSOR}`);
  const end = new Date(notAfter);
  if (end <= now) return ended('Expired', `It ended on ${notAfter}. ${SUCCESSOR}`);
  const warnAt = new Date(end.getTime() - EXPIRING_DAYS * DAY_MS);
  const isExpiring = warnAt <= now;
  return {
    issued: { status: 'True', reason: 'Succeeded', message: `The certificate holds until ${notAfter}.` },
    expiring: isExpiring
      ? { status: 'True', reason: 'EndsSoon', message: `The certificate ends on ${notAfter}. ${SUCCESSOR}` }
      : { status: 'False', reason: 'Current', message: `The certificate holds until ${notAfter}.` },
    outcome: done,
    changesAt: isExpiring ? end : warnAt,
  };
}

const NOT_EXPIRING: ConditionValue = {
  status: 'False',
  reason: 'NoCertificate',
  message: 'There is no certificate yet.',
};

function waitsForCertificate(csr: string | undefined): SigningCertState {
  const message =
    csr === undefined
      ? 'There is no certificate yet.'
      : 'Have the CSR in status.csr signed by the parent, and put the certificate into spec.publicCert.';
  const reason = 'AwaitingCertificate';
  return {
    issued: { status: 'False', reason, message },
    expiring: NOT_EXPIRING,
    outcome: { outcome: 'wait', reason, message },
  };
}

const ended = (reason: string, message: string): SigningCertState => ({
  issued: { status: 'False', reason, message },
  expiring: { status: 'False', reason, message },
  outcome: { outcome: 'stalled', reason, message },
});
