import type { AppState } from '../../protocol/report.ts';
import type { Knowledge } from './learn.ts';
import type { AppMemory } from './memory.ts';
import type { Actual, Container, Obstacle, Step } from './model.ts';
import { type Phase, without } from './session.ts';
import { type AppView, NO_MEMORY } from './view.ts';
import type { World } from './world.ts';

/** What to do next for an app, and what is known of it then. */
export interface Next {
  /** The app as it is, with what is to be remembered of it. */
  view: AppView;
  steps: readonly Step[];
  /** What it is doing, and what keeps it from its goal; without it, what was said at the last look. */
  says?: Pick<Phase, 'state' | 'obstacle'>;
  /** A container whose last lines say why a version was taken back now. */
  failure?: string;
  /** Containers that are watched from now on: what happened to them before does not count against them. */
  watched?: readonly Container[];
  /** Whether nothing of it is left to remember. */
  isGone?: true;
}

/** Returns what an app is doing, for the members of a `Next`. */
export function saying(state: AppState, obstacle: Obstacle | null = null): Required<Pick<Next, 'says'>> {
  return { says: { state, obstacle } };
}

/** Returns two parts of what to do for an app as one. The second was made from the view of the first, and has the last word. */
export function joined(first: Next, second: Next): Next {
  return { ...first, ...second, steps: [...first.steps, ...second.steps] };
}

/** Returns what to do if changes of names and states have failed of late: they wait, and the app says so. */
export function heldBack(next: Next, now: number): Next {
  const { view, steps, says } = next;
  const { change } = view.troubles;
  const others = steps.filter(({ do: kind }) => kind !== 'stop' && kind !== 'rename' && kind !== 'remove');
  if (change === undefined || change.nextTry <= now || others.length === steps.length) return next;
  const { code, text } = change;
  return { ...next, steps: others, ...saying(says?.state ?? 'updating', { code, text }) };
}

/** Returns what the worker knows once it has been decided what to do next for these apps; nothing else of it changes. */
export function knownAfter(nexts: readonly Next[], { memory, session, actual, now }: World): Knowledge {
  const gone = nexts.flatMap(({ isGone, view }) => (isGone === true ? [view.name] : []));
  const kept = nexts.filter(({ isGone }) => isGone !== true);
  function changed<T>(map: Readonly<Record<string, T>>, of: (next: Next) => T | null): Record<string, T> {
    const entries = kept.map((next): [string, T | null] => [next.view.name, of(next)]);
    return { ...without(map, ...gone), ...Object.fromEntries(entries.filter(isThere)) };
  }
  const watched = nexts.flatMap((next) => next.watched ?? []);
  const sightings = watched.map(({ id, restarts }) => [id, { since: now, restarts }]);
  return {
    memory: { ...memory, apps: changed(memory.apps, (next) => memoryAfter(next, actual)) },
    session: {
      ...session,
      sightings: { ...session.sightings, ...Object.fromEntries(sightings) },
      troubles: changed(session.troubles, ({ view }) => view.troubles),
      waits: changed(session.waits, ({ view }) => view.wait),
      stale: changed(session.stale, ({ view }) => view.stale),
    },
  };
}

function isThere<T>(entry: [string, T | null]): entry is [string, T] {
  return entry[1] !== null;
}

/** Containers that the worker itself stops have not ended because their work is done. Null if there is nothing to remember. */
function memoryAfter({ view, steps }: Next, { containers }: Actual): AppMemory | null {
  const { memory } = view;
  const stopping = steps.flatMap((step) => (step.do === 'stop' ? [step.container] : []));
  if (stopping.length === 0) return memory === NO_MEMORY ? null : memory;
  const before = memory.stopped?.filter((id) => containers.some((container) => container.id === id));
  return { ...memory, stopped: [...new Set([...(before ?? []), ...stopping])] };
}
