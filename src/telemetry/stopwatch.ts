// How long something takes, for metrics and log lines; nothing is decided by it.

/** Gives the milliseconds since it was called. */
export function stopwatch(): () => number {
  const begun = performance.now();
  return () => performance.now() - begun;
}
