// A second replica takes over: after the first was stopped, and after it was killed.
import type { ServingAcmery } from '../../support/acmery-process.ts';
import type { Figure } from '../figure.ts';
import { followed } from './followed.ts';
import { bindingOf, bindingsPath, makeNamespace, type World } from './world.ts';

const NAMESPACE = 'takeover';

export async function benchTakeover(world: World): Promise<readonly Figure[]> {
  await makeNamespace(world.cluster, NAMESPACE);
  return [
    {
      what: 'takeover after a clean stop, to the next binding Ready',
      measured: `${(await takeover(world, 'SIGTERM')).toFixed(2)} s`,
      goal: 'goal 3 s',
    },
    {
      what: 'takeover after a kill, to the next binding Ready',
      measured: `${(await takeover(world, 'SIGKILL')).toFixed(2)} s`,
      goal: 'goal 17 s: the lease of 15 s, and 2 s',
    },
  ];
}

/** Seconds from the signal until a binding that is made at the same moment is ready. */
async function takeover(world: World, signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
  const { admin } = world.cluster;
  const path = bindingsPath(NAMESPACE);
  await using bindings = await followed(admin, path);
  const make = async (when: string): Promise<number> => {
    const name = `${when}-${signal.toLowerCase()}`;
    await admin.request({ method: 'POST', path, body: bindingOf(name) });
    return bindings.untilReady([name]);
  };
  await using leader = await leading(world, () => make('before'));
  await using next = await world.start();
  await next.untilReady();
  const begunMs = performance.now();
  const stopped = leader.stop(signal);
  const readyMs = await make('after');
  await stopped;
  await next.stop('SIGTERM');
  return (readyMs - begunMs) / 1_000;
}

async function leading(world: World, isReady: () => Promise<unknown>): Promise<ServingAcmery> {
  const acmery = await world.start();
  await acmery.untilReady();
  await isReady();
  return acmery;
}
