// Who calls: an API token, the bootstrap token, or, where the cluster can be asked, a ServiceAccount token.
import { hash, timingSafeEqual } from 'node:crypto';
import { callerOfApiToken, isApiToken } from '../core/api-tokens.ts';
import type { Ca } from '../core/ca.ts';
import { type Caller, mayDo, type Permission } from '../core/caller.ts';
import { CaError } from '../core/errors.ts';
import type { HttpHead } from '../http/route.ts';
import type { CallerReview } from './ports.ts';
import { ApiRefusal } from './problems.ts';

export type Credentials = {
  /** An admin token of at least 32 characters, valid while it is set. */
  readonly bootstrapToken?: string;
  /** Without one, tokens of the cluster are invalid. */
  readonly callerReview?: CallerReview;
};

export type Authenticator = (head: HttpHead, needed: Permission) => Promise<Caller>;

const SHORTEST_BOOTSTRAP = 32;
// RFC 6750 section 2.1; the scheme's name is of any case (RFC 9110 section 11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** Gives callers who hold the permission; throws 401 for the unknown and 403 for those of a lower level. */
export function authenticator(ca: Ca, { bootstrapToken, callerReview }: Credentials): Authenticator {
  if (bootstrapToken !== undefined && bootstrapToken.length < SHORTEST_BOOTSTRAP)
    throw new RangeError(`The bootstrap token needs at least ${SHORTEST_BOOTSTRAP} characters.`);
  const bootstrapDigest = bootstrapToken === undefined ? undefined : digestOf(bootstrapToken);

  const callerOf = async (token: string, { signal }: HttpHead, needed: Permission): Promise<Caller> => {
    // Digests are of one length, and their comparison tells nothing about where they differ.
    if (bootstrapDigest !== undefined && timingSafeEqual(digestOf(token), bootstrapDigest))
      return { kind: 'bootstrap', name: 'bootstrap', permission: 'admin' };
    if (isApiToken(token)) {
      const caller = await callerOfApiToken(ca, token);
      return typeof caller === 'string' ? invalid(reasons[caller]) : caller;
    }
    const review = await callerReview?.review(token, signal);
    if (review === undefined || review.outcome === 'unknown') return invalid(reasons.unknown);
    if (review.outcome === 'unavailable') throw new CaError('unavailable', review.detail);
    const { name, permission } = review.caller;
    return permission === undefined ? denied(needed, 'none') : { kind: 'service_account', name, permission };
  };

  return async (head, needed) => {
    const { authorization } = head.headers;
    const token = BEARER.exec(authorization ?? '')?.[1];
    if (token === undefined) return missing(authorization);
    const caller = await callerOf(token, head, needed);
    requirePermission(caller, needed);
    return { ...caller, requestId: head.requestId };
  };
}

/** Throws 403 for callers of a lower level; for what a body asks for beyond its route, too. */
export function requirePermission(caller: Caller, needed: Permission): void {
  if (!mayDo(caller, needed)) denied(needed, caller.permission);
}

/** Only who holds a token learns why it is not accepted. */
const reasons = {
  unknown: 'This token is not known here.',
  expired: 'This token has expired; ask for a new one.',
  revoked: 'This token has been revoked; ask for a new one.',
} as const;

function missing(authorization: string | undefined): never {
  const came = authorization === undefined ? 'no Authorization came' : 'an Authorization of another form came';
  throw new ApiRefusal('missing_credential', `Authorization: Bearer <token> is expected, and ${came}.`, {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

function invalid(reason: string): never {
  throw new ApiRefusal('invalid_credential', reason, {
    headers: { 'WWW-Authenticate': `Bearer error="invalid_token", error_description="${reason}"` },
  });
}

function denied(needed: Permission, held: Permission | 'none'): never {
  throw new ApiRefusal('permission_denied', `This needs permission ${needed}; the credential has ${held}.`, {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${needed}"` },
  });
}

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');
