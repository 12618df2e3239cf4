import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pace } from '../../../src/async/pace.ts';
import { type Draft, draftSet } from '../../../src/change/draft/draft.ts';
import { filesOf } from '../../../src/change/draft/view.ts';
import { ChangesRefused } from '../../../src/change/refusals.ts';
import { type ChangeSet, isRemoval, setOf, type Write } from '../../../src/change/write.ts';
import { completeApp } from '../../../src/desired/app.ts';
import type { Content } from '../../../src/desired/content.ts';
import { parseObjectText } from '../../../src/desired/parse.ts';
import { DesiredState } from '../../../src/desired/state.ts';
import { HoldfastError } from '../../../src/errors.ts';
import { AppliedState } from '../../../src/plan/applied.ts';
import { makePlan } from '../../../src/plan/plan.ts';
import { AppFields } from '../../../src/protocol/app.ts';
import { anySet, anyWrite } from '../../support/change-sets.ts';
import { anyCommit, changesOf, DEFAULTS, type Files } from '../../support/fleet.ts';

const CONTEXT = { user: 'pat', email: 'pat@example.com', requestId: 'r-1', ifMatch: null };
const ALLOW_EMPTY = 'Allow-Empty: true';

/** Commits of users, and writes through the API: one change or several in one commit. */
const histories = fc.array(fc.oneof(anyCommit, anyWrite.map(setOf), anySet), {
  minLength: 1,
  maxLength: 14,
});

function isSet(event: Files | ChangeSet): event is ChangeSet {
  return Array.isArray(event['changes']);
}

/** A manager without store and git. */
class Fleet {
  readonly desired = new DesiredState();
  readonly applied = new AppliedState();
  readonly files = new Map<string, string>();
  /** Keys of the objects that have problems with others. */
  readonly faulty = new Set<string>();
  readonly #pending = new Set<string>();
  readonly strict: boolean;

  constructor(strict: boolean) {
    this.strict = strict;
  }

  /** Reads and applies a commit. Returns false if it is refused. */
  take(commit: Files, allowEmpty = false): boolean {
    for (const [path, text] of Object.entries(commit)) {
      if (text === null) this.files.delete(path);
      else this.files.set(path, text);
    }
    for (const key of this.desired.apply(changesOf(commit))) this.#pending.add(key);
    const plan = makePlan(this.#pending, this.desired, this.applied);
    for (const [key, problems] of plan.problems) {
      if (problems.length === 0) this.faulty.delete(key);
      else this.faulty.add(key);
    }
    if (this.#isRefused(allowEmpty)) return false;
    this.applied.applySteps(plan.steps);
    this.#pending.clear();
    return true;
  }

  #isRefused(allowEmpty: boolean): boolean {
    return (this.isEmptied && !allowEmpty) || (this.strict && this.hasErrors);
  }

  get isEmptied(): boolean {
    return this.desired.isEmpty && !this.applied.isEmpty;
  }

  get hasErrors(): boolean {
    return this.faulty.size > 0 || this.desired.problems().some(({ severity }) => severity === 'error');
  }

  /** The draft; null if nothing has to change, or the reason for the refusal. */
  async draft(set: ChangeSet): Promise<Draft | HoldfastError | null> {
    const { desired, applied, faulty } = this;
    const texts = new Map(filesOf(set, desired).map((path) => [path, this.files.get(path) ?? '']));
    const view = { desired, applied, faulty: [...faulty], defaults: DEFAULTS, texts };
    try {
      const rules = { strict: this.strict, at: 0 };
      return await draftSet(set, CONTEXT, view, rules, new Pace());
    } catch (error) {
      if (error instanceof HoldfastError) return error;
      throw error;
    }
  }
}

/** The content of the object of a write, for devices, that its reply promises. */
function promised(write: Write, before: Content | undefined): Content | undefined {
  if (write.op === 'delete') return undefined;
  if (write.op === 'file') {
    const parsed = parseObjectText(write.kind, write.text ?? '', DEFAULTS);
    return parsed.ok ? parsed.content : undefined;
  }
  if (write.kind === 'device_group') return write.fields;
  const fields = write.op === 'change' ? { ...before, ...write.fields } : write.fields;
  const isSet = ([, value]: [string, unknown]): boolean => value !== null;
  return completeApp(AppFields.parse(Object.fromEntries(Object.entries(fields).filter(isSet))), DEFAULTS);
}

/** Applies the commit of a draft. Returns false if, with STRICT, it repairs one of several files: then it is refused. */
function isTaken(fleet: Fleet, { commit: { edits, message } }: Draft): boolean {
  expect(new Set(edits.map(({ path }) => path)).size).toBe(edits.length);
  for (const { path, text } of edits) expect(text).not.toBe(fleet.files.get(path) ?? null);
  const wasValid = !fleet.hasErrors;
  const files = Object.fromEntries(edits.map(({ path, text }) => [path, text]));
  const taken = fleet.take(files, message.includes(ALLOW_EMPTY));
  if (!taken) expect([fleet.strict, wasValid]).toEqual([true, false]);
  return taken;
}

/** The errors of the changes of a set, or the one of the set as a whole. */
function reasonsOf(refusal: HoldfastError): HoldfastError[] {
  return refusal instanceof ChangesRefused ? [...refusal.errors.values()] : [refusal];
}

function expectReasons(refusal: HoldfastError, fleet: Fleet, { changes }: ChangeSet): void {
  // A text can list an app that does not exist.
  const mayConflict = fleet.hasErrors || changes.some(({ op }) => op === 'file');
  const kinds = ['absent', 'present', ...(mayConflict ? ['conflict'] : [])];
  // A set can list an app in a group and delete it.
  if (changes.length > 1) kinds.push('invalid');
  for (const { kind } of reasonsOf(refusal)) expect(kinds).toContain(kind);
}

async function expectPromiseKept(fleet: Fleet, set: ChangeSet): Promise<void> {
  const { changes } = set;
  // A file that STRICT does not apply can become so with the set.
  const before = changes.map(({ kind, name }) => fleet.desired.object(kind, name)?.content);
  const draft = await fleet.draft(set);
  if (draft instanceof HoldfastError) {
    expectReasons(draft, fleet, set);
    return;
  }
  if (draft !== null && !isTaken(fleet, draft)) return;
  for (const [index, write] of changes.entries()) expectKept(fleet, write, before[index]);
}

function expectKept(fleet: Fleet, write: Write, before: Content | undefined): void {
  const { kind, name } = write;
  if (write.op === 'file') expect(fleet.files.get(write.path) ?? null).toBe(write.text);
  // Another file of the object can remain, even an invalid one if nothing had to change.
  if (write.op === 'file' && isRemoval(write)) return;
  expect(fleet.applied.content(kind, name)).toEqual(promised(write, before));
  if (write.op === 'delete' && kind === 'app') expect([...fleet.applied.groupsListing(name)]).toEqual([]);
}

describe.each([false, true])('random writes between random commits, with STRICT=%s', (strict) => {
  it('do what their replies promise, without idle edits, and are refused only for problems or names', () =>
    fc.assert(
      fc.asyncProperty(histories, async (events) => {
        const fleet = new Fleet(strict);
        for (const event of events) {
          if (isSet(event)) await expectPromiseKept(fleet, event);
          // The writer drafts nothing on a head that is refused because its folder is empty.
          else if (!fleet.take(event) && fleet.isEmptied) return;
        }
      }),
      { numRuns: 700 },
    ));
});
