// Which challenges can prove control of an identifier.
import { type ChallengeType, challengeTypes } from '../lifecycles/challenge.ts';
import type { Identifier } from './identifiers.ts';

type Subject = 'name' | 'wildcard' | 'address';
export type OfferedChallenges = readonly [ChallengeType, ...ChallengeType[]];

export const challengeOffers: Readonly<Record<Subject, OfferedChallenges>> = {
  name: challengeTypes,
  // Only DNS speaks for all names below one (RFC 8555 section 7.1.3), and nobody answers for an address there (RFC 8738).
  wildcard: ['dns-01', 'dns-account-01'],
  address: ['http-01', 'tls-alpn-01'],
};

/** In the order in which they are offered. */
export const offeredChallenges = (identifier: Identifier): OfferedChallenges => challengeOffers[subjectOf(identifier)];

function subjectOf(identifier: Identifier): Subject {
  if (identifier.type === 'ip') return 'address';
  return identifier.wildcard ? 'wildcard' : 'name';
}
