import { HoldfastError, kindOf } from '../../errors.ts';
import type { CounterRow, IdState, IdStore } from '../id-store.ts';
import type { IdsReader } from '../ids-reader.ts';
import {
  decodeRecord,
  encodeMeta,
  highestId,
  MAX_ID,
  MAX_ROWS,
  META,
  type RecordContent,
  type RecordMeta,
} from '../record/format.ts';
import { areBehind, encodeFilesOf } from '../record/rows.ts';
import type { RecordRef, RecordVersion } from '../record-ref.ts';

/** Milliseconds after which a version that was refused is sent again, even if nothing has changed. */
const RESEND_AFTER = 600_000;
/** How often an update is tried while other managers write. */
const MAX_ATTEMPTS = 5;

const AHEAD =
  'the record of ids is ahead of the store: another manager is running on a copy of it; stop one of them';
const TOO_LARGE = 'there are more names than a record of ids can hold';
const NO_ROOM =
  'ids have reached their limit, which only a forged record can cause, and cannot be recorded; if this store is lost, ids can be reused: keep it, and check who may push to refs/holdfast';

/** What an update of the record works with. */
export interface UpdateDependencies {
  record: RecordRef;
  /** The store as it is read for the record. */
  counters: Pick<IdStore, 'state' | 'counters'>;
  reader: IdsReader;
  /** Unix milliseconds. */
  now(): number;
  /** Called when a manager with the store of another fleet has made a version while this one runs. */
  onForeign(fleet: string): void;
  /** Called when a version was written, or found to be up to date. `replaced`: what was wrong with the one before. */
  onRecorded(meta: RecordMeta, written: { isNew: boolean; replaced: string | null }): void;
}

/** The version that the next one is based on. */
interface Base {
  tip: string | null;
  /** Null if there is none, or it cannot be read. */
  meta: RecordMeta | null;
  /** Its files of rows as they were read; none if this process wrote it. */
  texts: ReadonlyMap<string, string>;
  /** The `idSequence` up to which it has the rows of the store; 0 if all have to be compared. */
  readUpTo: number;
  replaced: string | null;
  /** A revision that is known to descend from the recorded one, with the same folder. */
  same: string | null;
}

const NOTHING: Base = { tip: null, meta: null, texts: new Map(), readUpTo: 0, replaced: null, same: null };

/** Brings the record up to date with the store. */
export class RecordUpdate {
  readonly #dependencies: UpdateDependencies;
  /** The version that the store's counters take into account, whoever wrote it. */
  #taken: string | null = null;
  /** Null at first and after any failure: what is recorded is not known then. */
  #base: Base | null = null;
  /** The last version that was reported as foreign. */
  #reported: string | null = null;
  #refused: { tip: string | null; at: number; error: unknown } | null = null;

  constructor(dependencies: UpdateDependencies) {
    this.#dependencies = dependencies;
  }

  /** Allows the version with this tip to be replaced: the store's counters take it into account. */
  take(tip: string | null): void {
    this.#taken = tip;
  }

  /**
   * Writes a version if the record differs from the store, and publishes it. Rejects as `conflict` if the present version
   * must not be replaced, cannot hold the ids or is refused, as `unavailable` if it cannot be read or written.
   */
  async run(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run();
      } catch (error) {
        if (kindOf(error) !== 'moved-on' || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #run(): Promise<void> {
    const { record, counters } = this.#dependencies;
    const remembered = this.#base;
    this.#base = null;
    // In this order, each is at least as new as the one before: the tip, the state, and then the counters. Another manager
    // of this store can write a version at any time.
    const tip = await record.tip();
    const state = await counters.state();
    if (state.seededFrom === null) return;
    const base = remembered?.tip === tip ? remembered : await this.#read(state);
    this.#base = await this.#write(base, state);
    await this.#publish(this.#base.tip);
  }

  async #read(state: IdState): Promise<Base> {
    const { record, counters } = this.#dependencies;
    const version = await record.read();
    if (version === null) return NOTHING;
    const { tip } = version;
    const content = await decodeRecord(version, record.line);
    if (typeof content === 'string') return { ...NOTHING, tip, replaced: content };
    if (tip !== this.#taken) {
      await this.#reportForeign(version, content, state);
      if (content.meta.fleet !== state.fleet) throw new HoldfastError('conflict', ofAnother(record.name));
      if (await areBehind(await counters.counters(0), content.rows))
        throw new HoldfastError('conflict', AHEAD);
    }
    const texts = 'files' in version ? version.files : NOTHING.texts;
    return { ...NOTHING, tip, meta: content.meta, texts };
  }

