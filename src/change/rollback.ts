import { createLimiter } from '../async/limiter.ts';
import { loadFile } from '../desired/load.ts';
import type { DesiredState, FileChange } from '../desired/state.ts';
import { HoldfastError, kindOf } from '../errors.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import type { Step } from '../plan/step.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { keyOf, type ObjectKey } from '../protocol/name.ts';
import type { Preview } from '../protocol/plan.ts';
import { alsoLost, LOST_TIME, NOTHING_LOST } from '../rollback/also-lost.ts';
import type { NewestChanges } from '../rollback/later-changes.ts';
import { type RollbackAct, rollbackSubject, trailerOf } from '../rollback/message.ts';
import { restore } from '../rollback/restore.ts';
import type { Past, Present, Rollback, RollbackEdit, RollbackOptions } from '../rollback/rollback.ts';
import { type Selection, selectedObjects } from '../rollback/selection.ts';
import { commitToUndo, undo } from '../rollback/undo.ts';
import { findRevision } from '../source/find-revision.ts';
import type { Reader } from '../source/source.ts';
import { takeSettled } from './batch/settle.ts';
import { revisionAbsent } from './refusals.ts';
import {
  type ChangeSet,
  MAX_ATTEMPTS,
  type SetResult,
  type Write,
  type WriteContext,
  type Writer,
  type WriterDependencies,
} from './write.ts';

/** What is to go back: objects to a revision, or a commit. Revisions are as `Reader.resolve` takes them. */
export type RollbackRequest = RollbackOptions & ({ to: string; selection: Selection } | { undo: string });

/** What a rollback would do, and what else it would take back. */
export type RollbackPreview = Preview & Pick<Rollback, 'needs'> & { alsoLost: NewestChanges };

/** Brings objects back as they were, by commits. */
export interface Rollbacks {
  /**
   * Resolves when the rollback is committed, published and applied; without a commit if nothing differs. Rejects as
   * `Writer.commit` does; as `absent` if there is no such revision or object; as `invalid` if the commit changed nothing of
   * the fleet; as `conflict` with `conflicts`, `needs`, or `problems` and `newest_valid` in its details if the way back is
   * blocked.
   */
  commit(request: RollbackRequest, context: WriteContext): Promise<SetResult>;
  /** Resolves to what `commit` would do now. Rejects as `commit` does, but not for what is needed. */
  preview(request: RollbackRequest, context: WriteContext): Promise<RollbackPreview>;
}

/** How many rollbacks can wait for their turn. */
const MAX_WAITING = 16;

/** Creates the rollbacks, which are worked out one at a time and carried out by the writer. */
export function createRollbacks(writer: Writer, dependencies: WriterDependencies): Rollbacks {
  const limited = createLimiter(1, MAX_WAITING, () => {
    return new HoldfastError('unavailable', 'too many rollbacks are in progress; try again');
  });
  return {
    commit: (request, context) => limited(() => commitRollback(request, context, writer, dependencies)),
    preview: (request, context) => limited(() => previewRollback(request, context, writer, dependencies)),
  };
}

async function commitRollback(
  request: RollbackRequest,
  context: WriteContext,
  writer: Writer,
  dependencies: WriterDependencies,
): Promise<SetResult> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const { base, way, set } = await workOut(request, dependencies, false);
    if (way.needs.length > 0) throw neededError(way.needs);
    try {
      // If somebody has changed one of the objects meanwhile, the way back is another one.
      return await writer.commit(set, { ...context, base: context.base ?? base });
    } catch (error) {
      if (kindOf(error) !== 'moved-on' || context.base !== undefined) throw error;
    }
  }
  throw new HoldfastError('conflict', 'the objects keep changing; try again');
}

async function previewRollback(
  request: RollbackRequest,
  context: WriteContext,
  writer: Writer,
  dependencies: WriterDependencies,
): Promise<RollbackPreview> {
  const { base, way, set, lost } = await workOut(request, dependencies, true);
  const others = { alsoLost: lost, needs: way.needs };
  if (way.needs.length === 0) return { ...(await writer.preview(set, context)), ...others };
  return { base, subject: null, files: [], steps: [], effects: [], problems: [], ...others };
}

/** A way back from a head, and the changes that take it. */
interface WorkedOut {
  base: string;
  way: Rollback;
  lost: NewestChanges;
  set: ChangeSet;
}

