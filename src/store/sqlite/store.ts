import { setImmediate } from 'node:timers/promises';
import { Pace } from '../../async/pace.ts';
import { Queue } from '../../async/queue.ts';
import type { CounterRow, SeedBatch } from '../../ids/id-store.ts';
import type { ObjectKey } from '../../protocol/name.ts';
import type { Report } from '../../protocol/report.ts';
import type { Act } from '../act.ts';
import { closedError } from '../closed.ts';
import type { EntryBatch, EntryPage, EntryQuery, HistoryState, ListedEntry } from '../entry.ts';
import type { Operation } from '../operation.ts';
import type { ReportPage, ReportQuery } from '../report.ts';
import { dropAll } from '../report-expiry.ts';
import { ReportIntake, type ReportList } from '../report-intake.ts';
import { applyBatch } from '../rules/apply.ts';
import { claimHead } from '../rules/claim.ts';
import { log, pruneAll, pruneGroup, restartApp } from '../rules/raise.ts';
import { groupInfo } from '../rules/rows.ts';
import { seedCounters } from '../rules/seed.ts';
import type {
  AppliedObject,
  ApplyBatch,
  AssignedId,
  AtRevision,
  GroupInfo,
  OperationContext,
  Store,
  StoredApp,
  StoredGroup,
  StoreState,
} from '../store.ts';
import { type Connections, closeConnections } from './connection.ts';
import { storeError } from './errors.ts';
import type { CheckFiles } from './open-files.ts';
import type { CheckSpace } from './space.ts';
import type { Reads, Writes } from './tables.ts';
import {
  inAsyncTransaction,
  inLargeTransaction,
  inSnapshot,
  inTransaction,
  type Level,
  withLogSynced,
} from './transaction.ts';

/** From this many changes on, the extra cost of a large transaction is less than the time that `COMMIT` would block. */
const LARGE_CHANGE = 500;

/** What a store is made of. */
export interface SqliteStoreParts {
  connections: Connections;
  reads: Reads;
  writes: Writes;
  checkFiles: CheckFiles;
  checkSpace: CheckSpace;
  /** The most bytes of all reports together. */
  maxReportBytes: number;
}

/**
 * The store in one SQLite file. Writes run one after another. Reads use their own connection and see the last committed
 * state, also during a long write.
 */
export class SqliteStore implements Store {
  readonly #connections: Connections;
  readonly #reads: Reads;
  readonly #writes: Writes;
  readonly #queue = new Queue();
  readonly #checkFiles: CheckFiles;
  readonly #checkSpace: CheckSpace;
  readonly #maxReportBytes: number;
  readonly #intake: ReportIntake;
  #isClosed = false;

  constructor(parts: SqliteStoreParts) {
    this.#connections = parts.connections;
    this.#reads = parts.reads;
    this.#writes = parts.writes;
    this.#checkFiles = parts.checkFiles;
    this.#checkSpace = parts.checkSpace;
    this.#maxReportBytes = parts.maxReportBytes;
    this.#intake = new ReportIntake((take) => this.#writeReports(take));
  }

  async ping(): Promise<void> {
    await this.state();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#intake.idle();
    await this.#queue.run(async () => closeConnections(this.#connections));
  }

  /** Rejects as `unavailable` if the files are gone. Passes, probes and replies to devices call this first. */
  async state(): Promise<StoreState> {
    this.#checkFiles();
    return this.lastState();
  }

  /** Reads the state even if the files are gone, so that the ids that were given until then can be recorded. */
  lastState(): Promise<StoreState> {
    return this.#read(() => this.#reads.state.read());
  }

  /** NORMAL: a loss of power can undo an attempt, which nobody relies on. */
  markAttempted(revision: string, at: number): Promise<void> {
    return this.#write(() => this.#writes.state.setAttempted(revision, at), 'NORMAL');
  }

  /** NORMAL: a claim matters only with the `apply` that follows, which is synced. */
  claimHead(expected: number, revision: string, at: number): Promise<number> {
    return this.#write(() => claimHead(this.#writes, expected, revision, at), 'NORMAL');
  }

  apply(batch: ApplyBatch): Promise<AssignedId[]> {
    return this.#writeMany(batch.steps.length, () => applyBatch(this.#writes, batch));
  }

  appliedObjects(): Promise<AppliedObject[]> {
    const { objects } = this.#reads;
    return this.#guard(() => objects.parse(objects.all()));
  }

  /** Resolves to null: no other process changes this store, so it keeps no marks. */
  changedObjects(): Promise<null> {
    return this.#guard(() => null);
  }

  changedForDevices({ idSequence }: StoreState): Promise<ObjectKey[] | null> {
    const { counters, state } = this.#reads;
    return this.#read(() => counters.changedSince(idSequence, state.read().idSequence));
  }

  appNames(): Promise<AtRevision<string[]>> {
    return this.#readAtRevision(() => this.#reads.objects.names('app'));
  }

  groupNames(): Promise<AtRevision<string[]>> {
    return this.#readAtRevision(() => this.#reads.objects.names('device_group'));
  }

  app(name: string): Promise<AtRevision<StoredApp | null>> {
    return this.#readAtRevision(() => this.#reads.objects.app(name));
  }

  group(name: string): Promise<AtRevision<StoredGroup | null>> {
    return this.#readAtRevision(() => this.#reads.objects.group(name));
  }

