// Bodies that ask for a revocation: they give the reason by number or by name.
import { chosenReason, type RevocationReason } from '../resources/revocation-reasons.ts';
import type { Body } from './body.ts';

type GivenReason = { readonly reason?: number | undefined; readonly revoke_reason?: RevocationReason | undefined };

/** The handler gets the reason as `chosen`; to give both forms is a problem of the body. */
export const withReason = <V extends GivenReason>(body: Body<V>): Body<V & { readonly chosen: RevocationReason }> => ({
  ...body,
  read: (json) => {
    const result = body.read(json);
    if (!result.ok) return result;
    const chosen = chosenReason(body.wrapper ?? '', result.value);
    return chosen.ok ? { ok: true, value: { ...result.value, chosen: chosen.value } } : chosen;
  },
});
