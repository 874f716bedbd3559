// CAA of the names of an order: looked up, then decided by caa-policy.ts. Explain and issuance ask the same question.
import type { ChallengeType } from '../lifecycles/challenge.ts';
import type { Ca } from './ca.ts';
import { type CaaVerdict, decideCaa } from './caa-policy.ts';
import type { OfferedChallenges } from './challenge-offers.ts';
import type { DnsIdentifier } from './identifiers.ts';
import { OwnSignal } from './own-signal.ts';
import type { CaaAnswer } from './ports.ts';

export type CaaQuestion = {
  readonly identifier: DnsIdentifier;
  /** Ways in which the name was, or may be, validated. */
  readonly methods: OfferedChallenges;
};

export type CaaFinding = {
  readonly identifier: DnsIdentifier;
  readonly answers: readonly CaaAnswer[];
  /** Of the methods in question those that CAA allows. */
  readonly allowedMethods: readonly ChallengeType[];
  /** Allowed where one method is. */
  readonly verdict: CaaVerdict;
};

export type CaaPolicy = {
  readonly caaTag: string;
  readonly onMissingCaa: 'pass' | 'fail';
  /** The account's URL under every slug of the directory; empty where no account is given. */
  readonly accountUrls: readonly string[];
};

const NAMES_AT_ONCE = 8;
const DEADLINE_MS = 20_000;
/** Made once: without it each check would make an error of its own, with its stack. */
const late = new Error('no answer in time');

/**
 * A finding for each question, in their order. CAA-9: each name is looked up by itself. What is not answered before the
 * deadline is a failure, which forbids. Rejects only with the signal's reason.
 */
export async function checkCaa(
  ca: Pick<Ca, 'caa'>,
  policy: CaaPolicy,
  questions: readonly CaaQuestion[],
  signal: AbortSignal,
  deadlineMs = DEADLINE_MS,
): Promise<readonly CaaFinding[]> {
  using bounded = new OwnSignal(signal);
  bounded.endAfter(deadlineMs, () => late);
  const findings: CaaFinding[] = [];
  const rest = questions.entries();
  const work = async (): Promise<void> => {
    for (const [index, question] of rest) {
      const answers = await lookUp(ca, question.identifier.name, bounded.signal);
      findings[index] = findingOf(policy, question, answers);
    }
  };
  // All of them take their next name from the same iterator.
  await Promise.all(Array.from({ length: Math.min(NAMES_AT_ONCE, questions.length) }, work));
  return findings;
}

async function lookUp(ca: Pick<Ca, 'caa'>, name: string, signal: AbortSignal): Promise<readonly CaaAnswer[]> {
  try {
    return await ca.caa(name, signal);
  } catch (error) {
    if (signal.reason !== late) throw error;
    return [{ name, failure: late.message }];
  }
}

function findingOf(policy: CaaPolicy, { identifier, methods }: CaaQuestion, answers: readonly CaaAnswer[]): CaaFinding {
  const decide = (validationMethod: ChallengeType): CaaVerdict =>
    decideCaa({
      identifier,
      answers,
      issuerDomains: [policy.caaTag],
      accountUrls: policy.accountUrls,
      validationMethod,
      onMissingCaa: policy.onMissingCaa,
    });
  const allowedMethods = methods.filter((method) => decide(method).allowed);
  return { identifier, answers, allowedMethods, verdict: decide(allowedMethods[0] ?? methods[0]) };
}