  groupInfo(name: string): Promise<GroupInfo | null> {
    const { objects, state } = this.#reads;
    return this.#guard(async () => {
      const found = inSnapshot(this.#connections.reader, () => {
        const rows = objects.withMembers(name);
        return rows && { ...rows, ...state.ofReplies(), allChanged: 0 };
      });
      return found && groupInfo(found, this.#writes.defaults);
    });
  }

  restartApp(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredApp> | null> {
    return this.#write(() => restartApp(this.#writes, name, context, ifMatch));
  }

  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredGroup> | null> {
    return this.#write(() => pruneGroup(this.#writes, name, context, ifMatch));
  }

  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>> {
    return this.#writeAsync(() => pruneAll(this.#writes, context));
  }

  logOperation(entry: Operation): Promise<void> {
    return this.#write(() => log(this.#writes, entry));
  }

  nextAct(after: number): Promise<Act | null> {
    return this.#read(() => this.#reads.acts.after(after));
  }

  historyState(): Promise<HistoryState | null> {
    return this.#read(() => this.#reads.history.state());
  }

  requireRoom(part: 'older' | 'new'): Promise<void> {
    return this.#guard(() => this.#checkSpace(part === 'older' ? 'olderHistory' : 'newHistory'));
  }

  /** NORMAL: what a loss of power undoes is indexed again, from acts that are there again. */
  addEntries(batch: EntryBatch): Promise<boolean> {
    return this.#writeAsync(() => this.#writes.history.addEntries(batch), 'NORMAL');
  }

  entries(query: EntryQuery, before: number | null, limit: number): Promise<EntryPage> {
    return this.#read(() => this.#reads.history.page(query, before, limit));
  }

  entry(n: number): Promise<ListedEntry | null> {
    return this.#read(() => this.#reads.history.entry(n));
  }

  revisionOf(prefix: string): Promise<string | null> {
    return this.#read(() => this.#reads.history.revisionOf(prefix));
  }

  seedCounters(batch: SeedBatch): Promise<void> {
    return this.#writeMany(batch.seeds.length, () => seedCounters(this.#writes, batch));
  }

  counters(sinceIdSequence: number): Promise<CounterRow[]> {
    const pace = new Pace();
    return this.#reads.counters.since(sinceIdSequence, async (read) => {
      await pace.step();
      return this.#read(read);
    });
  }

  insertReports(reports: readonly Report[], at: number): Promise<void> {
    return this.#guard(() => this.#intake.insert(reports, at));
  }

  reports(query: ReportQuery): Promise<AtRevision<ReportPage>> {
    return this.#guard(async () => {
      const value = await this.#reads.reports.page(query);
      return { value, revision: this.#reads.state.appliedRevision() };
    });
  }

  expireReports(before: number): Promise<number> {
    const { reports } = this.#writes;
    return dropAll(() =>
      this.#write(() => reports.expireSome(before) + reports.evictSome(this.#maxReportBytes)),
    );
  }

  #read<T>(read: () => T): Promise<T> {
    return this.#guard(() => inSnapshot(this.#connections.reader, read));
  }

  #readAtRevision<T>(read: () => T): Promise<AtRevision<T>> {
    return this.#read(() => ({ value: read(), revision: this.#reads.state.appliedRevision() }));
  }

  #write<T>(work: () => T, level?: Level): Promise<T> {
    const { writer } = this.#connections;
    return this.#guard(() => this.#queue.run(() => inTransaction(writer, this.#counted(work), level)));
  }

  #writeAsync<T>(work: () => Promise<T>, level?: Level): Promise<T> {
    const { writer } = this.#connections;
    return this.#guard(() => this.#queue.run(() => inAsyncTransaction(writer, this.#counted(work), level)));
  }

  /** Writes in a later turn of the event loop. While another thread syncs the log, the next lists gather. */
  async #writeReports(take: () => readonly ReportList[]): Promise<void> {
    this.#checkFiles();
    const { writer } = this.#connections;
    const insert = this.#counted(() => this.#insertLists(take()));
    await withLogSynced(writer, () =>
      this.#queue.run(() => setImmediate().then(() => inAsyncTransaction(writer, insert, 'NORMAL'))),
    );
  }

  /** Inserts reports, and then deletes as many of the oldest as are too many. Yields to other work between reports. */
  async #insertLists(lists: readonly ReportList[]): Promise<void> {
    const { newOid, reports: table, state } = this.#writes;
    const pace = new Pace();
    let lastOid: string | null = null;
    let bytes = 0;
    this.#checkSpace('reports');
    for (const { reports, at } of lists) {
      for (const report of reports) {
        lastOid = newOid(at);
        bytes += table.insert(lastOid, report, at);
        await pace.step();
      }
    }
    if (lastOid === null) return;
    state.setLastOid(lastOid);
    table.grow(bytes);
    while (table.evictSome(this.#maxReportBytes) > 0) await pace.step();
  }

  #writeMany<T>(changes: number, work: () => Promise<T>): Promise<T> {
    if (changes < LARGE_CHANGE) return this.#writeAsync(work);
    const { writer } = this.#connections;
    return this.#guard(() => this.#queue.run(() => inLargeTransaction(writer, this.#counted(work))));
  }

  /** Each transaction checks that the files are still in place, and is counted for `checkLog`. */
  #counted<T>(work: () => T): () => T {
    return () => {
      this.#checkFiles();
      this.#writes.log.advance();
      return work();
    };
  }

  /** Every call goes through this: it rejects once the store is closed, and translates errors of SQLite. */
  async #guard<T>(call: () => T | Promise<T>): Promise<T> {
    if (this.#isClosed) throw closedError();
    try {
      return await call();
    } catch (error) {
      throw storeError(error);
    }
  }
}
