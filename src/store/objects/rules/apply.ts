import { once } from '../../../async/once.ts';
import { Pace } from '../../../async/pace.ts';
import type { Content } from '../../../desired/content.ts';
import { contentHash } from '../../../ids/content-hash.ts';
import { kindOfCounter } from '../../../ids/id-store.ts';
import { changedFields } from '../../../plan/describe.ts';
import type { FileOrigin, Step } from '../../../plan/step.ts';
import type { AppDefaults } from '../../../protocol/app.ts';
import type { Kind } from '../../../protocol/name.ts';
import { sameValue } from '../../../protocol/values.ts';
import type { ActChange, NewAct } from '../../act.ts';
import type { AppliedRow } from '../../fleet.ts';
import type { ApplyBatch, AssignedId } from '../port.ts';
import { requireSequence } from './claim.ts';
import { contentOf } from './rows.ts';
import type { WorkingSet } from './working-set.ts';

/** The state that the steps of one pass share. */
interface Pass {
  /** The time of new objects, in Unix milliseconds. */
  at: number;
  /** Returns the id sequence of this pass; the first call takes it from the state. */
  changed: () => number;
  /** What its act has of this pass. */
  changes: ActChange[];
}

/** A step that creates or updates its object. */
type Upsert = Step & { after: Content };

/** Implements `PassStore.apply`. Yields to other work between steps. */
export async function applyBatch(work: WorkingSet, batch: ApplyBatch): Promise<AssignedId[]> {
  requireSequence(work.state, batch.sequence);
  const { revision, at, rules } = batch;
  const before = work.revision;
  work.set({ applied: { revision, at }, rules });
  const pass: Pass = { at, changed: once(() => work.nextIdSequence()), changes: [] };
  const pace = new Pace();
  const given: AssignedId[] = [];
  for (const [index, step] of batch.steps.entries()) {
    const id = applyStep(work, step, pass);
    if (id !== null) given.push({ kind: step.kind, name: step.name, id });
    batch.onStep?.(index + 1);
    await pace.step();
  }
  for (const { kind, name, origin } of batch.origins) {
    moveFile(work, kind, name, origin, pass);
    await pace.step();
  }
  const { idSequence } = work.state;
  if (before !== revision || pass.changes.length > 0)
    work.act = { ...actOf(batch, before, pass.changes), idSequence };
  return given;
}

/** Applies a step. Returns the id of the object that it created or changed; null if there is none. */
function applyStep(work: WorkingSet, step: Step, pass: Pass): number | null {
  if (!isUpsert(step)) {
    remove(work, step, pass);
    return null;
  }
  const { kind, name, after, origin } = step;
  const object = work.find(kind, name);
  if (object === undefined) return create(work, step, pass);
  if (isSame(object, step, work.defaults)) {
    moveFile(work, kind, name, origin, pass);
    return null;
  }
  const { stored } = object;
  const id = work.raise(kind, name, pass.changed());
  work.store(kind, name, { oid: stored.oid, ...storedPart(step) });
  const fields = changedFields(contentOf(kind, stored.content, work.defaults), after);
  pass.changes.push({ kind, name, change: 'update', id, fields, before: stored.origin, after: origin });
  return id;
}

function isUpsert(step: Step): step is Upsert {
  return step.after !== null;
}

/**
 * Creates an object. If the counter has the hash of its content, nothing changes for devices, so the ids stay the same.
 */
function create(work: WorkingSet, step: Upsert, pass: Pass): number {
  const { kind, name } = step;
  const part = storedPart(step);
  const counter = work.counter(kind, name);
  const isUnchanged = counter.hash === part.hash && counter.last > 0;
  // The object that is stored now has the hash. What `IdStore.counters` returns stays the same.
  if (isUnchanged) work.putCounter(kind, name, { ...counter, hash: null });
  const id = isUnchanged ? counter.last : work.raise(kind, name, pass.changed());
  const oid = work.newOid(pass.at);
  work.set({ lastOid: oid });
  work.store(kind, name, { oid, ...part });
  pass.changes.push({ kind, name, change: 'create', id, fields: [], before: null, after: step.origin });
  if (kind !== kindOfCounter('prune')) return id;
  const { last } = work.counter('prune', name);
  const prune = isUnchanged && last > 0 ? last : work.raise('prune', name, pass.changed());
  const nothing = { fields: [], before: null, after: null };
  pass.changes.push({ kind: 'prune', name, change: 'create', id: prune, ...nothing });
  return id;
}

/** Removes an object. Its counter stays, without a hash, so that a later object of this name gets a new id. */
function remove(work: WorkingSet, { kind, name }: Step, pass: Pass): void {
  const counter = work.counter(kind, name);
  const object = work.find(kind, name);
  if (object !== undefined) {
    const before = object.stored.origin;
    pass.changes.push({ kind, name, change: 'delete', id: null, fields: [], before, after: null });
    work.store(kind, name, null);
  }
  if (object !== undefined || counter.hash !== null)
    work.putCounter(kind, name, { ...counter, hash: null, changed: pass.changed() });
}

function storedPart({ kind, after, origin }: Upsert) {
  return { content: JSON.stringify(after), hash: contentHash(kind, after), origin };
}

/** Whether devices already see the content of this step. */
function isSame({ stored }: AppliedRow, { kind, after }: Upsert, defaults: AppDefaults): boolean {
  const json = JSON.stringify(after);
  if (stored.content === json) return true;
  return sameValue(contentOf(kind, stored.content, defaults), JSON.parse(json));
}

/** Sets the file of an object that stays the same for devices. */
function moveFile(work: WorkingSet, kind: Kind, name: string, origin: FileOrigin | null, pass: Pass): void {
  const object = work.find(kind, name);
  if (object === undefined) return;
  const { origin: before } = object.stored;
  if (before?.path === origin?.path && before?.blob === origin?.blob) return;
  work.store(kind, name, { ...object.stored, origin });
  const id = object.own?.last ?? 0;
  pass.changes.push({ kind, name, change: 'file', id, fields: [], before, after: origin });
}

function actOf(batch: ApplyBatch, before: string | null, changes: ActChange[]): Omit<NewAct, 'idSequence'> {
  const { at, revision, branch = null, effects = [], held = [] } = batch;
  const applied = { revision, before, branch };
  return { at, applied, operation: null, held: [...held], changes, effects: [...effects] };
}
