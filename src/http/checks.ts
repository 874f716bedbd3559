// Named checks, each bounded in time and asked rarely however many probes come.
import type { Events } from '../telemetry/events.ts';
import { withoutSecrets } from '../telemetry/redact.ts';

/** Resolves when all is well; rejects with an error whose message says what is not. */
export type Check = (signal: AbortSignal) => Promise<void>;
export type Checks = Readonly<Record<string, Check>>;

type CheckResult = { readonly name: string; readonly ok: boolean; readonly reason?: string };

export type AskChecks = () => Promise<readonly CheckResult[]>;

export type CheckTiming = {
  readonly deadlineMs: number;
  /** How long a good answer stands. */
  readonly keptMs: number;
  /** How long a bad one does: what heals is to be seen soon. */
  readonly failureKeptMs: number;
};

const usualTiming: CheckTiming = { deadlineMs: 1_000, keptMs: 2_000, failureKeptMs: 100 };

/** Asks all of them at once. */
export function askingOf(checks: Checks, events: Events, timing: CheckTiming = usualTiming): AskChecks {
  const asks = Object.entries(checks).map(([name, check]) =>
    kept(timing, async () => {
      const result = await run(name, check, timing.deadlineMs);
      events.healthChecked({ check: name, passes: result.ok });
      return result;
    }),
  );
  return () => Promise.all(asks.map((ask) => ask()));
}

/** The same, telling of each change in what fails. */
export function tellingChanges(ask: AskChecks, events: Events): AskChecks {
  let told: string | undefined;
  return async () => {
    const results = await ask();
    const failing = results.filter((result) => !result.ok).map(({ name, reason = '' }) => [name, reason]);
    // The names alone: a reason with a changing number in it is no news.
    const names = failing.map(([name]) => name).join();
    if (names !== told) events.readinessChanged({ failing: Object.fromEntries(failing) });
    told = names;
    return results;
  };
}

async function run(name: string, check: Check, deadlineMs: number): Promise<CheckResult> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const controller = new AbortController();
  const timer = setTimeout(() => {
    const reason = new Error(`no answer within ${deadlineMs} ms`);
    controller.abort(reason);
    reject(reason);
  }, deadlineMs);
  try {
    await Promise.race([check(controller.signal), late]);
    return { name, ok: true };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { name, ok: false, reason: withoutSecrets(reason).replace(/\s+/g, ' ') };
  } finally {
    clearTimeout(timer);
  }
}

// Probes that come while the check runs wait for the same answer.
function kept(timing: CheckTiming, ask: () => Promise<CheckResult>): () => Promise<CheckResult> {
  let answer: { readonly result: Promise<CheckResult>; until: number } | undefined;
  return () => {
    if (answer !== undefined && performance.now() < answer.until) return answer.result;
    const asked = { result: ask(), until: Number.POSITIVE_INFINITY };
    answer = asked;
    return asked.result.then((result) => {
      asked.until = performance.now() + (result.ok ? timing.keptMs : timing.failureKeptMs);
      return result;
    });
  };
}
