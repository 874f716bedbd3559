// Bodies that ask for a revocation: they give the reason by number or by name.
import { bothReasons, chosenReason, type RevocationReason } from '../resources/revocation-reasons.ts';
import { type Body, membersOf } from './body.ts';

type GivenReason = { readonly reason?: number | undefined; readonly revoke_reason?: RevocationReason | undefined };

/** The handler gets the reason as `chosen`; to give both forms is a problem of the body. */
export function withReason<V extends GivenReason>(body: Body<V>): Body<V & { readonly chosen: RevocationReason }> {
  const { wrapper = '' } = body;
  const read = (json: unknown) => {
    const result = body.read(json);
    if (!result.ok) {
      const further = bothReasons(wrapper, membersOf(membersOf(json)[wrapper])).filter(
        ({ field }) => !result.problems.some((problem) => problem.field === field),
      );
      return { ok: false, problems: [...result.problems, ...further] } as const;
    }
    const chosen = chosenReason(wrapper, result.value);
    return chosen.ok ? ({ ok: true, value: { ...result.value, chosen: chosen.value } } as const) : chosen;
  };
  return { ...body, read };
}
