import type { AppDefaults } from '../../desired/app.ts';
import { type Kind, keyOf } from '../../desired/name.ts';
import { objectIds } from '../object-id.ts';
import { applyBatch } from '../rules/apply.ts';
import { pruneAll, pruneGroup, restartApp } from '../rules/raise.ts';
import { seedCounters } from '../rules/seed.ts';
import type {
  ApplyBatch,
  AtRevision,
  CounterSeed,
  Followed,
  GivenId,
  NewOperation,
  OperationContext,
  StoredApp,
  StoredGroup,
} from '../store.ts';
import { type Committer, type Draft, requireVersion } from './committer.ts';
import type { Documents, FleetHead, ObjectDocument } from './documents.ts';
import { requireSequence } from './head-work.ts';
import { WorkingSet } from './working-set.ts';

/** What writes of the fleet work with. */
export interface FleetOptions {
  documents: Documents;
  committer: Committer<FleetHead>;
  defaults: AppDefaults;
  random(size: number): Uint8Array;
}

/** How many documents are asked for at once. */
const CHUNK = 1000;

/** Everything that changes what devices are told, or the log of who changed it. */
export class FleetWrites {
  readonly #options: FleetOptions;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  markAttempted(revision: string, at: number): Promise<void> {
    return this.#writeHead(() => ({ fields: { attempted: { revision, at } }, result: undefined }));
  }

  claimHead(expected: number, revision: string, at: number): Promise<number> {
    return this.#writeHead((head) => {
      requireSequence(head, expected);
      const sequence = expected + 1;
      const fields = { sequence, claimed: revision, attempted: { revision, at } };
      return { fields, result: sequence };
    });
  }

  apply(batch: ApplyBatch): Promise<GivenId[]> {
    const keys = [...batch.steps, ...batch.origins].map(({ kind, name }) => keyOf(kind, name));
    return this.#write(
      (head) => {
        requireSequence(head, batch.sequence);
        return this.#documents(keys);
      },
      (work) => applyBatch(work, batch),
    );
  }

  restartApp(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredApp> | null> {
    return this.#write(
      () => this.#documents([keyOf('app', name)]),
      (work) => restartApp(work, name, context, ifMatch),
    );
  }

  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch: readonly string[] | null = null,
  ): Promise<AtRevision<StoredGroup> | null> {
    return this.#write(
      () => this.#documents([keyOf('device_group', name)]),
      (work) => pruneGroup(work, name, context, ifMatch),
    );
  }

  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>> {
    return this.#write(
      () => this.#options.documents.objectsSince(-1, 'device_group', true),
      (work) => pruneAll(work, context),
    );
  }

  seedCounters(
    seeds: readonly CounterSeed[],
    idSequence: number,
    floorOfOthers: number,
    followed: Followed | null,
  ): Promise<void> {
    const keys = seeds.map(({ kind, name }) => keyOf(kindOf(kind), name));
    return this.#write(
      () => this.#documents(keys),
      (work) => seedCounters(work, seeds, idSequence, floorOfOthers, followed),
    );
  }

  logOperation(entry: NewOperation): Promise<void> {
    return this.#write(
      () => Promise.resolve([]),
      ({ operations }) => operations.add(entry),
    );
  }

  #writeHead<T>(work: (head: FleetHead) => { fields: Partial<FleetHead>; result: T }): Promise<T> {
    const { committer } = this.#options;
    return committer.write((head) => Promise.resolve({ changes: [], ...work(head) }));
  }

  /** Loads what the rules may touch, lets them work on it, and drafts what they changed. */
  #write<T>(
    load: (head: FleetHead) => Promise<ObjectDocument[]>,
    rules: (work: WorkingSet) => T | Promise<T>,
  ): Promise<T> {
    const { committer, defaults, random } = this.#options;
    return committer.write(async (head): Promise<Draft<FleetHead, T>> => {
      const documents = await load(head);
      requireVersion(head, documents);
      const newOid = objectIds(random, head.lastOid);
      const work = new WorkingSet({ head, documents, newOid, defaults });
      const result = await rules(work);
      const changes = work.changes();
      const isNothing = changes.length === 0 && Object.keys(work.state.fields).length === 0;
      return { fields: isNothing ? null : work.state.fields, changes, result };
    });
  }

  async #documents(ids: readonly string[]): Promise<ObjectDocument[]> {
    const unique = [...new Set(ids)];
    const found: ObjectDocument[] = [];
    for (let start = 0; start < unique.length; start += CHUNK) {
      found.push(...(await this.#options.documents.objects(unique.slice(start, start + CHUNK))));
    }
    return found;
  }
}

function kindOf(kind: CounterSeed['kind']): Kind {
  return kind === 'prune' ? 'device_group' : kind;
}
