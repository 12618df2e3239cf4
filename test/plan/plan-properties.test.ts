import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namedIn } from '../../src/desired/content.ts';
import type { Problem } from '../../src/desired/problem.ts';
import { type DesiredObject, DesiredState } from '../../src/desired/state.ts';
import { AppliedState } from '../../src/plan/applied.ts';
import { makePlan, type Plan } from '../../src/plan/plan.ts';
import type { Step } from '../../src/plan/step.ts';
import { parseKey } from '../../src/protocol/name.ts';
import { OPTIONAL_DEFAULTS, OPTIONAL_FIELDS } from '../../src/protocol/optional-fields.ts';
import { anyCommit, changesOf, DEFAULTS, type Files, stateOf } from '../support/fleet.ts';
import { fewOptionalFields } from '../support/optional-fields.ts';

/** Many short histories find more bugs than few long ones. */
const RUNS = { numRuns: 1000 };
const histories = fc.array(anyCommit, { minLength: 1, maxLength: 12 });

/** What a manager keeps from pass to pass (src/reconcile/pass), without store and git. */
class Fleet {
  readonly desired = new DesiredState();
  readonly applied = new AppliedState();
  readonly problems = new Map<string, Problem[]>();
  readonly pending = new Set<string>();
  readonly files = new Map<string, string>();

  /** Reads a commit and plans the pending objects, without applying the plan. */
  plan(commit: Files): Plan {
    for (const [path, text] of Object.entries(commit)) {
      if (text === null) this.files.delete(path);
      else this.files.set(path, text);
    }
    for (const key of this.desired.apply(changesOf(commit))) this.pending.add(key);
    const plan = makePlan(this.pending, this.desired, this.applied);
    for (const [key, problems] of plan.problems) {
      if (problems.length === 0) this.problems.delete(key);
      else this.problems.set(key, problems);
    }
    return plan;
  }

  apply(plan: Plan): void {
    this.applied.applySteps(plan.steps);
    this.pending.clear();
  }

  /** Plans every object, on a desired state that is built from the files. */
  planAll(): Plan {
    const desired = stateOf(Object.fromEntries(this.files));
    return makePlan(new Set([...desired.keys(), ...this.applied.keys()]), desired, this.applied);
  }
}

function sorted(problems: Iterable<readonly Problem[]>): string[] {
  return [...problems]
    .flat()
    .map((problem) => JSON.stringify(problem))
    .sort();
}

/** Applies random histories; calls `check` with the plan of each commit before it is applied. */
function forEachPlan(check: (fleet: Fleet, plan: Plan) => void): void {
  fc.assert(
    fc.property(histories, (commits) => {
      const fleet = new Fleet();
      for (const commit of commits) {
        const plan = fleet.plan(commit);
        check(fleet, plan);
        fleet.apply(plan);
      }
    }),
    RUNS,
  );
}

function expectComplete(fleet: Fleet, plan: Plan): void {
  const all = fleet.planAll();
  expect(plan.steps).toEqual(all.steps);
  expect(sorted(fleet.problems.values())).toEqual(sorted(all.problems.values()));
}

function objectOf(state: DesiredState | AppliedState, { kind, name }: Pick<Step, 'kind' | 'name'>) {
  return state instanceof AppliedState ? state.content(kind, name) : state.object(kind, name);
}

function danglingNames(applied: AppliedState): string[] {
  return applied.keys().flatMap((key) => {
    const { kind, name } = parseKey(key);
    const named = namedIn(applied.content(kind, name));
    return named.names.filter((other) => !applied.has(named.kind, other));
  });
}

