import { HoldfastError, kindOf } from '../../errors.ts';
import type { IdState, IdStore } from '../id-store.ts';
import type { IdsReader } from '../ids-reader.ts';
import type { IdsRecord, SectionText } from '../ids-record.ts';
import { type ClassifiedSection, classifySection } from './classify.ts';
import { decodeMeta, encodeMeta, MAX_ID, META, type SectionMeta } from './format.ts';
import { Shards } from './shards.ts';

/** Milliseconds after which a section that origin did not take is sent again, even if it has not changed. */
const RESEND_AFTER = 600_000;

/** How often an update is tried if another manager writes meanwhile, and how often counters are read if some have risen. */
const MAX_ATTEMPTS = 5;

const OF_ANOTHER =
  'refs/holdfast/ids has the record of another manager of the same folder, so the ids of this one are not recorded; run one manager per folder (with GIT_REMOTE, per folder and branch), and restart this one when the other is gone';
const AHEAD =
  'the record of ids at refs/holdfast/ids is ahead of the store: another manager is running on a copy of it; stop one of them';
const TOO_LARGE = 'there are more names than a record of ids can hold';
const NO_ROOM =
  'ids have reached their limit, which only a forged record can cause, and cannot be recorded; if this store is lost, ids can be reused: keep it, and check who may push to refs/holdfast';

/** What a record writer works with. */
export interface RecordDependencies {
  record: IdsRecord;
  store: Pick<IdStore, 'state' | 'counters'>;
  reader: IdsReader;
  /** Unix milliseconds. */
  now(): number;
}

/** The result of an update of the record. */
export interface RecordOutcome {
  /** The `meta.json` of the section as it is now; null if the store was never seeded and so nothing is recorded. */
  meta: SectionMeta | null;
  hasWritten: boolean;
  /** What was wrong with the section that was replaced; null if nothing was. */
  replaced: string | null;
  /** See `IdsRecord.localOnlyReason`. */
  localOnlyReason: string | null;
}

/**
 * Updates the manager's section of the record from the store. Remembers what is written, so that an update reads only
 * the counters that have risen since the last one.
 */
export class RecordWriter {
  readonly #dependencies: RecordDependencies;
  #replaceable: string | null = null;
  /** Null at first and after any failure: it is not known what is written then. */
  #section: Section | null = null;
  /** When the section was last written, in Unix milliseconds; negative infinity if never, or if that failed. */
  #sentAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: RecordDependencies) {
    this.#dependencies = dependencies;
  }

  /** Allows this version to be replaced, whoever wrote it: the store's counters take it into account. */
  allowReplacing(version: string): void {
    this.#replaceable = version;
  }

  /**
   * Writes the section if it differs from the store. Rejects as `conflict` if the section must not be replaced or cannot
   * hold the ids, as `unavailable` if it cannot be read or written.
   */
  async update(): Promise<RecordOutcome> {
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        return await this.#update();
      } catch (error) {
        if (kindOf(error) !== 'moved-on') throw error;
      }
    }
    return this.#update();
  }

  async #update(): Promise<RecordOutcome> {
    const { store, reader, record } = this.#dependencies;
    const remembered = this.#section;
    this.#section = null;
    // In this order, each is at least as new as the one before: the section, the state, and then the counters. Another
    // manager of this store can write the section at any time.
    const text = remembered === null ? await record.read() : null;
    const state = await store.state();
    if (state.seededFrom === null)
      return { meta: null, hasWritten: false, replaced: null, localOnlyReason: null };
    const section = remembered ?? (await this.#open(text, state));
    const readAt = await this.#readCounters(section, state);
    const meta = { ...(await metaAt(readAt, record, reader)), ...section.shards.totals };
    const isDue =
      section.changed.size > 0 || this.#isResendDue() || (await isMetaOutdated(section, meta, reader));
    if (isDue) await this.#write(section, meta);
    const { replaced } = section;
    this.#section = { ...section, replaced: null };
    return {
      meta: section.written.meta,
      hasWritten: isDue,
      replaced,
      localOnlyReason: record.localOnlyReason(),
    };
  }

  /** Whether a section that origin did not take has to be sent again: what was in its way can be gone. */
  #isResendDue(): boolean {
    const { record, now } = this.#dependencies;
    return record.localOnlyReason() !== null && Math.abs(now() - this.#sentAt) >= RESEND_AFTER;
  }

  /** Decodes the section as it was read. If it is exactly what this store would write, its rows are not decoded. */
  async #open(text: SectionText | null, state: IdState): Promise<Section> {
    const own = newSection(text, metaIfOwn(text, state), null);
    if (own.written.meta !== null) {
      await this.#compare(own, state);
      if (own.changed.size === 0 && isAsWritten(text, own)) return own;
    }
    const classified = classifySection(text, this.#dependencies.record.line, state.fleet);
    if (classified.version !== this.#replaceable) await requireReplaceable(classified, own.shards);
    const meta = 'section' in classified ? classified.section.meta : null;
    return newSection(text, meta, classified.kind === 'damaged' ? classified.message : null);
  }

  /**
   * Reads counters until none has risen meanwhile, or `MAX_ATTEMPTS` times more. Resolves to the state of the store that
   * they are of. No row must be newer than the `idSequence` which the section declares: a store that was restored from a
   * backup could take itself for as new as the section otherwise.
   */
  async #readCounters(section: Section, state: IdState): Promise<IdState> {
    await this.#compare(section, state);
    let at = state;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const now = await this.#dependencies.store.state();
      if (now.idSequence === at.idSequence) break;
      at = now;
      await this.#compare(section, at);
    }
    return at;
  }

  /** Adds the counters that have changed since the last call, at first all, and finds the files that must be written. */
  async #compare(section: Section, { idSequence }: IdState): Promise<void> {
    const { shards, written, readUpTo, changed } = section;
    const files = await shards.add(await this.#dependencies.store.counters(readUpTo));
    if (shards.isTooLarge) throw new HoldfastError('conflict', TOO_LARGE);
    if (shards.isOutOfRoom || idSequence > MAX_ID) throw new HoldfastError('conflict', NO_ROOM);
    section.readUpTo = idSequence;
    const compared = readUpTo === 0 ? new Set([...files, ...written.texts.keys()]) : files;
    for (const [name, text] of await shards.changed(compared, written.texts)) changed.set(name, text);
  }

  async #write(section: Section, meta: SectionMeta): Promise<void> {
    const { record, now } = this.#dependencies;
    const { written, changed } = section;
    const { version: expected, texts, meta: before } = written;
    // If this fails, the section can be kept on this machine alone, and the next update has to send it.
    this.#sentAt = Number.NEGATIVE_INFINITY;
    const files = new Map([...changed, [META, encodeMeta(meta)]]);
    const version = await record.write({ files, expected, keepsOtherFiles: before !== null, at: now() });
    this.#sentAt = now();
    section.written = { version, meta, texts: new Map([...texts, ...changed]) };
    changed.clear();
  }
}

