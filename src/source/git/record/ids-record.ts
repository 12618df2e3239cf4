import { createHash } from 'node:crypto';
import { HoldfastError } from '../../../errors.ts';
import { type IdsRecord, lineOf, type SectionDraft } from '../../source.ts';
import { withTrouble } from '../process/disk-trouble.ts';
import { guarded } from '../read/guarded.ts';
import { isRefElsewhere, readTips } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { makeVersion } from './new-version.ts';
import { moveRefs, RECORD_REF } from './refs.ts';
import { readOfEach, readSection, sectionAt, sectionName } from './sections.ts';

/** How often a version is made again because somebody else has put another one there meanwhile. */
const MAX_TRIES = 8;

const UNREAD = 'git could not read the record of ids';
const OTHER_VERSION = 'another process wrote the record of ids';

/** The versions of the record that count, of whatever type; null where there is none. */
export interface RecordTips {
  /** For the section that is asked for, mostly that of this manager. */
  own: string | null;
  /** For all others; a new version takes its place. */
  others: string | null;
}

/** Where the record stands. */
export interface RecordRefs {
  /** What stands there. `versionAt` tells versions of the section apart that is asked for. */
  look(versionAt: (tip: string | null) => Promise<string | null>): Promise<RecordTips>;
  /**
   * Puts a version, whose objects are in the repository, in the place of those that were found; `shares`: it has most
   * of its files from there. Rejects as `IdsRecord.write` does, as `moved-on` also where only others have written.
   */
  put(tip: string, found: RecordTips, shares: boolean): Promise<void>;
  /** See `IdsRecord`. */
  isCurrent(): boolean;
  aside(): string | null;
}

/** What tells one keeper of the record from another. */
interface Keeper {
  /** Full name; null where all branches are one line. */
  branch: string | null;
  /** Of the repository. */
  address: string;
  refs: RecordRefs;
}

/**
 * The record of ids in a repository of this machine: a commit without parents, so that old versions go, with a folder
 * for each line. Of the others' folders nothing is read or changed.
 */
export function createIdsRecord(
  repository: Repository,
  keeper: Keeper = { branch: null, address: repository.commonFolder, refs: localRefs(repository) },
): IdsRecord {
  const { branch, address, refs } = keeper;
  const folder = repository.prefix;
  const line = lineOf({ folder, branch });
  const section = sectionName(line);
  const look = (of = section): Promise<RecordTips> =>
    refs.look(async (tip) => (await sectionAt(repository, tip, of)).version);
  return {
    folder,
    branch,
    line,
    // An address can hold a password.
    source: createHash('sha256').update(address).digest('hex').slice(0, 32),
    isCurrent: refs.isCurrent,
    aside: refs.aside,
    read: (other = line) =>
      guarded(async () => {
        const of = sectionName(other);
        return readSection(repository, (await look(of)).own, of);
      }, UNREAD),
    readOfEach: (file) =>
      guarded(async () => {
        const { own, others } = await look();
        return readOfEach(repository, [own, others], file);
      }, UNREAD),
    write: (draft) => writeSection({ repository, section, look, refs }, draft),
  };
}

/** The ref of this repository, which nobody else has. */
function localRefs(repository: Repository): RecordRefs {
  return {
    look: async () => {
      const [tip = null] = await readTips(repository, [RECORD_REF]);
      return { own: tip, others: tip };
    },
    put: (tip, { others }) => moveRefs(repository, [{ ref: RECORD_REF, to: tip, expected: others }]),
    isCurrent: () => true,
    aside: () => null,
  };
}

/** A section, and where it is written. */
interface Writing {
  repository: Repository;
  section: string;
  look(): Promise<RecordTips>;
  refs: RecordRefs;
}

/** What others write meanwhile in sections of theirs is no reason to judge anything anew. */
async function writeSection(writing: Writing, draft: SectionDraft): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await writeOnce(writing, draft);
    } catch (error) {
      const failure = writeFailure(error);
      if (failure instanceof Outdated || failure.kind !== 'moved-on' || tries === MAX_TRIES) throw failure;
    }
  }
}

/** The section itself is not what it was expected to be. */
class Outdated extends HoldfastError {
  constructor() {
    super('moved-on', OTHER_VERSION);
  }
}

async function writeOnce({ repository, section, look, refs }: Writing, draft: SectionDraft): Promise<string> {
  const tips = await look();
  const others = await sectionAt(repository, tips.others, section);
  const own = tips.own === tips.others ? others : await sectionAt(repository, tips.own, section);
  if (own.version !== draft.expected) throw new Outdated();
  const { tip, version } = await makeVersion(repository, others.root, section, draft);
  await refs.put(tip, tips, others.root !== null);
  return version;
}

function writeFailure(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (isRefElsewhere(error)) return new HoldfastError('moved-on', OTHER_VERSION, {}, error);
  const message = withTrouble('git could not write the record of ids', error);
  return new HoldfastError('unavailable', message, {}, error);
}
