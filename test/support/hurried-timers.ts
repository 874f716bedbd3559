// Preloaded into the program: long timers end sooner, so that a test need not wait for them. Nothing else is different.
// HURRIED_TIMERS is JSON: milliseconds as the program says them, and as they shall be.
const hurried: Readonly<Record<string, number>> = JSON.parse(process.env.HURRIED_TIMERS ?? '{}');
const { setInterval: startInterval, setTimeout: startTimeout } = globalThis;

const soon = (ms: number | undefined): number | undefined => hurried[`${ms}`] ?? ms;

globalThis.setInterval = Object.assign(
  (work: () => void, ms?: number, ...rest: []) => startInterval(work, soon(ms), ...rest),
  startInterval,
);
globalThis.setTimeout = Object.assign(
  (work: () => void, ms?: number, ...rest: []) => startTimeout(work, soon(ms), ...rest),
  startTimeout,
);
