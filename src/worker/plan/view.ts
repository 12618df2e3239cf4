import type { AppMemory } from './memory.ts';
import type { Container, Role, WantedApp } from './model.ts';
import type { Session, Troubles } from './session.ts';
import type { Version } from './wanted/version.ts';
import type { World } from './world.ts';

/** The containers of one slot of an app. */
export type Slot = Partial<Record<Role, Container>>;

/** Everything that is known of one app. */
export interface AppView {
  name: string;
  /** Null if the device group does not list it. */
  wanted: WantedApp | null;
  memory: AppMemory;
  troubles: Troubles;
  /** Until when it waits so that a fleet does not pull at once; null if it does not. */
  wait: Session['waits'][string] | null;
  /** The image that it uses since it could not be pulled again; null if it uses none. */
  stale: Session['stale'][string] | null;
  containers: readonly Container[];
  /** By number, from 1. */
  slots: ReadonlyMap<number, Slot>;
}

export const NO_MEMORY: AppMemory = {
  good: null,
  failed: null,
  retry: null,
  staged: null,
  wayBack: null,
};

/** Returns the view of an app. */
export function viewOf(
  name: string,
  wanted: WantedApp | null,
  { actual, memory, session }: Pick<World, 'actual' | 'memory' | 'session'>,
): AppView {
  const containers = actual.containers.filter(({ app }) => app === name);
  const slots = new Map<number, Slot>();
  for (const container of containers)
    slots.set(container.slot, { ...slots.get(container.slot), [container.role]: container });
  return {
    name,
    wanted,
    memory: memory.apps[name] ?? NO_MEMORY,
    troubles: session.troubles[name] ?? {},
    wait: session.waits[name] ?? null,
    stale: session.stale[name] ?? null,
    containers,
    slots,
  };
}

/** Returns the current containers of an app, by slot. */
export function currentsOf({ slots }: AppView): Container[] {
  return [...slots.values()].flatMap(({ current }) => (current === undefined ? [] : [current]));
}

/**
 * Returns what was put aside, and runs again beside the container of its slot: an engine that starts starts what has failed
 * with `restart: on-failure`, even if it was stopped before.
 */
export function risenOf({ slots }: AppView): Container[] {
  return [...slots.values()].flatMap(({ current, joining, old, failed }) =>
    current === undefined ? [] : [joining, old, failed].filter((one) => one !== undefined).filter(isUp),
  );
}

/** Whether a container is what a version asks for. */
export function isOfVersion(container: Container | undefined, version: Version): container is Container {
  if (container === undefined || version.content !== container.content) return false;
  return container.source === version.source
    ? container.appId >= version.floor
    : version.change !== 'restart';
}

/** Whether the device has a version, and it has been well. */
export function isKnownGood({ memory: { good } }: AppView, { id, source }: Version): boolean {
  return good?.id === id && good.source === source;
}

/** Whether a container is of the version that was good last. */
export function isOfGood({ content, imageId }: Container, { memory: { good } }: AppView): boolean {
  return good !== null && good.content === content && good.imageId === imageId;
}

/** Whether a stopped container of the version that was good last is kept. */
export function hasGoodOld(view: AppView): boolean {
  return [...view.slots.values()].some(({ old }) => old !== undefined && isOfGood(old, view));
}

/** Whether a container holds its ports and uses its image: it runs, or the engine is about to start it again. */
export function isUp({ state }: Container): boolean {
  return state === 'running' || state === 'restarting' || state === 'paused';
}
