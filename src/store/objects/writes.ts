import { kindOfCounter, type SeedBatch } from '../../ids/id-store.ts';
import { keyOf } from '../../protocol/name.ts';
import type { FleetState } from '../fleet.ts';
import type { Operation } from '../operation.ts';
import type {
  ApplyBatch,
  AssignedId,
  AtRevision,
  OperationContext,
  OperationStore,
  PassStore,
  StoredApp,
  StoredGroup,
} from './port.ts';
import { applyBatch } from './rules/apply.ts';
import { claimHead, requireSequence } from './rules/claim.ts';
import { log, pruneAll, raiseId } from './rules/raise.ts';
import { seedCounters } from './rules/seed.ts';
import type { WorkingSet } from './rules/working-set.ts';

/** A write: what it can touch, and what the rules make of that. */
export interface Write<T> {
  /** The keys of objects, or all groups. */
  keys: readonly string[] | 'groups';
  rules(work: WorkingSet): T | Promise<T>;
  /** Throws if the state alone shows that the write must be refused. */
  check?(state: FleetState): void;
  /** Whether a loss of power may undo it. */
  isLosable?: boolean;
}

type Writes = OperationStore & Pick<PassStore, 'markAttempted' | 'claimHead' | 'apply' | 'seedCounters'>;

/** The writes of objects and ids, the same for every store. */
export abstract class ObjectWrites implements Writes {
  /** Loads what the write can touch, runs the rules on it, and puts the changes; all in one transaction. */
  protected abstract write<T>(write: Write<T>): Promise<T>;

  /** A loss of power can undo an attempt, which nobody relies on. */
  markAttempted(revision: string, at: number): Promise<void> {
    return this.write({
      keys: [],
      rules: (work) => work.set({ attempted: { revision, at } }),
      isLosable: true,
    });
  }

  /** A claim matters only with the `apply` that follows. */
  claimHead(expected: number, revision: string, at: number): Promise<number> {
    return this.write({
      keys: [],
      rules: (work) => claimHead(work, expected, revision, at),
      isLosable: true,
    });
  }

  /** Checks the sequence first: an overtaken pass need not read its objects, which can be the whole fleet. */
  apply(batch: ApplyBatch): Promise<AssignedId[]> {
    return this.write({
      keys: [...batch.steps, ...batch.origins].map(({ kind, name }) => keyOf(kind, name)),
      check: (state) => requireSequence(state, batch.sequence),
      rules: (work) => applyBatch(work, batch),
    });
  }

  restartApp(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredApp> | null> {
    return this.write({
      keys: [keyOf('app', name)],
      rules: (work) => raiseId(work, 'restart', name, context, ifMatch) as AtRevision<StoredApp> | null,
    });
  }

  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredGroup> | null> {
    return this.write({
      keys: [keyOf('device_group', name)],
      rules: (work) => raiseId(work, 'prune', name, context, ifMatch) as AtRevision<StoredGroup> | null,
    });
  }

  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>> {
    return this.write({ keys: 'groups', rules: (work) => pruneAll(work, context) });
  }

  logOperation(entry: Operation): Promise<void> {
    return this.write({ keys: [], rules: (work) => log(work, entry) });
  }

  seedCounters(batch: SeedBatch): Promise<void> {
    return this.write({
      keys: batch.seeds.map(({ kind, name }) => keyOf(kindOfCounter(kind), name)),
      rules: (work) => seedCounters(work, batch),
    });
  }
}
