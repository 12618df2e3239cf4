import type { Judged } from './conflicts.ts';
import type { Draft } from './draft.ts';
import { heal } from './heal.ts';
import type { Aim } from './judge.ts';
import { revert } from './revert.ts';
import { isPassing } from './session.ts';
import { type AppView, currentsOf } from './view.ts';

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

/** One of a group has failed, so that all go back; what it took over a port from runs again. */
export function goBackTogether(group: readonly Judged[], draft: Draft): void {
  const source = draft.world.wanted?.source ?? '';
  const isDone = revert(
    group.map(({ view, aim }) => ({
      view,
      id: idToTakeBack(aim),
      source,
      keepsFailed: aim.kind === 'stay' && aim.failed !== null && !isPassing(aim.failed.code),
    })),
    draft,
  );
  for (const { view, aim } of group)
    draft.setPhase(view.name, 'updating', aim.kind === 'stay' ? aim.obstacle : null);
  if (!isDone) return;
  for (const { view } of group) heal(view.name, currentsOf(view), view.memory.good, draft);
  const names = group.map(({ view }) => view.name);
  const { handovers } = draft.world.memory;
  draft.setHandovers(handovers.filter((known) => !known.some((name) => names.includes(name))));
}

function idToTakeBack(aim: Aim): number | null {
  if (aim.kind === 'stay') return aim.failed?.id ?? null;
  return aim.kind === 'run' && aim.version.change !== 'steady' ? aim.version.id : null;
}
