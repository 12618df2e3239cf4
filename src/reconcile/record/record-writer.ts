import { HoldfastError, kindOf } from '../../errors.ts';
import type { IdsRecord, Reader, SectionText } from '../../source/source.ts';
import type { Store, StoreState } from '../../store/store.ts';
import { decodeMeta, encodeMeta, MAX_ID, META, type SectionMeta } from './format.ts';
import { Shards } from './shards.ts';
import { mayKnowMore, type Standing, standingOf } from './standing.ts';

/** Milliseconds after which a version that was put aside is offered again, though nothing in it has changed. */
const OFFER_AGAIN = 600_000;

/** How often an update is tried when somebody else writes meanwhile, and counters are read when some have risen. */
const MAX_ATTEMPTS = 5;

const OF_ANOTHER =
  'refs/holdfast/ids has the record of another manager of the same folder, so the ids of this one are not recorded; run one manager per folder (with GIT_REMOTE, per folder and branch), and restart this one when the other is gone';
const AHEAD =
  'the record of ids at refs/holdfast/ids is ahead of the store: another manager is running on a copy of it; stop one of them';
const NEWER =
  'the record of ids at refs/holdfast/ids was written by a newer version of Holdfast, so ids are not recorded; run that version, or delete the ref, and each running manager writes its ids again';
const TOO_LARGE = 'there are more names than a record of ids can hold';
const NO_ROOM =
  'ids have reached their limit, which only a forged record can cause, and cannot be recorded; if this store is lost, ids can be reused: keep it, and check who may push to refs/holdfast';

/** What is needed to keep the record. */
export interface RecordDependencies {
  record: IdsRecord;
  store: Pick<Store, 'state' | 'counters'>;
  reader: Reader;
  /** Unix milliseconds. */
  now(): number;
}

/** What became of an update of the record. */
export interface RecordOutcome {
  /** What the record says of itself now; null while the store has no counters of its own yet. */
  meta: SectionMeta | null;
  hasWritten: boolean;
  /** What was wrong with the section that it replaced; null if nothing was. */
  replaced: string | null;
  /** Why the section was put where others do not see it; null if they do. */
  aside: string | null;
}

/** Knows what the manager's section of the record says, and updates it from the store. */
export class RecordWriter {
  readonly #dependencies: RecordDependencies;
  #adopted: string | null = null;
  /** Null while it is not known what is written: at first, and after any failure. */
  #section: Section | null = null;
  #offeredAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: RecordDependencies) {
    this.#dependencies = dependencies;
  }

  /** Says from which version, of another store, the counters go on: it can be overwritten. */
  adopt(version: string): void {
    this.#adopted = version;
  }

  /**
   * Writes what differs. Rejects as `conflict` if the record is not this store's to write, as `unavailable` if it cannot
   * be read or written.
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
    // Read first: the counters that are read after it are at least as new.
    const state = await store.state();
    if (state.seededFrom === null) return { meta: null, hasWritten: false, replaced: null, aside: null };
    const known = this.#section;
    this.#section = null;
    const section = known ?? (await this.#open(state));
    const read = await this.#readCounters(section, state);
    const meta = { ...(await metaOf(read, record, reader)), ...section.shards.totals };
    const isDue = section.changed.size > 0 || this.#isToOffer() || (await isOutdated(section, meta, reader));
    if (isDue) await this.#write(section, meta);
    const { replaced } = section;
    this.#section = { ...section, replaced: null };
    return { meta: section.written.meta, hasWritten: isDue, replaced, aside: record.aside() };
  }

  /** Whether a version that was put aside is due again: what was in its way can be gone. */
  #isToOffer(): boolean {
    const { record, now } = this.#dependencies;
    return record.aside() !== null && Math.abs(now() - this.#offeredAt) >= OFFER_AGAIN;
  }

  /** The section as it stands. One that is just what would be written is not decoded. */
  async #open(state: StoreState): Promise<Section> {
    const { record } = this.#dependencies;
    const text = await record.read();
    const ownMeta = metaOfStore(text, state);
    if (ownMeta !== null) {
      const own = newSection(text, ownMeta, null);
      await this.#compare(own, state);
      if (own.changed.size === 0 && isAsWritten(text, own)) return own;
    }
    const standing = standingOf(text, record.line, state.fleet);
    refuse(standing, state, this.#adopted);
    const meta = 'section' in standing ? standing.section.meta : null;
    return newSection(text, meta, standing.kind === 'damaged' ? standing.message : null);
  }

  /**
   * Reads counters until none has risen meanwhile; resolves to the state of the store that they are of. The record says
   * of itself how new it is: were a row newer than that, a store that was restored would take itself for as new as the
   * record. An id that rises all the time ends this, too.
   */
  async #readCounters(section: Section, state: StoreState): Promise<StoreState> {
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

  /** Compares the counters that are new since the last call, and at first all of them, with what is written. */
  async #compare(section: Section, { idSequence }: StoreState): Promise<void> {
    const { shards, written, upTo, changed } = section;
    const files = await shards.take(await this.#dependencies.store.counters(upTo));
    if (shards.isTooLarge) throw new HoldfastError('conflict', TOO_LARGE);
    if (shards.isOutOfRoom || idSequence > MAX_ID) throw new HoldfastError('conflict', NO_ROOM);
    section.upTo = idSequence;
    const compared = upTo === 0 ? new Set([...files, ...written.texts.keys()]) : files;
    for (const [name, text] of await shards.changed(compared, written.texts)) changed.set(name, text);
  }

  async #write(section: Section, meta: SectionMeta): Promise<void> {
    const { record, now } = this.#dependencies;
    const { written, changed } = section;
    const { version: expected, texts, meta: before } = written;
    // What cannot be sent now is put aside, and the next update is to offer it.
    this.#offeredAt = Number.NEGATIVE_INFINITY;
    const files = new Map([...changed, [META, encodeMeta(meta)]]);
    const version = await record.write({ files, expected, keepsOthers: before !== null, at: now() });
    this.#offeredAt = now();
    section.written = { version, meta, texts: new Map([...texts, ...changed]) };
    changed.clear();
  }
}

