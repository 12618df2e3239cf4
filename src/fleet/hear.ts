import { lastTag, parsePollTag } from '../protocol/poll.ts';
import type { DeviceAccess, PolledHalf, ReportedHalf, Word } from '../store/devices/slot.ts';
import type { ReportFacts } from './report-facts.ts';

/** A poll. */
export interface Poll {
  /** The name that the device says. */
  device: string | undefined;
  access: DeviceAccess | null;
  group: string;
  /** The header `If-None-Match`, and the number of the worker, as they were sent. */
  ifNoneMatch: string | undefined;
  instance: string | undefined;
  /** The ETag of the present reply. */
  etag: string;
}

/** How a poll changes what is known; or, if another worker holds the name, the number of that one. */
export type Heard = { half: PolledHalf; conflict: null } | { half: PolledHalf; conflict: string };

/** For how long a worker holds its name after a poll, in milliseconds, and in pauses between its polls. */
const HELD = 90_000;
const HELD_PAUSES = 3;
/** How long a worker whose name is held waits at least, so that other managers can say that they hear the other one. */
const CONTENDED = 15_000;
/** How long a conflict is shown after it was last seen. */
const SEEN = 300_000;
/** Within this time, a second fall means two machines that alternate; one that was reset falls once. */
const ALTERNATING = 600_000;

const INSTANCE = /^[0-9a-f]{8}$/;

/** When a poll is heard, and by whom. Unix milliseconds. */
export interface Hearing {
  now: number;
  /** Since when the manager listens: in the time before that, nobody can have given up a name. */
  since: number;
  /** Whether other managers hear devices of this store. */
  isShared: boolean;
}

/** What a poll says after what is known (null: nothing). */
export function hearPoll(known: PolledHalf | null, poll: Poll, hearing: Hearing): Heard {
  const { now } = hearing;
  const instance = poll.instance !== undefined && INSTANCE.test(poll.instance) ? poll.instance : null;
  const holder = known?.instance ?? null;
  if (
    known !== null &&
    holder !== null &&
    instance !== null &&
    holder.id !== instance &&
    holds(known, hearing)
  )
    return { half: { ...known, conflict: conflictAt(now, known) }, conflict: holder.id };
  const { word, foreignTag } = wordOf(known, poll);
  const isSame = known !== null && known.group === poll.group && isSameWord(known.word, word);
  const half: PolledHalf = {
    at: now,
    group: poll.group,
    access: poll.access,
    word,
    since: isSame ? known.since : now,
    foreignTag,
    ...fallOf(known, word, now),
    instance: instance === null || holder?.id === instance ? holder : { id: instance, since: now },
    interval: known === null ? 0 : pauseOf(known, now),
  };
  return { half, conflict: null };
}

/** Two falls within a short time are of two machines. */
function fallOf(
  known: PolledHalf | null,
  word: Word | null,
  now: number,
): Pick<PolledHalf, 'fellAt' | 'conflict'> {
  if (known === null) return { fellAt: null, conflict: null };
  const { fellAt, conflict } = known;
  if (known.word === null || word === null || !isBefore(word, known.word)) return { fellAt, conflict };
  const isSecond = fellAt !== null && now - fellAt < ALTERNATING;
  return { fellAt: now, conflict: isSecond ? conflictAt(now, known) : conflict };
}

/** The longer of this pause and a part of the ones before, so that one short pause is not taken for the rule. */
export function pauseOf({ at, interval }: Pick<PolledHalf, 'at' | 'interval'>, now: number): number {
  const pause = now - at;
  return pause > HELD ? interval : Math.max(pause, interval >> 1);
}

function holds({ at, interval, conflict }: PolledHalf, { now, since, isShared }: Hearing): boolean {
  if (now - Math.max(at, since) < Math.max(HELD, HELD_PAUSES * interval)) return true;
  return isShared && (!isInConflict(conflict, now) || now - conflict.since < CONTENDED);
}

/** Whether two machines of one name were seen lately. */
export function isInConflict(
  conflict: PolledHalf['conflict'],
  now: number,
): conflict is NonNullable<typeof conflict> {
  return conflict !== null && now - conflict.at < SEEN;
}

function conflictAt(now: number, { conflict }: PolledHalf): PolledHalf['conflict'] {
  return { since: isInConflict(conflict, now) ? conflict.since : now, at: now };
}

function isBefore(one: Word, other: Word): boolean {
  return one.fleet === other.fleet && one.order < other.order;
}

/** Whether two words are the same. */
export function isSameWord(one: Word | null, other: Word | null): boolean {
  return one?.fleet === other?.fleet && one?.order === other?.order;
}

/**
 * A tag does not name its group. So one that a device brings into another group says nothing there, until it sends another
 * one; nor does one of the present order that is not the present one, from a device of which nothing is known.
 */
function wordOf(known: PolledHalf | null, poll: Poll): Pick<PolledHalf, 'word' | 'foreignTag'> {
  const tag = poll.ifNoneMatch === undefined ? '' : lastTag(poll.ifNoneMatch);
  const word = parsePollTag(tag);
  if (word === null || tag.endsWith(poll.etag)) return { word, foreignTag: null };
  const isForeign =
    known === null
      ? isSameWord(word, parsePollTag(poll.etag))
      : known.group !== poll.group || known.foreignTag === tag;
  return isForeign ? { word: null, foreignTag: tag } : { word, foreignTag: null };
}

/** What a report says after what is known. */
export function hearReport(known: ReportedHalf | null, facts: ReportFacts, now: number): ReportedHalf {
  const { group, word, failed, worker, digest } = facts;
  const isSame = known !== null && known.group === group && isSameWord(known.word, word);
  const failedSince = failed.length === 0 ? null : (known?.failedSince ?? now);
  return { at: now, group, word, since: isSame ? known.since : now, failed, failedSince, worker, digest };
}