/** Works out the way back from the head. Rejects as `conflict` if it is blocked by anything but needs. */
async function workOut(
  request: RollbackRequest,
  dependencies: WriterDependencies,
  isPreview: boolean,
): Promise<WorkedOut> {
  const { reader, defaults } = dependencies;
  const revision = await findRevision('to' in request ? request.to : request.undo, dependencies);
  // Copies, since a pass may change both meanwhile.
  const { head, desired, applied } = await takeSettled(dependencies, (head, { desired, memory }) => {
    const applied = memory()?.applied.copy() ?? new AppliedState();
    return { head, desired: desired.copy(), applied };
  });
  if (revision === null || head === null) throw revisionAbsent();
  const past = pastOf(reader);
  const present: Present = { revision: head, desired, defaults };
  const { act, way } = await wayOf(request, revision, present, past);
  refuseBlocked(way);
  const end = performance.now() + LOST_TIME;
  const isLate = () => performance.now() > end;
  const lost = isPreview ? await alsoLost(act, way, present, past, isLate) : NOTHING_LOST;
  const steps = await stepsOf(way.edits, desired, applied, defaults);
  const set = {
    changes: changesOf(way.edits),
    subject: rollbackSubject(act, steps),
    trailers: [trailerOf(act)],
  };
  return { base: head, way, lost, set };
}

async function wayOf(
  request: RollbackRequest,
  revision: string,
  present: Present,
  past: Past,
): Promise<{ act: RollbackAct; way: Rollback }> {
  if ('to' in request) {
    const objects = await selectedObjects(request.selection, revision, present, past);
    return {
      act: { to: revision },
      way: await restore({ ...request, to: revision, objects }, present, past),
    };
  }
  const commit = await commitToUndo(past, revision);
  const way = await undo({ ...request, commit, objects: null }, present, past);
  return { act: { undo: revision, subject: commit.message }, way };
}

function pastOf(reader: Reader): Past {
  return {
    entriesAt: async (revision) => {
      const tree = await reader.folderTree(revision);
      return tree === null ? [] : reader.list(tree);
    },
    log: (query) => reader.log(query),
    blob: (id, maxBytes) => reader.blob(id, maxBytes),
  };
}

function refuseBlocked({ conflicts, refused }: Rollback): void {
  if (conflicts.length > 0) {
    const [{ object, field, by } = { object: '', field: null, by: '' }] = conflicts;
    const what = field === null ? object : `${field} of ${object}`;
    const message = `${what} was changed again in ${by.slice(0, 12)}; restore the object, or change it yourself`;
    throw new HoldfastError('conflict', message, { conflicts });
  }
  if (refused === null) return;
  const message = "a file of that revision is not valid by today's rules";
  throw new HoldfastError('conflict', message, {
    problems: refused.problems,
    newest_valid: refused.newestValid,
  });
}

function neededError(needs: Rollback['needs']): HoldfastError {
  const [{ object, why } = { object: '', why: '' }] = needs;
  return new HoldfastError('conflict', `${object}: ${why}`, { needs });
}

/** Plans the edits, for the subject of the commit. */
async function stepsOf(
  edits: readonly RollbackEdit[],
  desired: DesiredState,
  applied: AppliedState,
  defaults: AppDefaults,
): Promise<Step[]> {
  const changes: FileChange[] = [];
  for (const { path, text } of edits) {
    const read = async () => ({ bytes: Buffer.from(text ?? '') });
    const entry = { path, type: 'file', blob: '' } as const;
    changes.push({ path, file: text === null ? null : await loadFile(entry, read, defaults) });
  }
  return makePlan(desired.apply(changes), desired, applied).steps;
}

/** Returns one change for each object: its new text or, if it has none, its delete. */
function changesOf(edits: readonly RollbackEdit[]): Write[] {
  const texts = new Map<string, ObjectKey & { path: string; text: string | null }>();
  for (const edit of edits) {
    const key = keyOf(edit.kind, edit.name);
    if ((texts.get(key)?.text ?? null) === null) texts.set(key, edit);
  }
  return Array.from(
    texts.values(),
    ({ kind, name, path, text }): Write =>
      text === null ? { kind, op: 'delete', name } : { kind, op: 'put', name, path, text },
  );
}
