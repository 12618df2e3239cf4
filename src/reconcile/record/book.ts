import { HoldfastError, kindOf } from '../../errors.ts';
import type { IdsRecord, Reader, RecordText } from '../../source/source.ts';
import type { Store, StoreState } from '../../store/store.ts';
import { RecordContents, textsOf, type Written } from './contents.ts';
import { decodeMeta, MAX_ID, META, type RecordMeta } from './format.ts';
import { mayKnowMore, type Standing, standingOf } from './standing.ts';

/** Milliseconds after which a version that stands aside is offered again, though there is nothing new to say. */
const OFFER_AGAIN = 600_000;

/** How often a version that somebody else writes meanwhile is looked at again. */
const MAX_LOOKS = 5;

const OF_ANOTHER =
  'refs/holdfast/ids has the record of another manager of the same folder, so the ids of this one are not recorded; run one manager on a folder (with GIT_REMOTE on a branch of it), and start this one again when the other is gone';
const AHEAD =
  'the record of ids at refs/holdfast/ids is ahead of the store: another manager runs on a copy of it; end one of them';
const TOO_LARGE = 'there are more names than a record of ids can hold';
const NO_ROOM =
  'ids are at the end of their room, as only a forged record makes them, and cannot be recorded; if this store is lost, ids can be given again: keep it, and see who may push to refs/holdfast';

/** What is needed to keep the record. */
export interface BookDependencies {
  record: IdsRecord;
  store: Pick<Store, 'state' | 'counters'>;
  reader: Reader;
  /** Unix milliseconds. */
  now(): number;
}

/** What a look at store and record came to. */
export interface BookOutcome {
  /** What the record says now; null where the store has no counters of its own yet. */
  meta: RecordMeta | null;
  hasWritten: boolean;
  /** What was wrong with what stood there before; null where nothing was. */
  replaced: string | null;
  /** Why it stands where others do not see it; null where they do. */
  aside: string | null;
}

/** Knows what stands in the manager's section of the record, and brings it up to the store. */
export class Book {
  readonly #dependencies: BookDependencies;
  #adopted: string | null = null;
  /** Null where it is not known what stands there: at first, and after any failure. */
  #page: Page | null = null;
  #offeredAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: BookDependencies) {
    this.#dependencies = dependencies;
  }

  /** Says which version, of another store, the counters go on from: it can be written over. */
  adopt(version: string): void {
    this.#adopted = version;
  }

  /**
   * Writes what differs. Rejects as `conflict` where the record is not this store's to write, as `unavailable` where
   * it cannot be read or written.
   */
  async bringUp(): Promise<BookOutcome> {
    for (let look = 1; look < MAX_LOOKS; look++) {
      try {
        return await this.#bringUp();
      } catch (error) {
        if (kindOf(error) !== 'moved-on') throw error;
      }
    }
    return this.#bringUp();
  }

  async #bringUp(): Promise<BookOutcome> {
    const { store, reader, record } = this.#dependencies;
    // Read first: the counters that are read after it are at least as new.
    const state = await store.state();
    if (!state.seeded) return { meta: null, hasWritten: false, replaced: null, aside: null };
    const known = this.#page;
    this.#page = null;
    const compared = known === null ? await this.#look(state) : await this.#compare(known, state);
    const { page, changed, at } = await this.#catchUp(compared, state);
    const meta = await metaOf(at, record, reader);
    const isDue = changed.size > 0 || this.#isToOffer() || (await isOutdated(page, meta, reader));
    if (isDue) await this.#write(page, meta, changed);
    const { replaced } = page;
    this.#page = { ...page, replaced: null };
    return { meta: page.written.meta, hasWritten: isDue, replaced, aside: record.aside() };
  }

  /** What was in the way of a version that stands aside can be gone. */
  #isToOffer(): boolean {
    const { record, now } = this.#dependencies;
    return record.aside() !== null && Math.abs(now() - this.#offeredAt) >= OFFER_AGAIN;
  }

  /** What stands there, compared with the store. A record that is just what would be written is not decoded. */
  async #look(state: StoreState): Promise<Compared> {
    const { record } = this.#dependencies;
    const text = await record.read();
    const own = ownPage(text, state);
    const compared = own === null ? null : await this.#compare(own, state);
    if (compared !== null && compared.changed.size === 0 && isAsWritten(text, compared.page)) return compared;
    const standing = standingOf(text, record.line, state.fleet);
    refuse(standing, state, this.#adopted);
    return this.#compare(newPage(standing), state);
  }

  /**
   * Reads on until nothing has risen while it was read. The record says of itself how new it is: were a row newer than
   * that, a store that was restored would take itself for as new as the record. An id that rises all the time ends
   * this, too.
   */
  async #catchUp({ page, changed }: Compared, state: StoreState): Promise<Compared & { at: StoreState }> {
    const { store } = this.#dependencies;
    const files = new Map(changed);
    let at = state;
    for (let look = 0; look < MAX_LOOKS; look++) {
      const now = await store.state();
      if (now.idSequence === at.idSequence) break;
      at = now;
      for (const [name, text] of await this.#changed(page, at)) files.set(name, text);
    }
    return { page, changed: files, at };
  }

  async #compare(page: Page, state: StoreState): Promise<Compared> {
    return { page, changed: await this.#changed(page, state) };
  }

  /** The files that have to be written; on a new page, everything is compared. */
  async #changed(page: Page, { idSequence }: StoreState): Promise<Map<string, string>> {
    const { contents, written, upTo } = page;
    const files = await contents.take(await this.#dependencies.store.counters(upTo));
    if (contents.isTooLarge) throw new HoldfastError('conflict', TOO_LARGE);
    if (contents.isOutOfRoom || idSequence > MAX_ID) throw new HoldfastError('conflict', NO_ROOM);
    page.upTo = idSequence;
    const compared = upTo === 0 ? new Set([...files, ...written.texts.keys()]) : files;
    return contents.changed(compared, written.texts);
  }

  async #write(page: Page, meta: RecordMeta, files: Map<string, string>): Promise<void> {
    const { record, now } = this.#dependencies;
    const { version, texts, meta: before } = page.written;
    // What cannot be sent now stays aside, and is to be offered by the next look.
    this.#offeredAt = Number.NEGATIVE_INFINITY;
    const written = await record.write({
      files: new Map([...files, page.contents.meta(meta)]),
      expected: version,
      keepsOthers: before !== null,
      at: now(),
    });
    this.#offeredAt = now();
    page.written = { version: written, meta, texts: new Map([...texts, ...files]) };
  }
}

