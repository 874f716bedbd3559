// The worker role: runs every task of tasks.ts on whatever of its rows is due, beside any number of other workers.
import { runAlone } from '../core/alone.ts';
import type { Ca } from '../core/ca.ts';
import { Periodic } from '../core/periodic.ts';
import { DueLoop } from './due-loop.ts';
import { type Duty, dueTasks, duties } from './tasks.ts';

const CHANNEL = 'acmery_due';

/** Works until it is disposed of; then takes nothing new, and waits for what it has begun. */
export function startWorker(ca: Ca): AsyncDisposable {
  const stack = new AsyncDisposableStack();
  const loops = new Map(dueTasks.map((task) => [task.name, new DueLoop(ca, task)]));
  stack.defer(async () => {
    await Promise.all([...loops.values()].map((loop) => loop[Symbol.asyncDispose]()));
  });
  const wakeAll = () => {
    for (const loop of loops.values()) loop.wake();
  };
  // What was notified while nobody listened is found by looking.
  stack.use(ca.database.listen({ [CHANNEL]: (task) => loops.get(task)?.wake() }, { onListening: wakeAll }));
  for (const duty of duties) stack.use(startDuty(ca, duty));
  return stack;
}

function startDuty(ca: Ca, { name, intervalMs, run }: Duty): Periodic {
  const onError = (error: unknown) => ca.events.taskFailed({ task: name, attempt: 1, error });
  const task = async () => {
    await runAlone(ca, name, run);
    ca.events.taskDone({ task: name });
  };
  const periodic = new Periodic({ intervalMs, task, onError });
  void periodic.runNow();
  return periodic;
}
