import { createLimiter } from '../async/limiter.ts';
import { HoldfastError, kindOf } from '../errors.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import type { Preview } from '../protocol/plan.ts';
import { alsoLost, LOST_TIME, NOTHING_LOST } from '../rollback/also-lost.ts';
import type { NewestChanges } from '../rollback/later-changes.ts';
import { rollbackSubject, trailerOf } from '../rollback/message.ts';
import type { Present, Rollback, RollbackOptions } from '../rollback/rollback.ts';
import type { Selection } from '../rollback/selection.ts';
import { editedFiles, workOut } from '../rollback/work-out.ts';
import { findRevision } from '../source/find-revision.ts';
import { takeSettled } from './batch/settle.ts';
import { revisionAbsent } from './refusals.ts';
import {
  type ChangeSet,
  type FileWrite,
  MAX_ATTEMPTS,
  type SetResult,
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
    const { base, way, set } = await fromHead(request, dependencies, false);
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
  const { base, way, set, lost } = await fromHead(request, dependencies, true);
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
async function fromHead(
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
  const present: Present = { revision: head, desired, defaults };
  const target = 'to' in request ? { ...request, to: revision } : { undo: revision, objects: null };
  const { act, way } = await workOut(target, request, present, reader);
  refuseBlocked(way);
  const end = performance.now() + LOST_TIME;
  const isLate = () => performance.now() > end;
  const lost = isPreview ? await alsoLost(act, way, present, reader, isLate) : NOTHING_LOST;
  const touched = desired.apply(await editedFiles(way.edits, defaults));
  const { steps } = makePlan(touched, desired, applied);
  const set = {
    changes: way.edits.map((edit): FileWrite => ({ ...edit, op: 'file' })),
    subject: rollbackSubject(act, steps),
    trailers: [trailerOf(act)],
  };
  return { base: head, way, lost, set };
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
