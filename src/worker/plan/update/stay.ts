import type { Draft } from '../draft.ts';
import { heal } from '../heal/heal.ts';
import { isPassing } from '../session.ts';
import { type AppView, currentsOf } from '../view.ts';
import type { Aim } from '../wanted/judge.ts';
import { revert } from './revert.ts';

/** Leaves an app as it is, and keeps alive what was good. A version that failed is taken back first. */
export function planStay(view: AppView, aim: Extract<Aim, { kind: 'stay' }>, draft: Draft): void {
  const { name } = view;
  const source = draft.world.wanted?.source ?? '';
  const id = aim.failed?.id ?? null;
  const keepsFailed = aim.failed !== null && !isPassing(aim.failed.code);
  const isBack = revert([{ view, id, source, keepsFailed }], draft);
  const { containers, wanted, memory } = view;
  const currents = currentsOf(view).filter(
    (current) => !(current.appId === id && current.source === source && id !== null),
  );
  const trouble = isBack ? heal(name, currents, memory.good, draft) : null;
  if (wanted === null && containers.length === 0) return;
  const state = trouble !== null || currents.length === 0 ? 'failing' : stateOfStay(aim);
  draft.setPhase(name, state, aim.obstacle ?? trouble);
}

function stateOfStay({ obstacle, failed }: Extract<Aim, { kind: 'stay' }>) {
  if (failed !== null && !isPassing(failed.code)) return 'rolled_back';
  return obstacle === null || obstacle.code === 'ids-behind' ? 'running' : 'kept';
}
