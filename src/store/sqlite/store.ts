import { Pace } from '../../async/pace.ts';
import type { CounterRow, SeedBatch } from '../../ids/id-store.ts';
import type { Session } from '../../sqlite/session.ts';
import type { Operation } from '../operation.ts';
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
import type { Reads, Writes } from './tables.ts';

/** What a store is made of. */
export interface SqliteStoreParts {
  session: Session;
  reads: Reads;
  writes: Writes;
}

/** The objects of a store in one SQLite file. */
export class SqliteStore implements Store {
  readonly #session: Session;
  readonly #reads: Reads;
  readonly #writes: Writes;

  constructor({ session, reads, writes }: SqliteStoreParts) {
    this.#session = session;
    this.#reads = reads;
    this.#writes = writes;
  }

  async ping(): Promise<void> {
    await this.state();
  }

  /** Rejects as `unavailable` if the files are gone. Passes, probes and replies to devices call this first. */
  async state(): Promise<StoreState> {
    this.#session.checkFiles();
    return this.lastState();
  }

  /** Reads the state even if the files are gone, so that the ids that were given until then can be recorded. */
  lastState(): Promise<StoreState> {
    return this.#session.read(() => this.#reads.state.read());
  }

  /** NORMAL: a loss of power can undo an attempt, which nobody relies on. */
  markAttempted(revision: string, at: number): Promise<void> {
    return this.#session.write(() => this.#writes.state.setAttempted(revision, at), 'NORMAL');
  }

  /** NORMAL: a claim matters only with the `apply` that follows, which is synced. */
  claimHead(expected: number, revision: string, at: number): Promise<number> {
    return this.#session.write(() => claimHead(this.#writes, expected, revision, at), 'NORMAL');
  }

  apply(batch: ApplyBatch): Promise<AssignedId[]> {
    return this.#session.writeMany(batch.steps.length, () => applyBatch(this.#writes, batch));
  }

  appliedObjects(): Promise<AppliedObject[]> {
    const { objects } = this.#reads;
    return this.#session.run(() => objects.parse(objects.all()));
  }

  appNames(): Promise<AtRevision<string[]>> {
    return this.#atRevision(() => this.#reads.objects.names('app'));
  }

  groupNames(): Promise<AtRevision<string[]>> {
    return this.#atRevision(() => this.#reads.objects.names('device_group'));
  }

  app(name: string): Promise<AtRevision<StoredApp | null>> {
    return this.#atRevision(() => this.#reads.objects.app(name));
  }

  group(name: string): Promise<AtRevision<StoredGroup | null>> {
    return this.#atRevision(() => this.#reads.objects.group(name));
  }

  groupInfo(name: string): Promise<GroupInfo | null> {
    const { objects, state } = this.#reads;
    return this.#session.run(async () => {
      this.#session.checkFiles();
      const found = await this.#session.read(() => {
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
    return this.#session.write(() => restartApp(this.#writes, name, context, ifMatch));
  }

  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredGroup> | null> {
    return this.#session.write(() => pruneGroup(this.#writes, name, context, ifMatch));
  }

  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>> {
    return this.#session.writeAsync(() => pruneAll(this.#writes, context));
  }

  logOperation(entry: Operation): Promise<void> {
    return this.#session.write(() => log(this.#writes, entry));
  }

  seedCounters(batch: SeedBatch): Promise<void> {
    return this.#session.writeMany(batch.seeds.length, () => seedCounters(this.#writes, batch));
  }

  counters(sinceIdSequence: number): Promise<CounterRow[]> {
    const pace = new Pace();
    return this.#reads.counters.since(sinceIdSequence, async (read) => {
      await pace.step();
      return this.#session.read(read);
    });
  }

  #atRevision<T>(read: () => T): Promise<AtRevision<T>> {
    return this.#session.read(() => ({ value: read(), revision: this.#reads.state.appliedRevision() }));
  }
}