/** The record as it stands, and the counters as they were read last. */
interface Page {
  written: Written;
  contents: RecordContents;
  /** The id sequence up to which the counters were read. */
  upTo: number;
  replaced: string | null;
  /** A revision that was compared with the written one, and needs no writing. */
  compared: string | null;
}

/** A page, and the files on it that have to be written. */
interface Compared {
  page: Page;
  changed: Map<string, string>;
}

/** The page of a record that says of itself that it is this store's, and not ahead of it; its rows are not looked at. */
function ownPage(text: RecordText | null, state: StoreState): Page | null {
  if (text === null || 'damage' in text || text.isUndivided === true || mayKnowMore(text, state)) return null;
  const meta = decodeMeta(text);
  if (meta === null) return null;
  const texts = new Map([...text.files].filter(([name]) => name !== META));
  return {
    written: { version: text.version, meta, texts },
    contents: new RecordContents(),
    upTo: 0,
    replaced: null,
    compared: null,
  };
}

/** Whether a record says of itself what it would if it was written with this page's rows. */
function isAsWritten(text: RecordText | null, { contents, written: { meta } }: Page): boolean {
  if (text === null || 'damage' in text || meta === null) return false;
  const [name, expected] = contents.meta(meta);
  return text.files.get(name) === expected;
}

/** Of a record without sections nothing stays: it is written anew, as a section. */
function newPage(standing: Standing): Page {
  const record = 'record' in standing && !standing.record.isUndivided ? standing.record : null;
  const texts = record === null ? new Map<string, string>() : textsOf(record);
  return {
    written: { version: standing.version, meta: record?.meta ?? null, texts },
    contents: new RecordContents(),
    upTo: 0,
    replaced: standing.kind === 'damaged' ? standing.message : null,
    compared: null,
  };
}

/** Throws where what stands there protects the devices of another store. */
function refuse(standing: Standing, { idSequence }: StoreState, adopted: string | null): void {
  const { kind, version } = standing;
  if (kind === 'none' || kind === 'damaged' || version === adopted) return;
  if (kind === 'another') throw new HoldfastError('conflict', OF_ANOTHER);
  if (standing.record.meta.idSequence > idSequence) throw new HoldfastError('conflict', AHEAD);
}

async function metaOf(
  { fleet, idSequence, applied }: StoreState,
  { place, branch }: IdsRecord,
  reader: Reader,
): Promise<RecordMeta> {
  const revision = applied?.revision ?? null;
  const folder = revision === null ? null : await reader.folder(revision);
  return { fleet, place, branch, idSequence, revision, folder };
}

/** Whether the record has to say something else, though no row has changed. */
async function isOutdated(page: Page, meta: RecordMeta, reader: Reader): Promise<boolean> {
  const before = page.written.meta;
  if (before === null || !isSameBut(before, meta)) return true;
  if (before.revision === meta.revision || page.compared === meta.revision) return false;
  // Commits beside the folder need no writing, as long as the record's revision is one of the history.
  if (before.revision === null || meta.revision === null) return true;
  if (!(await reader.isAncestor(before.revision, meta.revision))) return true;
  page.compared = meta.revision;
  return false;
}

/** Whether two say the same but for the revision. */
function isSameBut({ revision: _, ...before }: RecordMeta, { revision: __, ...meta }: RecordMeta): boolean {
  const keys = Object.keys(meta) as (keyof typeof meta)[];
  return keys.every((key) => JSON.stringify(before[key]) === JSON.stringify(meta[key]));
}
