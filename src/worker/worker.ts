// The worker role: runs every task of tasks.ts on whatever of its rows is due, beside any number of other workers.
import { runAlone } from '../core/alone.ts';
import type { Ca } from '../core/ca.ts';
import { Periodic } from '../core/periodic.ts';
import { DueLoop } from './due-loop.ts';
import { challengeTask, type Duty, dueTasks, duties } from './tasks.ts';

const CHANNEL = 'acmery_due';

/** Works until it is disposed of; then takes nothing new, and waits for what it has begun. */
export function startWorker(ca: Ca): AsyncDisposable {
  const challenges = new DueLoop(ca, challengeTask);
  const all: readonly DueLoop[] = [challenges, ...dueTasks.map((task) => new DueLoop(ca, task))];
  const loops = new Map(all.map((loop) => [loop.name, loop]));
  const wakeAll = () => {
    for (const loop of loops.values()) loop.wake();
  };
  // What was notified while nobody listened is found by looking.
  const listener = ca.database.listen({ [CHANNEL]: (task) => loops.get(task)?.notified() }, { onListening: wakeAll });
  const employed = ca.ownWorker.employ(() => challenges.place());
  const stopping = new AbortController();
  const rounds = duties.map((duty) => startDuty(ca, duty, stopping.signal));
  const parts: readonly AsyncDisposable[] = [...loops.values(), ...rounds, listener];
  return {
    async [Symbol.asyncDispose]() {
      employed[Symbol.dispose]();
      stopping.abort();
      await Promise.all(parts.map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

function startDuty(ca: Ca, { name, intervalMs, run }: Duty, signal: AbortSignal): Periodic {
  const onError = (error: unknown) => ca.events.taskFailed({ task: name, attempt: 1, error });
  const task = async () => {
    if (await runAlone(ca, name, () => run(ca, signal))) ca.events.taskDone({ task: name });
  };
  const periodic = new Periodic({ intervalMs, task, onError });
  void periodic.runNow();
  return periodic;
}
