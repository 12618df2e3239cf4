import { closedError } from '../../errors.ts';
import { type CounterRow, kindOfCounter, type SeedBatch } from '../../ids/id-store.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { keyOf, type ObjectKey } from '../../protocol/name.ts';
import { oidGenerator } from '../object-id.ts';
import type { Operation } from '../operation.ts';
import { applyBatch } from '../rules/apply.ts';
import { claimHead, requireSequence } from '../rules/claim.ts';
import { log, pruneAll, pruneGroup, restartApp } from '../rules/raise.ts';
import { seedCounters } from '../rules/seed.ts';
import type { Served } from '../served.ts';
import type {
  AppliedObject,
  ApplyBatch,
  AssignedId,
  AtRevision,
  ChangedObjects,
  GroupInfo,
  OperationContext,
  SharedStore,
  Store,
  StoredApp,
  StoredGroup,
  StoreState,
} from '../store.ts';
import { Committer, type Draft, requireVersion } from './committer.ts';
import type { Documents, FleetRoot, ObjectDocument } from './documents.ts';
import { FleetReads } from './fleet-reads.ts';
import { WorkingSet } from './working-set.ts';

/** What the store depends on. */
export interface DocumentStoreOptions {
  documents: Documents;
  /** Values for fields that a stored app lacks because they were added later. */
  defaults: AppDefaults;
  /** Returns `size` random bytes. */
  random(size: number): Uint8Array;
  /** Waits, longer with each attempt. */
  pause(attempt: number): Promise<void>;
  /** How many characters of changes a root carries itself; more are staged. */
  inlineLimit: number;
}

const WRITER_BYTES = 12;

/**
 * The store that several managers can share (docs/decisions/0007-one-root-document.md). It caches nothing, so every call sees
 * the writes of other managers.
 */
export class DocumentStore implements Store, SharedStore {
  readonly #options: DocumentStoreOptions;
  readonly #documents: Documents;
  /** Makes the writes of this store, and of all that shares its root. */
  readonly committer: Committer;
  readonly #reads: FleetReads;
  #isClosed = false;

  constructor(options: DocumentStoreOptions) {
    const { documents, defaults, random } = options;
    const newWriter = (): string => Buffer.from(random(WRITER_BYTES)).toString('hex');
    this.#options = options;
    this.#documents = documents;
    this.committer = new Committer(documents, { ...options, newWriter });
    this.#reads = new FleetReads({ documents, committer: this.committer, defaults });
  }

  /** See `DeviceStore.served`. */
  served(): Promise<Served> {
    return this.run(() => this.#reads.served());
  }

  ping(): Promise<void> {
    return this.run(() => this.#documents.ping());
  }

  /** Refuses later calls, and waits for earlier writes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.committer.idle();
  }

  state(): Promise<StoreState> {
    return this.run(() => this.#reads.state());
  }

  markAttempted(revision: string, at: number): Promise<void> {
    return this.#write([], ({ state }) => state.setAttempted(revision, at));
  }

  claimHead(expected: number, revision: string, at: number): Promise<number> {
    return this.#write([], (work) => claimHead(work, expected, revision, at));
  }

  /** Checks the sequence first: an overtaken pass need not read its objects, which can be the whole fleet. */
  apply(batch: ApplyBatch): Promise<AssignedId[]> {
    const keys = [...batch.steps, ...batch.origins].map(({ kind, name }) => keyOf(kind, name));
    const check = (root: FleetRoot): void => requireSequence(root, batch.sequence);
    return this.#write(keys, (work) => applyBatch(work, batch), check);
  }

  appliedObjects(): Promise<AppliedObject[]> {
    return this.run(() => this.#reads.appliedObjects());
  }

  changedObjects(mark: string): Promise<ChangedObjects | null> {
    return this.run(() => this.#reads.changedObjects(mark));
  }

  changedForDevices(since: StoreState): Promise<ObjectKey[] | null> {
    return this.run(() => this.#reads.changedForDevices(since));
  }

  appNames(): Promise<AtRevision<string[]>> {
    return this.run(() => this.#reads.names('app'));
  }

  groupNames(): Promise<AtRevision<string[]>> {
    return this.run(() => this.#reads.names('device_group'));
  }

  app(name: string): Promise<AtRevision<StoredApp | null>> {
    return this.run(() => this.#reads.app(name));
  }

  group(name: string): Promise<AtRevision<StoredGroup | null>> {
    return this.run(() => this.#reads.group(name));
  }

  groupInfo(name: string): Promise<GroupInfo | null> {
    return this.run(() => this.#reads.groupInfo(name));
  }

  restartApp(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredApp> | null> {
    return this.#write([keyOf('app', name)], (work) => restartApp(work, name, context, ifMatch));
  }

  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredGroup> | null> {
    return this.#write([keyOf('device_group', name)], (work) => pruneGroup(work, name, context, ifMatch));
  }

  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>> {
    return this.#write('groups', (work) => pruneAll(work, context));
  }

  logOperation(entry: Operation): Promise<void> {
    return this.#write([], (work) => log(work, entry));
  }

  seedCounters(batch: SeedBatch): Promise<void> {
    const keys = batch.seeds.map(({ kind, name }) => keyOf(kindOfCounter(kind), name));
    return this.#write(keys, (work) => seedCounters(work, batch));
  }

  counters(sinceIdSequence: number): Promise<CounterRow[]> {
    return this.run(() => this.#reads.counters(sinceIdSequence));
  }

  /**
   * Loads the objects that the rules can touch, runs the rules on them, and writes the changes. `check` throws if the
   * root alone shows that the write must be refused.
   */
  #write<T>(
    touched: readonly string[] | 'groups',
    rules: (work: WorkingSet) => T | Promise<T>,
    check: (root: FleetRoot) => void = () => undefined,
  ): Promise<T> {
    const { defaults, random } = this.#options;
    const write = async (root: FleetRoot): Promise<Draft<T>> => {
      check(root);
      const documents = await this.#load(touched);
      requireVersion(root, documents);
      const work = new WorkingSet({ root, documents, newOid: oidGenerator(random, root.lastOid), defaults });
      const result = await rules(work);
      const { fields } = work.state;
      const changes = work.changes();
      const isUnchanged = changes.length === 0 && Object.keys(fields).length === 0;
      return { fields: isUnchanged ? null : fields, changes, result };
    };
    return this.run(() => this.committer.write(write));
  }

  /** Reads the objects with these keys, or all groups. */
  #load(keys: readonly string[] | 'groups'): Promise<ObjectDocument[]> {
    return keys === 'groups'
      ? this.#documents.objectsSince(-1, { kind: 'device_group' })
      : this.#documents.objects(keys);
  }

  /** Runs every call of the store; rejects once the store is closed. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw closedError();
    return call();
  }
}
