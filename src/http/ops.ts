// The ops door: whether the process lives, whether it is ready for traffic and what is missing, and its metrics.
import type { Events } from '../telemetry/events.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AskChecks, askingOf, type Checks, type CheckTiming, tellingChanges } from './checks.ts';
import { refusalProblem } from './problem.ts';
import type { Answer, Door, HttpReply, HttpRoute } from './route.ts';

export type OpsOptions = {
  readonly metrics: Metrics;
  readonly events: Events;
  /** What must hold for traffic to come here: name -> check. */
  readonly ready: Checks;
  /** What only a restart heals; never the database. That the event loop turns is proved by the answer itself. */
  readonly live?: Checks;
  readonly timing?: CheckTiming;
};

export function opsDoor({ metrics, events, ready, live = {}, timing }: OpsOptions): Door {
  const askLive = askingOf(live, events, timing);
  const askReady = tellingChanges(askingOf(ready, events, timing), events);
  return {
    name: 'ops',
    signpost: 'There are /livez, /readyz and /metrics.',
    bodyCapBytes: 0,
    deadlineMs: 10_000,
    accessLevel: 'debug',
    refuse: refusalProblem,
    replyTo: () => undefined,
    routes: [
      get('/livez', ({ query }) => checksReply('livez', askLive, query)),
      get('/readyz', ({ query }) => checksReply('readyz', askReady, query)),
      get('/metrics', async () => {
        // The metrics of the checks are as old as the last probe, and there may be none.
        await askReady();
        return { status: 200, headers: { 'Content-Type': metrics.contentType }, body: await metrics.text() };
      }),
    ],
  };
}

const get = (path: string, answer: Answer): HttpRoute => ({ method: 'GET', path, admit: () => answer });

/** JSON, or with `?verbose` the lines that Kubernetes' own servers write. */
async function checksReply(name: string, ask: AskChecks, query: URLSearchParams): Promise<HttpReply> {
  const checks = await ask();
  const ok = checks.every((check) => check.ok);
  const status = ok ? 200 : 503;
  if (!query.has('verbose'))
    return { status, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ok, checks }) };
  const lines = checks.map((check) => (check.ok ? `[+]${check.name} ok` : `[-]${check.name} failed: ${check.reason}`));
  const body = `${[...lines, `${name} check ${ok ? 'passed' : 'failed'}`].join('\n')}\n`;
  return { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body };
}
