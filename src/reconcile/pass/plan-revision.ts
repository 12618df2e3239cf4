import type { Content } from '../../desired/content.ts';
import type { Problem } from '../../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../../desired/state.ts';
import { planning } from '../../plan/plan.ts';
import type { FileOrigin, Step } from '../../plan/step.ts';
import { keyOf, parseKey } from '../../protocol/name.ts';
import { sameValue } from '../../protocol/values.ts';
import type { ApplyBatch } from '../../store/objects/port.ts';
import type { Memory } from './memory.ts';

/** What it takes to bring a store to a revision: plain data, which changes nothing until it is applied. */
export interface RevisionPlan {
  /** Null for a branch without a commit, to which no store is brought. */
  revision: string | null;
  /** The revision that the store is at; null before the first one. */
  base: string | null;
  steps: readonly Step[];
  /** Objects whose content stays the same, but whose file has another path or other bytes. */
  origins: ApplyBatch['origins'];
  /** Keys of pending objects that are applied from another file than the revision has, or from none: a problem holds them back. */
  held: readonly string[];
  /** See `ApplyBatch`. */
  rules: string;
  /** See `Plan`. */
  problems: ReadonlyMap<string, Problem[]>;
}

/** A revision that was read. */
export interface ReadRevision extends Pick<RevisionPlan, 'revision' | 'rules'> {
  desired: DesiredState;
}

/**
 * Plans how to bring the store, as the memory has it, to a revision. Works in pieces, and changes nothing; neither the
 * desired state nor the memory may change until it is done.
 */
export function* planningRevision(
  { revision, desired, rules }: ReadRevision,
  memory: Memory,
): Generator<undefined, RevisionPlan, undefined> {
  const { steps, problems } = yield* planning(memory.pending, desired, memory.applied);
  const { origins, held } = yield* unchangedObjects(memory, desired, steps);
  const base = memory.store.applied?.revision ?? null;
  return { revision, base, steps, origins, held, rules, problems };
}

/** Whether the store has all of a plan already. */
export function isApplied({ revision, base, steps, origins, rules }: RevisionPlan, memory: Memory): boolean {
  return base === revision && memory.store.rules === rules && steps.length + origins.length === 0;
}

/** Finds pending objects that no step changes, but whose file has another path or other bytes, or that are held back. */
function* unchangedObjects(
  memory: Memory,
  desired: DesiredState,
  steps: readonly Step[],
): Generator<undefined, Pick<RevisionPlan, 'origins' | 'held'>, undefined> {
  const changing = new Set(steps.map(({ kind, name }) => keyOf(kind, name)));
  const origins: ApplyBatch['origins'][number][] = [];
  const held: string[] = [];
  for (const key of memory.pending) {
    yield;
    if (changing.has(key)) continue;
    const { kind, name } = parseKey(key);
    const file = desired.object(kind, name);
    const origin = memory.origins.get(key);
    if (file !== undefined && isServed(file, memory.applied.content(kind, name))) {
      if (!isSameOrigin(origin, file))
        origins.push({ kind, name, origin: { path: file.path, blob: file.blob } });
    } else if (file?.blob !== origin?.blob) held.push(key);
  }
  return { origins, held };
}

/** Whether devices are served what the file says. They are not if it is invalid, or if a group waits for an app. */
function isServed({ content }: DesiredObject, served: Content | undefined): boolean {
  return content !== undefined && sameValue(served, content);
}

function isSameOrigin(a: FileOrigin | undefined, b: FileOrigin): boolean {
  return a?.path === b.path && a.blob === b.blob;
}
