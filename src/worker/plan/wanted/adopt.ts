import type { AppMemory, Good, Memory } from '../memory.ts';
import type { Actual, Container, Wanted, WantedApp } from '../model.ts';
import { NO_MEMORY } from '../view.ts';

/**
 * Returns the memory at the first reply of a source: of a new worker, of one that lost its memory, or of one that was
 * pointed at another manager or group. Ids of another source mean nothing, so content decides: what runs already with the
 * wanted content is taken over as it is, and nothing restarts.
 */
export function adopt(memory: Memory, wanted: Wanted, actual: Actual): Memory {
  if (memory.source === wanted.source) return memory;
  const apps: Record<string, AppMemory> = { ...memory.apps };
  for (const app of wanted.apps) {
    const found = foundOf(app.name, actual.containers);
    const good = adopted(app, apps[app.name]?.good ?? null, found, wanted.source);
    apps[app.name] = { ...NO_MEMORY, good };
  }
  return { ...memory, source: wanted.source, groupId: wanted.groupId, pruneId: null, apps };
}

interface Found {
  /** Those that run well. */
  well: readonly Container[];
  /** Those that have run, and that an engine that ended, or somebody, has stopped. */
  stopped: readonly Container[];
}

/** Returns the containers of an app that count. One beside an old one of its slot has still to show that it runs well. */
function foundOf(name: string, containers: readonly Container[]): Found {
  const own = containers.filter(({ app }) => app === name);
  const unproven = new Set(own.filter(({ role }) => role === 'old').map(({ slot }) => slot));
  const proven = own.filter(({ role, slot }) => role === 'current' && !unproven.has(slot));
  return {
    well: proven.filter(({ state, health }) => state === 'running' && health !== 'unhealthy'),
    // In the middle of an update, a stopped container of a slot that is new can be of a version that failed.
    stopped: unproven.size > 0 ? [] : proven.filter(({ state }) => state === 'exited' || state === 'paused'),
  };
}

function adopted(app: WantedApp, good: Good | null, { well, stopped }: Found, source: string): Good | null {
  const { id, count, record } = app;
  if (good !== null && app.content === good.content) return { ...good, id, count, record, source };
  const [own = []] = [well, stopped]
    .map((some) => some.filter((container) => container.source === source))
    .filter((some) => some.length > 0);
  const newest = own.toSorted((a, b) => b.appId - a.appId)[0];
  if (newest !== undefined) {
    const isWanted = newest.appId === id && app.content === newest.content;
    return { ...goodOf(newest), record: isWanted ? record : null };
  }
  const equal = well.find((container) => app.content === container.content);
  return equal === undefined ? good : { ...goodOf(equal), id, count, record, source };
}

function goodOf({ content, count, imageId, source, appId }: Container): Good {
  return { id: appId, source, content, count, imageId, record: null };
}
