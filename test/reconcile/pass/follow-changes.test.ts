import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Problem } from '../../../src/desired/problem.ts';
import { DesiredState } from '../../../src/desired/state.ts';
import { AppliedState } from '../../../src/plan/applied.ts';
import { makePlan, type Plan } from '../../../src/plan/plan.ts';
import { keyOf, parseKey } from '../../../src/protocol/name.ts';
import { applyStoreChanges, type Memory } from '../../../src/reconcile/pass/memory.ts';
import type { AppliedObject, ChangedObjects } from '../../../src/store/objects/port.ts';
import { anyCommit, changesOf, type Files, stateOf } from '../../support/fleet.ts';

const RUNS = { numRuns: 2000 };

const EMPTY_STORE = {
  sequence: 0,
  attempted: null,
  applied: null,
  fleet: '',
  rules: null,
  seededFrom: { line: 'fleet', source: 'aa', revision: null },
  idSequence: 0,
  mark: null,
};

/** A manager: what it has read of the branch, and its copy of the store's state. */
class Manager {
  readonly desired = new DesiredState();
  readonly files = new Map<string, string>();
  readonly memory: Memory = {
    store: { ...EMPTY_STORE },
    applied: new AppliedState(),
    origins: new Map(),
    pending: new Set(),
    problems: new Map(),
  };

  read(commit: Files): void {
    for (const [path, text] of Object.entries(commit)) {
      if (text === null) this.files.delete(path);
      else this.files.set(path, text);
    }
    for (const key of this.desired.apply(changesOf(commit))) this.memory.pending.add(key);
  }

  /** Plans what is pending, as a pass does. */
  plan(): Plan {
    const { memory, desired } = this;
    const plan = makePlan(memory.pending, desired, memory.applied);
    for (const [key, problems] of plan.problems) {
      if (problems.length === 0) memory.problems.delete(key);
      else memory.problems.set(key, problems);
    }
    return plan;
  }

  apply({ steps }: Plan): void {
    this.memory.applied.applySteps(steps);
    this.memory.pending.clear();
  }

  /** Plans every object, with a desired state built from scratch. */
  planAll(): Plan {
    const desired = stateOf(Object.fromEntries(this.files));
    const { applied } = this.memory;
    return makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
  }
}

function sorted(problems: Iterable<readonly Problem[]>): string[] {
  return [...problems]
    .flat()
    .map((problem) => JSON.stringify(problem))
    .sort();
}

/** What the store's `changedObjects` returns for these keys. */
function changesAt(keys: Iterable<string>, applied: AppliedState): ChangedObjects {
  const changes: ChangedObjects = { objects: [], gone: [] };
  for (const key of keys) {
    const { kind, name } = parseKey(key);
    const content = applied.content(kind, name);
    if (content === undefined) changes.gone.push({ kind, name });
    else changes.objects.push({ kind, name, content, origin: null } as AppliedObject);
  }
  return changes;
}

/** After each commit, the follower reads up to `reads` commits and may follow the store. */
const anyStep = fc.record({ commit: anyCommit, reads: fc.nat(2), follows: fc.boolean() });

/** One manager that applies every commit, and one that follows it. */
class LeaderAndFollower {
  readonly leader = new Manager();
  readonly follower = new Manager();
  readonly #unread: Files[] = [];
  readonly #changed = new Set<string>();

  commit(files: Files): void {
    this.#unread.push(files);
    this.leader.read(files);
    const plan = this.leader.plan();
    this.leader.apply(plan);
    for (const { kind, name } of plan.steps) this.#changed.add(keyOf(kind, name));
  }

  read(count: number): void {
    for (const next of this.#unread.splice(0, count)) this.follower.read(next);
  }

  follow(): void {
    applyStoreChanges(this.follower.memory, changesAt(this.#changed, this.leader.memory.applied));
    this.#changed.clear();
  }
}

function expectComplete(manager: Manager, found: Plan): void {
  const all = manager.planAll();
  expect(found.steps).toEqual(all.steps);
  expect(sorted(manager.memory.problems.values())).toEqual(sorted(all.problems.values()));
}

it('a plan of the pending objects, and those that the leader changed, equals a plan of all objects', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { minLength: 1, maxLength: 12 }), (steps) => {
      const managers = new LeaderAndFollower();
      for (const { commit, reads, follows } of steps) {
        managers.commit(commit);
        managers.read(reads);
        if (!follows) continue;
        managers.follow();
        const found = managers.follower.plan();
        expectComplete(managers.follower, found);
        // The pass that finds nothing to apply empties what is pending; one that loses its claim does not.
        if (found.steps.length === 0) managers.follower.memory.pending.clear();
      }
      managers.follow();
      const [leader, follower] = [managers.leader, managers.follower].map(({ memory }) =>
        memory.applied.keys().sort(),
      );
      expect(follower).toEqual(leader);
    }),
    RUNS,
  );
});
