// New authorizations for identifiers: with every challenge that can prove control, or, for auto accounts, proven already.
import type { NewAuthorization, NewAuthorizations } from '../store/new-authorization.ts';
import { offeredChallenges } from './challenge-offers.ts';
import type { Identifier } from './identifiers.ts';
import { newUuid } from './ids.ts';
import { randomPieces } from './random-pieces.ts';

const HOUR_MS = 3_600_000;

/** Of orders, and of authorizations whether pending or valid. */
const LIFE_MS = 24 * HOUR_MS;
/** So long after its validation an authorization serves new orders. */
const REUSE_MS = HOUR_MS;
/** An order ends with what it leans on, and this much time a client should have for it. */
const LEAST_LEFT_MS = HOUR_MS;

/** CHA-2: 128 bits. */
const nextToken = randomPieces(16);

/** The one challenge that an authorization without validation shows (AUTO-2). */
const autoChallenge = { dns: 'dns-01', ip: 'http-01' } as const;

export const newAuthorizations = (
  identifiers: readonly Identifier[],
  { now, auto }: { readonly now: Date; readonly auto: boolean },
): NewAuthorizations => ({
  createdAt: now,
  expiresAt: new Date(now.getTime() + LIFE_MS),
  auto,
  list: identifiers.map((identifier) => newAuthorization(identifier, now, auto)),
});

/** Which authorizations may serve an order that is made now (ORD-22). */
export const reusableAt = (now: Date) => ({
  validatedAfter: new Date(now.getTime() - REUSE_MS),
  expiresAfter: new Date(now.getTime() + LEAST_LEFT_MS),
});

function newAuthorization(identifier: Identifier, now: Date, auto: boolean): NewAuthorization {
  const { type } = identifier;
  const types = auto ? [autoChallenge[type]] : offeredChallenges(identifier);
  return {
    id: newUuid(now),
    type,
    value: identifier.type === 'dns' ? identifier.name : identifier.value,
    wildcard: identifier.type === 'dns' && identifier.wildcard,
    challenges: types.map((challenge) => ({
      id: newUuid(now),
      type: challenge,
      token: nextToken().toString('base64url'),
    })),
  };
}
