import { HoldfastError } from '../../errors.ts';
import { Pace } from '../pace.ts';
import type { AtRevision, OperationContext, StoredApp, StoredGroup } from '../store.ts';
import { storedApp, storedGroup } from './rows.ts';
import type { Writes } from './tables.ts';

/** `Store.restartApp` inside the caller's transaction. */
export function restartApp(
  writes: Writes,
  name: string,
  context: OperationContext,
  ifId: number | undefined,
): AtRevision<StoredApp> | null {
  const row = writes.objects.find('app', name);
  if (row === undefined) return null;
  if (ifId !== undefined && ifId !== row.id) {
    throw new HoldfastError('moved-on', `If-Match does not hold: the id is ${row.id} now`);
  }
  const id = writes.counters.raise('app', name, writes.state.nextIdSequence());
  writes.objects.setId('app', name, id);
  writes.operations.addFor(context, 'restart', name, Object.fromEntries([[name, id]]));
  return { value: storedApp({ ...row, id }, writes.defaults), revision: writes.state.revision() };
}

/** `Store.pruneGroup` inside the caller's transaction. */
export function pruneGroup(
  writes: Writes,
  name: string,
  context: OperationContext,
): AtRevision<StoredGroup> | null {
  const row = writes.objects.find('device_group', name);
  if (row === undefined) return null;
  const id = raisePruneId(writes, name, writes.state.nextIdSequence());
  writes.operations.addFor(context, 'prune', name, Object.fromEntries([[name, id]]));
  return { value: storedGroup({ ...row, prune_id: id }), revision: writes.state.revision() };
}

/** `Store.pruneAll` inside the caller's transaction; gives way to others between groups. */
export async function pruneAll(
  writes: Writes,
  context: OperationContext,
): Promise<AtRevision<Record<string, number>>> {
  const names = writes.objects.groupNames();
  const changed = names.length === 0 ? 0 : writes.state.nextIdSequence();
  const pace = new Pace();
  const given: [name: string, id: number][] = [];
  for (const name of names) {
    given.push([name, raisePruneId(writes, name, changed)]);
    await pace.step();
  }
  const ids = Object.fromEntries(given);
  writes.operations.addFor(context, 'prune-all', null, ids);
  return { value: ids, revision: writes.state.revision() };
}

function raisePruneId({ objects, counters }: Writes, group: string, changed: number): number {
  const id = counters.raise('prune', group, changed);
  objects.setPruneId(group, id);
  return id;
}
