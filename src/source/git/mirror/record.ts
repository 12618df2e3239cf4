import { hash } from 'node:crypto';
import { HoldfastError, kindOf, messageOf } from '../../../errors.ts';
import { lineOf, type RecordDraft, type RecordRef } from '../../../ids/record-ref.ts';
import type { OriginAccess } from '../origin/access.ts';
import { OriginLocked } from '../origin/errors.ts';
import type { Origin } from '../origin/origin.ts';
import { commands } from '../process/commands.ts';
import { recordRef, recordTracking } from '../process/ref-names.ts';
import { askGit } from '../process/run.ts';
import { readTip, readVersion } from '../record/read.ts';
import { makeVersion, requireBase, writeFailure } from '../record/write.ts';
import { moveRefs } from '../refs/move.ts';
import { refTips } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import type { MirrorState } from './state.ts';
import type { Turns } from './turns.ts';

const MOVED = 'another manager wrote the record of ids';
const REFUSED = 'origin rejects the record of ids, so it is kept only in the mirror, and pushed again later';
const UNSENT = 'the record of ids is kept only in the mirror until it can be pushed';

/** What `createOriginRecord` needs. */
export interface OriginRecordParts {
  repository: Repository;
  /** Full name of the branch. */
  branch: string;
  origin: Origin;
  /** Fetches and pushes take turns. */
  turns: Turns;
  mirror: Pick<MirrorState, 'fetch' | 'isReached'>;
  access: OriginAccess;
}

/**
 * Returns the record of ids at origin, as it was fetched last. A version is made in the mirror first, and counts while it
 * continues the one at origin.
 */
export function createOriginRecord(parts: OriginRecordParts): RecordRef {
  const { repository, branch, turns, mirror, access } = parts;
  const line = { folder: repository.prefix, branch };
  const name = recordRef(lineOf(line));
  const refs = { own: name, seen: recordTracking(name) };
  const tip = (): Promise<string | null> =>
    readTip(async () => (await versionsOf(repository, refs)).counting);
  const inTurn = <T>(act: () => Promise<T>): Promise<T> =>
    turns.run(act).catch((error) => {
      throw writeFailure(error);
    });
  return {
    ...line,
    name,
    line: lineOf(line),
    // A hash, because an address can contain a password.
    source: hash('sha256', access.url, 'hex').slice(0, 32),
    isCurrent: mirror.isReached,
    tip,
    read: () => readVersion(repository, tip),
    write: (draft) => inTurn(() => write(parts, refs, draft)),
    publish: async () => {
      const { counting, seen } = await versionsOf(repository, refs);
      if (counting === seen) return;
      await inTurn(() => publish(parts, refs));
    },
  };
}

/** The mirror's refs for its own record and that at origin. */
interface Refs {
  own: string;
  seen: string;
}

/** Resolves to the version at origin, as it was fetched or pushed last, and to the one that counts. */
async function versionsOf(
  repository: Repository,
  refs: Refs,
): Promise<{ seen: string | null; counting: string | null }> {
  const [own = null, seen = null] = await refTips(repository, [refs.own, refs.seen]);
  if (own === null || own === seen || seen === null) return { seen, counting: seen ?? own };
  // If the objects of one cannot be read, that at origin counts.
  const isContinued = await askGit(repository.context, commands.isAncestor(seen, own)).catch(() => null);
  return { seen, counting: isContinued === null ? seen : own };
}

async function write(parts: OriginRecordParts, refs: Refs, draft: RecordDraft): Promise<string> {
  const { repository } = parts;
  const { seen, counting } = await versionsOf(repository, refs);
  requireBase(counting, draft);
  const { tip, isRoot } = await makeVersion(repository, draft);
  // It does not continue the version at origin, so that it counts only once it is there.
  if (isRoot && seen !== null && (await isPushed(push(parts, refs, { from: seen, tip }), draft))) return tip;
  const kept = isRoot && seen !== null ? (await makeVersion(repository, draft, false)).tip : tip;
  await moveRefs(repository, [{ ref: refs.own, to: kept }]);
  return kept;
}

/** Whether a version was pushed; false if it can continue the one at origin instead, in the mirror alone. */
async function isPushed(pushing: Promise<void>, { continues }: RecordDraft): Promise<boolean> {
  try {
    await pushing;
    return true;
  } catch (error) {
    if (!continues || kindOf(error) === 'moved-on') throw error;
    return false;
  }
}

async function publish(parts: OriginRecordParts, refs: Refs): Promise<void> {
  const { seen, counting } = await versionsOf(parts.repository, refs);
  if (counting !== null && counting !== seen) await push(parts, refs, { from: seen, tip: counting });
}

/** A version, and the one at origin that it replaces. */
interface Replacement {
  from: string | null;
  tip: string;
}

/** Pushes a version in place of `from`, and of no other; rejects as `RecordRef.publish` does. */
async function push(parts: OriginRecordParts, refs: Refs, version: Replacement): Promise<void> {
  const { repository } = parts;
  try {
    await pushOnce(parts, refs, version);
  } catch (error) {
    const kind = error instanceof OriginLocked ? 'unavailable' : kindOf(error);
    if (kind !== 'conflict' && kind !== 'unavailable') throw error;
    const sentence = kind === 'conflict' ? REFUSED : UNSENT;
    throw new HoldfastError(kind, `${sentence}: ${messageOf(error)}`, {}, error);
  }
  const { tip } = version;
  await moveRefs(repository, [
    { ref: refs.own, to: tip },
    { ref: refs.seen, to: tip },
  ]);
}

/** Rejects as `conflict` if only a change at origin can help, as `moved-on` if another manager has written the record. */
async function pushOnce(
  { origin, mirror, repository }: OriginRecordParts,
  refs: Refs,
  { from, tip }: Replacement,
): Promise<void> {
  const { kind } = await origin.push(refs.own, from, tip);
  if (kind === 'done') return;
  await mirror.fetch();
  const { seen } = await versionsOf(repository, refs);
  if (seen !== from) throw new HoldfastError('moved-on', MOVED);
  if (kind === 'stale') throw new HoldfastError('conflict', hidden(refs.own));
  // Nobody has written: making the version again at once would end in the same way.
  const message = `origin does not update ${refs.own}, although nobody else has; check the log of origin`;
  throw new HoldfastError('unavailable', message);
}

function hidden(ref: string): string {
  return `origin has ${ref}, but hides it from fetches; make it show refs/holdfast (transfer.hideRefs, uploadpack.hideRefs)`;
}