describe('makePlan over random histories', () => {
  it('finds the same steps and problems for the touched objects as for all, even after refused or failed passes', () => {
    const attempts = fc.array(fc.tuple(anyCommit, fc.boolean()), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(attempts, (commits) => {
        const fleet = new Fleet();
        for (const [commit, isApplied] of commits) {
          const plan = fleet.plan(commit);
          expectComplete(fleet, plan);
          if (isApplied) fleet.apply(plan);
        }
      }),
      RUNS,
    );
  });

  it('has no more steps, and the same problems, once its plan is applied', () => {
    forEachPlan((fleet, plan) => {
      fleet.apply(plan);
      expectComplete(fleet, { steps: [], problems: new Map() });
    });
  });

  it('never leaves an object that names a missing one, not even between steps', () => {
    forEachPlan(({ applied }, { steps }) => {
      for (const step of steps) {
        applied.applySteps([step]);
        expect(danglingNames(applied)).toEqual([]);
      }
    });
  });

  it('deletes only objects without a file, writes only the content of valid files, and has no idle step', () => {
    forEachPlan((fleet, { steps }) => {
      for (const step of steps) {
        const file = objectOf(fleet.desired, step) as DesiredObject | undefined;
        expect(step.after).toEqual(file === undefined ? null : file.content);
        expect(step.origin).toEqual(file === undefined ? null : { path: file.path, blob: file.blob });
        expect(step.before).toEqual(objectOf(fleet.applied, step) ?? null);
        expect(step.after).not.toEqual(step.before);
      }
    });
  });

  it('applies every file, or reports a problem', () => {
    forEachPlan((fleet, plan) => {
      fleet.apply(plan);
      const reported = [...fleet.desired.problems(), ...[...fleet.problems.values()].flat()];
      if (reported.some(({ severity }) => severity === 'error')) return;
      expect(fleet.applied.keys().sort()).toEqual([...fleet.desired.keys()].sort());
      for (const key of fleet.applied.keys()) {
        const file = objectOf(fleet.desired, parseKey(key)) as DesiredObject;
        expect(objectOf(fleet.applied, parseKey(key))).toEqual(file.content);
      }
    });
  });
});

const text = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 6 });
const anyFields = fc.record(
  {
    container_image: fc.constantFrom('i:1', `r.example:5000/a/b@sha256:${'0'.repeat(64)}`),
    starting_ports: fc.array(fc.oneof(fc.integer({ min: 1, max: 65_535 }), fc.constant({ '8080': '80' }))),
    containers_per: fc.constantFrom({ server: 1 }, { cpu: 0.5 }, { memory: 2, cpu: 1 }),
    env_vars: fc.dictionary(
      text.filter((name) => !/=|^(__proto__|constructor|prototype)$/.test(name)),
      text,
    ),
    running: fc.boolean(),
    networks: fc.array(text),
    privileged: fc.boolean(),
  },
  { requiredKeys: ['container_image'] },
);

const ALL_DEFAULTS = { ...DEFAULTS, ...OPTIONAL_DEFAULTS };

/** The same fields as a user might write them: in another order, with comments and with defaults written out. */
function rewritten(
  fields: Record<string, unknown>,
  order: readonly string[],
  writtenOut: readonly string[],
): string {
  const all: Record<string, unknown> = { ...fields };
  for (const field of writtenOut) all[field] ??= (ALL_DEFAULTS as Record<string, unknown>)[field];
  const lines = order.flatMap((field) =>
    all[field] === undefined ? [] : [`# ${field}`, `"${field}":   ${JSON.stringify(all[field])} # here`],
  );
  return `---\n\n${lines.join('\r\n')}\n...\n`;
}

describe('makePlan over random contents', () => {
  it('plans nothing for changed comments, another order of keys or defaults that are written out', () => {
    const names = ['container_image', ...Object.keys(DEFAULTS), ...OPTIONAL_FIELDS];
    fc.assert(
      fc.property(
        anyFields,
        fc.shuffledSubarray(names, { minLength: names.length }),
        fc.subarray(Object.keys(ALL_DEFAULTS)),
        fewOptionalFields,
        (required, order, writtenOut, optional) => {
          const fields = { ...required, ...optional };
          const first = stateOf({ 'apps/a.yaml': JSON.stringify(fields) });
          const second = stateOf({ 'apps/team/a.yml': rewritten(fields, order, writtenOut) });
          expect([first.problems(), second.problems()]).toEqual([[], []]);
          const applied = new AppliedState();
          applied.applySteps(makePlan(['app/a'], first, applied).steps);
          expect(makePlan(['app/a'], second, applied).steps).toEqual([]);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
