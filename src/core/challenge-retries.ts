// When a challenge that was not met is tried again (CHA-7): four tries over twelve seconds.

/** After each failure but the last. */
export const retriesMs = [2_000, 4_000, 6_000] as const;
/** A client that asks for it has the next try so soon, but for the last one: the tries never take less than ten seconds. */
export const hastenedMs = 2_000;
export const hastenedFailures = retriesMs.length - 1;