/** The section in the record. */
interface Written {
  version: string | null;
  /** Null if there is no section, or it cannot be read. */
  meta: SectionMeta | null;
  /** The files of rows, by name. */
  texts: Map<string, string>;
}

/** The manager's section: what the record has, and what the store has. */
interface Section {
  written: Written;
  /** The counters of the store, as they were read last. */
  shards: Shards;
  /** The `idSequence` up to which the counters were read. */
  readUpTo: number;
  /** The files that must be written: those in which the two differ. */
  changed: Map<string, string>;
  /** See `RecordOutcome`. */
  replaced: string | null;
  /** A revision that is known to descend from the written one. */
  descendant: string | null;
}

/** Returns a section of which no counter was read yet. Without `meta`, none of the written files is kept. */
function newSection(text: SectionText | null, meta: SectionMeta | null, replaced: string | null): Section {
  const files = text === null || 'damage' in text || meta === null ? [] : [...text.files];
  const texts = new Map(files.filter(([name]) => name !== META));
  const written = { version: text?.version ?? null, meta, texts };
  return { written, shards: new Shards(), readUpTo: 0, changed: new Map(), replaced, descendant: null };
}

/** Returns the `meta.json` of a section that this store wrote and that is not ahead of it; otherwise null. */
function metaIfOwn(text: SectionText | null, { fleet, idSequence }: IdState): SectionMeta | null {
  const meta = text === null || 'damage' in text ? null : decodeMeta(text.files.get(META));
  return meta?.fleet === fleet && meta.idSequence <= idSequence ? meta : null;
}

/** Whether the `meta.json` of a section is exactly what would be written with the rows of the store. */
function isAsWritten(text: SectionText | null, { shards, written: { meta } }: Section): boolean {
  if (text === null || 'damage' in text || meta === null) return false;
  return text.files.get(META) === encodeMeta({ ...meta, ...shards.totals });
}

/**
 * Rejects as `conflict` if the section must not be replaced, since it can have ids that this store does not know.
 * `counters` are those of the store, none if the section is ahead of it.
 */
async function requireReplaceable(classified: ClassifiedSection, counters: Shards): Promise<void> {
  const { kind } = classified;
  if (kind === 'another') throw new HoldfastError('conflict', OF_ANOTHER);
  if (kind === 'ours' && (await counters.areBehind(classified.section.rows)))
    throw new HoldfastError('conflict', AHEAD);
}

async function metaAt(
  { fleet, idSequence, applied }: IdState,
  { folder, branch }: IdsRecord,
  reader: IdsReader,
): Promise<Omit<SectionMeta, 'rows' | 'highest'>> {
  const revision = applied?.revision ?? null;
  const tree = revision === null ? null : await reader.folderTree(revision);
  return { fleet, folder, branch, idSequence, revision, tree };
}

/** Whether `meta.json` must be written although no row has changed. */
async function isMetaOutdated(section: Section, meta: SectionMeta, reader: IdsReader): Promise<boolean> {
  const before = section.written.meta;
  if (before === null || !isSameExceptRevision(before, meta)) return true;
  if (before.revision === meta.revision || section.descendant === meta.revision) return false;
  // A commit outside the folder needs no new version while the recorded revision is one of its ancestors.
  if (before.revision === null || meta.revision === null) return true;
  if (!(await reader.isAncestor(before.revision, meta.revision))) return true;
  section.descendant = meta.revision;
  return false;
}

function isSameExceptRevision(
  { revision: _, ...before }: SectionMeta,
  { revision: __, ...now }: SectionMeta,
): boolean {
  const keys = Object.keys(now) as (keyof typeof now)[];
  return keys.every((key) => before[key] === now[key]);
}
