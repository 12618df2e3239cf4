import { messageOf } from '../../errors.ts';
import type { RecordMeta } from '../record/format.ts';

/** Milliseconds for which a write of another manager is reported. */
const REPORTED_FOR = 600_000;

/** The status of the record. Times are Unix milliseconds. */
export interface RecordStatus {
  /** What is recorded; null until this process has written or read it. `at` is null if it has not written it. */
  recorded: { idSequence: number; revision: string | null; at: number | null } | null;
  /** Why ids are not recorded, or only on this machine, and since when. */
  problem: { message: string; since: number } | null;
  /** The last replacement of a version that could not be read, with what was wrong with it. */
  replaced: { message: string; at: number } | null;
  /** The last write of a manager with another store, in the last ten minutes. */
  otherManager: { fleet: string; at: number } | null;
}

export const NOT_RECORDED: RecordStatus = {
  recorded: null,
  problem: null,
  replaced: null,
  otherManager: null,
};

/** Returns the status without a write of another manager that is no longer recent. */
export function statusAt(status: RecordStatus, now: number): RecordStatus {
  const { otherManager } = status;
  return otherManager === null || isRecent(otherManager.at, now) ? status : { ...status, otherManager: null };
}

/** Whether a write of another manager is to be reported. */
export function isRecent(at: number, now: number): boolean {
  return Math.abs(now - at) < REPORTED_FOR;
}

export function withRecorded(
  status: RecordStatus,
  { idSequence, revision }: RecordMeta,
  written: { isNew: boolean; replaced: string | null },
  now: number,
): RecordStatus {
  const at = written.isNew ? now : (status.recorded?.at ?? null);
  const replaced = written.replaced === null ? status.replaced : { message: written.replaced, at: now };
  return { ...status, recorded: { idSequence, revision, at }, replaced };
}

/** `failure`: why an update failed; null if it succeeded. */
export function withOutcome(
  status: RecordStatus,
  failure: { error: unknown } | null,
  now: number,
): RecordStatus {
  if (failure === null) return { ...status, problem: null };
  return { ...status, problem: { message: messageOf(failure.error), since: status.problem?.since ?? now } };
}

/** Whether something has changed, or still is, that has to be logged. */
export function isReportable(before: RecordStatus, after: RecordStatus): boolean {
  return (
    after.problem !== null ||
    before.problem !== null ||
    before.replaced !== after.replaced ||
    before.otherManager !== after.otherManager
  );
}