/** What is written in the section, as far as comparing with it needs. */
interface Written {
  version: string | null;
  /** Null if there is nothing that could be read. */
  meta: SectionMeta | null;
  /** Files of rows, by name. */
  texts: Map<string, string>;
}

/** The manager's section as it stands, and the counters as they were read last. */
interface Section {
  written: Written;
  shards: Shards;
  /** The id sequence up to which the counters were read. */
  upTo: number;
  /** The files that have to be written. */
  changed: Map<string, string>;
  replaced: string | null;
  /** A revision that was compared with the written one, and needs no writing. */
  compared: string | null;
}

/** A section before any counter was read. Without `meta`, nothing of what is there is kept. */
function newSection(text: SectionText | null, meta: SectionMeta | null, replaced: string | null): Section {
  const files = text === null || 'damage' in text || meta === null ? [] : [...text.files];
  const texts = new Map(files.filter(([name]) => name !== META));
  const written = { version: text?.version ?? null, meta, texts };
  return { written, shards: new Shards(), upTo: 0, changed: new Map(), replaced, compared: null };
}

/** What a section says of itself, if that is that it is this store's, and not ahead of it; its rows are not read. */
function metaOfStore(text: SectionText | null, state: StoreState): SectionMeta | null {
  if (text === null || 'damage' in text || mayKnowMore(text, state)) return null;
  return decodeMeta(text.files.get(META));
}

/** Whether a section says of itself what it would if it was written with these rows. */
function isAsWritten(text: SectionText | null, { shards, written: { meta } }: Section): boolean {
  if (text === null || 'damage' in text || meta === null) return false;
  return text.files.get(META) === encodeMeta({ ...meta, ...shards.totals });
}

/** Throws if the section that is there must not be replaced: it can know what this store does not. */
function refuse(standing: Standing, { idSequence }: StoreState, adopted: string | null): void {
  const { kind, version } = standing;
  if (kind === 'none' || kind === 'damaged' || version === adopted) return;
  if (kind === 'newer') throw new HoldfastError('conflict', NEWER);
  if (kind === 'another') throw new HoldfastError('conflict', OF_ANOTHER);
  if (standing.section.meta.idSequence > idSequence) throw new HoldfastError('conflict', AHEAD);
}

async function metaOf(
  { fleet, idSequence, applied }: StoreState,
  { folder, branch }: IdsRecord,
  reader: Reader,
): Promise<Omit<SectionMeta, 'rows' | 'highest'>> {
  const revision = applied?.revision ?? null;
  const tree = revision === null ? null : await reader.folder(revision);
  return { fleet, folder, branch, idSequence, revision, tree };
}

/** Whether the record has to say something else, though no row has changed. */
async function isOutdated(section: Section, meta: SectionMeta, reader: Reader): Promise<boolean> {
  const before = section.written.meta;
  if (before === null || !isSameBut(before, meta)) return true;
  if (before.revision === meta.revision || section.compared === meta.revision) return false;
  // Commits beside the folder need no writing, as long as the record's revision is one of the history.
  if (before.revision === null || meta.revision === null) return true;
  if (!(await reader.isAncestor(before.revision, meta.revision))) return true;
  section.compared = meta.revision;
  return false;
}

/** Whether two say the same but for the revision. */
function isSameBut({ revision: _, ...before }: SectionMeta, { revision: __, ...meta }: SectionMeta): boolean {
  const keys = Object.keys(meta) as (keyof typeof meta)[];
  return keys.every((key) => before[key] === meta[key]);
}
