import type { AppMemory, Good, Memory } from './memory.ts';
import type { Actual, Container, Wanted, WantedApp } from './model.ts';
import { hasContent } from './version.ts';
import { NO_MEMORY } from './view.ts';

/**
 * Returns the memory at the first reply of a source: of a new worker, of one that lost its memory, or of one that was
 * pointed at another manager or group. Ids of another source mean nothing, so content decides: what runs already with the
 * wanted content is taken over as it is, and nothing restarts.
 */
export function adopt(memory: Memory, wanted: Wanted, actual: Actual): Memory {
  if (memory.source === wanted.source) return memory;
  const apps: Record<string, AppMemory> = { ...memory.apps };
  for (const app of wanted.apps) {
    const well = wellOf(app.name, actual.containers);
    const good = adopted(app, apps[app.name]?.good ?? null, well, wanted.source);
    apps[app.name] = { ...NO_MEMORY, good };
  }
  return { ...memory, source: wanted.source, groupId: wanted.groupId, pruneId: null, handovers: [], apps };
}

/** Returns the containers of an app that run well. One beside an old one of its slot has still to show that it does. */
function wellOf(name: string, containers: readonly Container[]): Container[] {
  const own = containers.filter(({ app }) => app === name);
  const unproven = new Set(own.filter(({ role }) => role === 'old').map(({ slot }) => slot));
  return own.filter(
    ({ role, isStray, slot, state, health }) =>
      role === 'current' && !isStray && !unproven.has(slot) && state === 'running' && health !== 'unhealthy',
  );
}

function adopted(app: WantedApp, good: Good | null, well: readonly Container[], source: string): Good | null {
  const { id, count, record } = app;
  if (good !== null && hasContent(app, good.content)) return { ...good, id, count, record, source };
  const own = well.filter((container) => container.source === source);
  const newest = own.toSorted((a, b) => b.appId - a.appId)[0];
  if (newest !== undefined) {
    const isWanted = newest.appId === id && hasContent(app, newest.content);
    return { ...goodOf(newest), record: isWanted ? record : null };
  }
  const equal = well.find((container) => hasContent(app, container.content));
  return equal === undefined ? good : { ...goodOf(equal), id, count, record, source };
}

function goodOf({ content, count, imageId, source, appId }: Container): Good {
  return { id: appId, source, content, count, imageId, record: null };
}