  /**
   * Reports a version that a manager with another store made. If its ids are the other one's, a version with the same files
   * also says that this manager is running: it writes no other.
   */
  async #reportForeign(version: RecordVersion, { meta }: RecordContent, { fleet }: IdState): Promise<void> {
    const { record, now, onForeign } = this.#dependencies;
    const writer = version.writer === '' ? meta.fleet : version.writer;
    if (writer === fleet || version.tip === this.#reported) return;
    this.#reported = version.tip;
    onForeign(writer);
    if (meta.fleet === fleet) return;
    const sign = { files: new Map(), base: version.tip, continues: true, writer: fleet, at: now() };
    // The other manager then knows of this one; if that fails, only this one reports it.
    await record
      .write(sign)
      .then(() => record.publish())
      .catch(() => undefined);
  }

  /** Writes a version if that is due. Resolves to the base of the next one. */
  async #write(base: Base, state: IdState): Promise<Base> {
    const { record, reader, now, onRecorded } = this.#dependencies;
    const { files, meta } = await this.#changes(base, state);
    const isMetaDue = base.meta === null || !isSameExceptRevision(base.meta, meta);
    if (files.size === 0 && !isMetaDue && (await isOfSameFolder(base, meta.revision, reader))) {
      onRecorded(base.meta ?? meta, { isNew: false, replaced: null });
      return { ...base, texts: NOTHING.texts, readUpTo: state.idSequence, same: meta.revision };
    }
    files.set(META, encodeMeta(meta));
    const draft = { files, base: base.tip, continues: base.meta !== null, writer: meta.fleet, at: now() };
    const tip = await record.write(draft);
    this.#refused = null;
    onRecorded(meta, { isNew: true, replaced: base.replaced });
    return { ...NOTHING, tip, meta, readUpTo: state.idSequence };
  }

  /** Resolves to the files of rows that differ from those of the base, and to the `meta.json` that goes with them. */
  async #changes(base: Base, state: IdState): Promise<{ files: Map<string, string>; meta: RecordMeta }> {
    const { record, counters } = this.#dependencies;
    const changed = await counters.counters(base.readUpTo);
    const needsAll = changed.length > 0 && base.readUpTo > 0;
    const rows = needsAll ? await counters.counters(0) : changed;
    // From after the rows were read, so that no row is newer.
    const { idSequence } = await counters.state();
    const files = await encodeFilesOf(changed, rows);
    for (const [name, text] of files) if (base.texts.get(name) === text) files.delete(name);
    const totals = changed.length > 0 || base.meta === null ? totalsOf(rows) : base.meta;
    refuseTooLarge(totals, idSequence);
    const { folder, branch } = record;
    const revision = state.applied?.revision ?? null;
    const { rows: count, highest } = totals;
    return {
      files,
      meta: { fleet: state.fleet, folder, branch, idSequence, revision, rows: count, highest },
    };
  }

  /** A version that was refused is sent again after a while, for what was in its way can be gone. */
  async #publish(tip: string | null): Promise<void> {
    const { record, now } = this.#dependencies;
    const { error, ...refused } = this.#refused ?? { tip: null, at: 0, error: null };
    if (error !== null && refused.tip === tip && Math.abs(now() - refused.at) < RESEND_AFTER) throw error;
    try {
      await record.publish();
      this.#refused = null;
    } catch (error) {
      this.#refused = kindOf(error) === 'conflict' ? { tip, at: now(), error } : null;
      throw error;
    }
  }
}

function ofAnother(name: string): string {
  return `${name} has the record of ids of another manager of the same folder, so the ids of this one are not recorded; run one manager per folder (with GIT_REMOTE, per folder and branch), and restart this one when the other is gone`;
}

function totalsOf(rows: readonly CounterRow[]): Pick<RecordMeta, 'rows' | 'highest'> {
  return { rows: rows.length, highest: highestId(rows) };
}

function refuseTooLarge({ rows, highest }: Pick<RecordMeta, 'rows' | 'highest'>, idSequence: number): void {
  if (rows > MAX_ROWS) throw new HoldfastError('conflict', TOO_LARGE);
  if (highest > MAX_ID || idSequence > MAX_ID) throw new HoldfastError('conflict', NO_ROOM);
}

/** Whether a commit outside of the folder, which needs no new version, leads from the recorded revision to this one. */
async function isOfSameFolder(
  { meta, same }: Base,
  revision: string | null,
  reader: IdsReader,
): Promise<boolean> {
  const before = meta?.revision ?? null;
  if (before === revision || same === revision) return true;
  if (before === null || revision === null || !(await reader.isAncestor(before, revision))) return false;
  return (await reader.folderTree(before)) === (await reader.folderTree(revision));
}

function isSameExceptRevision(
  { revision: _, ...before }: RecordMeta,
  { revision: __, ...now }: RecordMeta,
): boolean {
  const keys = Object.keys(now) as (keyof typeof now)[];
  return keys.every((key) => before[key] === now[key]);
}
