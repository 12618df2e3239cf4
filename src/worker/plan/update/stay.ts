import { heal } from '../heal/heal.ts';
import { type Next, saying } from '../next.ts';
import { isPassing } from '../session.ts';
import { type AppView, currentsOf } from '../view.ts';
import type { Aim } from '../wanted/judge.ts';
import type { World } from '../world.ts';
import { revert } from './revert.ts';

/** Leaves an app as it is, and keeps alive what was good. A version that failed is taken back first. */
export function stay(view: AppView, aim: Extract<Aim, { kind: 'stay' }>, world: World): Next {
  const source = world.wanted?.source ?? '';
  const id = aim.failed?.id ?? null;
  const keepsFailed = aim.failed !== null && !isPassing(aim.failed.code);
  const back = revert(view, { id, source, keepsFailed }, world);
  const { containers, wanted, memory } = view;
  const currents = currentsOf(view).filter(
    (current) => !(current.appId === id && current.source === source && id !== null),
  );
  const { problem, ...next } =
    back.steps.length === 0 ? heal(view, currents, memory.good, world) : { ...back, problem: null };
  if (wanted === null && containers.length === 0) return next;
  const state = problem !== null || currents.length === 0 ? 'failing' : stateOf(aim);
  return { ...next, ...saying(state, aim.obstacle ?? problem) };
}

function stateOf({ obstacle, failed }: Extract<Aim, { kind: 'stay' }>) {
  if (failed !== null && !isPassing(failed.code)) return 'rolled_back';
  return obstacle === null || obstacle.code === 'ids-behind' ? 'running' : 'kept';
}
