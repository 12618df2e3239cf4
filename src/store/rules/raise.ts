import { Pace } from '../../async/pace.ts';
import { raise } from '../../ids/counter.ts';
import type { CounterKind } from '../../ids/id-store.ts';
import type { ActChange } from '../act.ts';
import { ifMatchRefusal } from '../if-match.ts';
import type { Operation } from '../operation.ts';
import type { AtRevision, OperationContext, StoredApp, StoredGroup } from '../store.ts';
import { storedApp, storedGroup } from './rows.ts';
import type { Work } from './work.ts';

/** Implements `Store.restartApp` on a store's `Work`. */
export function restartApp(
  work: Work,
  name: string,
  context: OperationContext,
  ifMatch: readonly string[] | null,
): AtRevision<StoredApp> | null {
  const row = work.objects.find('app', name);
  if (row === undefined) return null;
  const app = storedApp(row, work.defaults);
  requireMatch(app, ifMatch);
  const id = raiseCounter(work, 'app', name, work.state.nextIdSequence());
  log(work, { ...context, action: 'restart', name, ids: { [name]: id } });
  return { value: { ...app, appId: id }, revision: work.state.appliedRevision() };
}

/** Throws `moved-on` if `ifMatch` does not match the object. */
function requireMatch(object: StoredApp | StoredGroup, ifMatch: readonly string[] | null): void {
  const refusal = ifMatchRefusal(object, ifMatch);
  if (refusal !== null) throw refusal;
}

/** Implements `Store.pruneGroup` on a store's `Work`. */
export function pruneGroup(
  work: Work,
  name: string,
  context: OperationContext,
  ifMatch: readonly string[] | null,
): AtRevision<StoredGroup> | null {
  const row = work.objects.find('device_group', name);
  if (row === undefined) return null;
  const group = storedGroup(row);
  requireMatch(group, ifMatch);
  const id = raiseCounter(work, 'prune', name, work.state.nextIdSequence());
  log(work, { ...context, action: 'prune', name, ids: { [name]: id } });
  return { value: { ...group, pruneId: id }, revision: work.state.appliedRevision() };
}

/** Implements `Store.pruneAll` on a store's `Work`. Yields to other work between groups. */
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
  log(work, { ...context, action: 'prune-all', name: null, ids });
  return { value: ids, revision: work.state.appliedRevision() };
}

/** Implements `Store.logOperation` on a store's `Work`: adds the act of an operation. */
export function log(work: Pick<Work, 'acts' | 'state'>, entry: Operation): void {
  const { at, action, name, actor, requestId, reason, ids } = entry;
  const kind: CounterKind = action === 'restart' ? 'app' : 'prune';
  const changes = Object.entries(ids).map(([object, id]): ActChange => {
    return { kind, name: object, change: 'update', id, fields: [], before: null, after: null };
  });
  const operation = { action, name, actor, requestId, ...(reason == null ? {} : { reason }) };
  work.acts.add({
    at,
    idSequence: work.state.idSequence(),
    applied: null,
    operation,
    held: [],
    changes,
    effects: [],
  });
}

/** Raises a counter, and returns its new id. */
function raiseCounter({ counters }: Work, kind: CounterKind, name: string, changed: number): number {
  const counter = raise(counters.get(kind, name));
  counters.put(kind, name, { ...counter, hash: null }, changed);
  return counter.last;
}
