import { Pace } from '../../async/pace.ts';
import { raise } from '../../plan/ids.ts';
import { ifMatchRefusal } from '../if-match.ts';
import type { AtRevision, CounterKind, OperationContext, StoredApp, StoredGroup } from '../store.ts';
import { storedApp, storedGroup } from './rows.ts';
import type { Work } from './work.ts';

/** `Store.restartApp` as work on a store. */
export function restartApp(
  work: Work,
  name: string,
  context: OperationContext,
  ifMatch: readonly string[] | null,
): AtRevision<StoredApp> | null {
  const row = work.objects.find('app', name);
  if (row === undefined) return null;
  const app = storedApp(row, work.defaults);
  refuseOther(app, ifMatch);
  const id = raiseCounter(work, 'app', name, work.state.nextIdSequence());
  work.operations.add({ ...context, action: 'restart', name, ids: { [name]: id } });
  return { value: { ...app, appId: id }, revision: work.state.revision() };
}

function refuseOther(object: StoredApp | StoredGroup, ifMatch: readonly string[] | null): void {
  const refusal = ifMatchRefusal(object, ifMatch);
  if (refusal !== null) throw refusal;
}

/** `Store.pruneGroup` as work on a store. */
export function pruneGroup(
  work: Work,
  name: string,
  context: OperationContext,
  ifMatch: readonly string[] | null,
): AtRevision<StoredGroup> | null {
  const row = work.objects.find('device_group', name);
  if (row === undefined) return null;
  const group = storedGroup(row);
  refuseOther(group, ifMatch);
  const id = raiseCounter(work, 'prune', name, work.state.nextIdSequence());
  work.operations.add({ ...context, action: 'prune', name, ids: { [name]: id } });
  return { value: { ...group, pruneId: id }, revision: work.state.revision() };
}

/** `Store.pruneAll` as work on a store; gives way to other work between groups. */
export async function pruneAll(
  work: Work,
  context: OperationContext,
): Promise<AtRevision<Record<string, number>>> {
  const names = work.objects.groupNames();
  const changed = names.length === 0 ? 0 : work.state.nextIdSequence();
  const pace = new Pace();
  const given: [name: string, id: number][] = [];
  for (const name of names) {
    given.push([name, raiseCounter(work, 'prune', name, changed)]);
    await pace.step();
  }
  const ids = Object.fromEntries(given);
  work.operations.add({ ...context, action: 'prune-all', name: null, ids });
  return { value: ids, revision: work.state.revision() };
}

/** Gives out the next id. */
function raiseCounter({ counters }: Work, kind: CounterKind, name: string, changed: number): number {
  const counter = raise(counters.get(kind, name));
  counters.put(kind, name, { ...counter, hash: null }, changed);
  return counter.last;
}
