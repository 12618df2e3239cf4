import { once } from '../../async/once.ts';
import { Pace } from '../../async/pace.ts';
import type { AppDefaults } from '../../desired/app.ts';
import type { Content } from '../../desired/content.ts';
import { sameContent } from '../../plan/content.ts';
import type { Step } from '../../plan/step.ts';
import { contentHash } from '../content-hash.ts';
import type { ApplyBatch, GivenId } from '../store.ts';
import { appContent, groupContent, type ObjectRow } from './rows.ts';
import type { Work } from './work.ts';

/** The pass that is under way: the time of new objects, and the number that its changes of counters carry. */
interface Pass {
  at: number;
  /** Taken from the state by the first change of a counter. */
  changed: () => number;
  lastOid: string | null;
}

/** What a step wants its object to be. */
type Wanted = Step & { after: Content };

/** `Store.apply` as work on a store; gives way to others between steps. */
export async function applyBatch(work: Work, batch: ApplyBatch): Promise<GivenId[]> {
  work.state.requireSequence(batch.sequence);
  const pass: Pass = { at: batch.at, changed: once(() => work.state.nextIdSequence()), lastOid: null };
  const pace = new Pace();
  const given: GivenId[] = [];
  for (const [index, step] of batch.steps.entries()) {
    const id = applyStep(work, step, pass);
    if (id !== null) given.push({ kind: step.kind, name: step.name, id });
    batch.onStep?.(index + 1);
    await pace.step();
  }
  for (const { kind, name, origin } of batch.origins) {
    work.objects.setOrigin(kind, name, origin);
    await pace.step();
  }
  if (pass.lastOid !== null) work.state.setLastOid(pass.lastOid);
  work.state.setApplied(batch.revision, batch.at, batch.rules);
  return given;
}

/** The id that the step gave; null where it gave none. */
function applyStep(work: Work, step: Step, pass: Pass): number | null {
  if (!isWanted(step)) {
    remove(work, step, pass);
    return null;
  }
  const stored = work.objects.find(step.kind, step.name);
  if (stored === undefined) return create(work, step, pass);
  if (isSame(stored, step, work.defaults)) {
    work.objects.setOrigin(step.kind, step.name, step.origin);
    return null;
  }
  const id = work.counters.raise(step.kind, step.name, pass.changed());
  work.objects.update(step.kind, step.name, id, rowOf(step));
  return id;
}

function isWanted(step: Step): step is Wanted {
  return step.after !== null;
}

/** Devices have this content already where the counter has its hash: then the ids stay what they were. */
function create({ objects, counters, newOid }: Work, step: Wanted, pass: Pass): number {
  const { kind, name } = step;
  const row = rowOf(step);
  const counter = counters.get(kind, name);
  const isKnown = counter.hash === row.hash && counter.last > 0;
  if (isKnown) counters.handOverHash(kind, name);
  const id = isKnown ? counter.last : counters.raise(kind, name, pass.changed());
  pass.lastOid = newOid(pass.at);
  objects.insert(kind, name, pass.lastOid, id, row);
  if (kind === 'app') return id;
  const pruned = isKnown ? counters.get('prune', name).last : 0;
  objects.setPruneId(name, pruned > 0 ? pruned : counters.raise('prune', name, pass.changed()));
  return id;
}

/** The counter stays, without a hash: whatever is made under this name later gets a new id. */
function remove({ objects, counters }: Work, { kind, name }: Step, pass: Pass): void {
  const counter = counters.get(kind, name);
  if (objects.remove(kind, name) || counter.hash !== null) {
    counters.put(kind, name, { ...counter, hash: null }, pass.changed());
  }
}

function rowOf({ kind, after, origin }: Wanted) {
  return { content: JSON.stringify(after), hash: contentHash(kind, after), origin };
}

/** Whether devices see what the step wants already. */
function isSame(stored: ObjectRow, { kind, after }: Wanted, defaults: AppDefaults): boolean {
  const json = JSON.stringify(after);
  if (stored.content === json) return true;
  const seen = kind === 'app' ? appContent(stored.content, defaults) : groupContent(stored.content);
  return sameContent(seen, JSON.parse(json));
}
