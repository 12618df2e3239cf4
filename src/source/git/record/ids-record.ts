import { hash } from 'node:crypto';
import { HoldfastError } from '../../../errors.ts';
import { type IdsRecord, lineOf, type SectionDraft } from '../../../ids/ids-record.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { asUnavailable } from '../process/guarded.ts';
import { isRefMismatch } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import { makeVersion } from './new-version.ts';
import { readSection, sectionAt, sectionName } from './sections.ts';

/** How often a write is tried while other managers keep writing their sections. */
const MAX_ATTEMPTS = 8;

const OTHER_VERSION = 'another process wrote the record of ids';

/** The objects at which the record is found, of whatever type; null if there is none. */
export interface RecordTips {
  /** The one whose version counts for the section that is read or written. */
  own: string | null;
  /** The one whose versions count for all other sections; a write replaces it. */
  others: string | null;
}

/** The refs at which the record is kept. */
export interface RecordRefs {
  /** Resolves to the current tips. `versionAt` returns the version that a tip has of the section in question. */
  readTips(versionAt: (tip: string | null) => Promise<string | null>): Promise<RecordTips>;
  /**
   * Publishes a version, whose objects are in the repository, in the place of the tips in `found`. `shares` says that
   * most of its files are in `found.others`, too. Rejects as `IdsRecord.write` does, and as `moved-on` even if only
   * other sections have changed.
   */
  replace(tip: string, found: RecordTips, shares: boolean): Promise<void>;
  /** See `IdsRecord`. */
  isCurrent(): boolean;
  localOnlyReason(): string | null;
}

/** Where one manager keeps its section. */
interface Keeper {
  /** Full name; null in a checkout, where all branches are one line. */
  branch: string | null;
  /** Address of the repository. */
  address: string;
  refs: RecordRefs;
}

/**
 * Opens the record of ids. It is a commit without parents, so that old versions can be dropped, with a folder for each
 * line.
 */
export function createIdsRecord(repository: Repository, { branch, address, refs }: Keeper): IdsRecord {
  const folder = repository.prefix;
  const line = lineOf({ folder, branch });
  const section = sectionName(line);
  const currentTips = (): Promise<RecordTips> =>
    refs.readTips(async (tip) => (await sectionAt(repository, tip, section)).version);
  return {
    folder,
    branch,
    line,
    // A hash, because an address can contain a password.
    source: hash('sha256', address, 'hex').slice(0, 32),
    isCurrent: refs.isCurrent,
    localOnlyReason: refs.localOnlyReason,
    read: () =>
      asUnavailable(
        async () => readSection(repository, (await currentTips()).own, section),
        'git could not read the record of ids',
      ),
    write: (draft) => writeSection({ repository, section, currentTips, refs }, draft),
  };
}

/** A section, and where it is written. */
interface WriteTarget {
  repository: Repository;
  section: string;
  currentTips(): Promise<RecordTips>;
  refs: RecordRefs;
}

/** Tries again when only other sections have changed meanwhile: the draft is still right then. */
async function writeSection(target: WriteTarget, draft: SectionDraft): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await writeOnce(target, draft);
    } catch (error) {
      const failure = writeFailure(error);
      const canRetry = failure.kind === 'moved-on' && !(failure instanceof SectionMoved);
      if (!canRetry || attempt === MAX_ATTEMPTS) throw failure;
    }
  }
}

/** The section does not have the expected version. */
class SectionMoved extends HoldfastError {
  constructor() {
    super('moved-on', OTHER_VERSION);
  }
}

async function writeOnce(
  { repository, section, currentTips, refs }: WriteTarget,
  draft: SectionDraft,
): Promise<string> {
  const tips = await currentTips();
  const others = await sectionAt(repository, tips.others, section);
  const own = tips.own === tips.others ? others : await sectionAt(repository, tips.own, section);
  if (own.version !== draft.expected) throw new SectionMoved();
  const { tip, version } = await makeVersion(repository, others.root, section, draft);
  await refs.replace(tip, tips, others.root !== null);
  return version;
}

function writeFailure(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (isRefMismatch(error)) return new HoldfastError('moved-on', OTHER_VERSION, {}, error);
  const message = explainFailure('git could not write the record of ids', error);
  return new HoldfastError('unavailable', message, {}, error);
}
