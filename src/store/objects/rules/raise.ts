import { Pace } from '../../../async/pace.ts';
import { type CounterKind, kindOfCounter } from '../../../ids/id-store.ts';
import type { ActChange } from '../../act.ts';
import type { Operation } from '../../operation.ts';
import { ifMatchRefusal } from '../if-match.ts';
import type { AtRevision, OperationContext, StoredObject } from '../port.ts';
import { storedObject } from './rows.ts';
import type { WorkingSet } from './working-set.ts';

/** The operations on one object, and the counters that they raise. */
const RAISED = { restart: 'app', prune: 'prune' } as const;

/** Implements `OperationStore.restartApp` and `pruneGroup`. */
export function raiseId(
  work: WorkingSet,
  action: keyof typeof RAISED,
  name: string,
  context: OperationContext,
  ifMatch: readonly string[] | null,
): AtRevision<StoredObject> | null {
  const counter = RAISED[action];
  const kind = kindOfCounter(counter);
  const read = (): StoredObject | null => {
    const object = work.find(kind, name);
    return object === undefined ? null : storedObject(object, work.defaults);
  };
  const before = read();
  if (before === null) return null;
  const refusal = ifMatchRefusal(before, ifMatch);
  if (refusal !== null) throw refusal;
  const id = work.raise(counter, name, work.nextIdSequence());
  log(work, { ...context, action, name, ids: { [name]: id } });
  return { value: read() ?? before, revision: work.revision };
}

/** Implements `OperationStore.pruneAll`. Yields to other work between groups. */
export async function pruneAll(
  work: WorkingSet,
  context: OperationContext,
): Promise<AtRevision<Record<string, number>>> {
  const names = work.names('device_group');
  const changed = names.length === 0 ? 0 : work.nextIdSequence();
  const pace = new Pace();
  const given: [name: string, id: number][] = [];
  for (const name of names) {
    given.push([name, work.raise('prune', name, changed)]);
    await pace.step();
  }
  const ids = Object.fromEntries(given);
  log(work, { ...context, action: 'prune-all', name: null, ids });
  return { value: ids, revision: work.revision };
}

/** Implements `OperationStore.logOperation`: adds the act of an operation. */
export function log(work: WorkingSet, entry: Operation): void {
  const { at, action, name, actor, requestId, reason, text, ids } = entry;
  const kind: CounterKind = action === 'restart' ? 'app' : 'prune';
  const changes = Object.entries(ids).map(([object, id]): ActChange => {
    return { kind, name: object, change: 'update', id, fields: [], before: null, after: null };
  });
  const operation = {
    action,
    name,
    actor,
    requestId,
    ...(reason == null ? {} : { reason }),
    ...(text !== undefined && { text }),
  };
  const { idSequence } = work.state;
  work.act = { at, idSequence, applied: null, operation, held: [], changes, effects: [] };
}
