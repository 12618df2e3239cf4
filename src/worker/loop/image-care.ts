import { diskUsage } from '../engine/disk.ts';
import { EngineError } from '../engine/engine.ts';
import { unusedImages } from '../plan/images.ts';
import type { Memory } from '../plan/memory.ts';
import type { Actual, Disk, Wanted } from '../plan/model.ts';
import type { Parts } from './parts.ts';
import type { Problems } from './problems.ts';

/** What stopping, renaming and starting containers need: on a full disk, an engine can only stop. */
const ROOM_TO_SWAP = { bytes: 100 * 1024 * 1024, inodes: 0.05 };
/** Percent of the disk that are freed below DISK_HIGH. */
const MARGIN = 5;

/** Removes images that this worker pulled and nothing uses, when a prune asks for it or the disk is full. */
export class ImageCare {
  readonly #parts: Parts;
  readonly #problems: Problems;
  readonly #memory: { get(): Memory; set(change: Partial<Memory>): void };

  constructor(
    parts: Parts,
    problems: Problems,
    memory: { get(): Memory; set(change: Partial<Memory>): void },
  ) {
    this.#parts = parts;
    this.#problems = problems;
    this.#memory = memory;
  }

  /** Looks at the disk with a folder, and removes images, the least recently used first, while it is too full. */
  async careForDisk(folder: string, actual: Actual, wanted: Wanted | null): Promise<Disk> {
    const high = this.#parts.config.DISK_HIGH;
    let usage = await diskUsage(folder);
    if (usage.used * 100 >= high) {
      for (const id of unusedImages(this.#memory.get(), actual, wanted)) {
        if (usage.used * 100 < high - MARGIN) break;
        await this.#remove(id);
        usage = await diskUsage(folder);
      }
    }
    const isHigh = usage.used * 100 >= high;
    if (!isHigh) this.#problems.clear('disk-pressure');
    else this.#warn(`the disk is ${Math.round(usage.used * 100)} % full; DISK_HIGH is ${high}`);
    const hasRoomToSwap = usage.free >= ROOM_TO_SWAP.bytes && usage.freeInodes >= ROOM_TO_SWAP.inodes;
    return { hasRoomToSwap, hasRoomToPull: !isHigh && hasRoomToSwap };
  }

  /** Removes all unused images, and remembers the prune once that is done. An engine that goes away is asked again later. */
  async prune(actual: Actual, wanted: Wanted): Promise<void> {
    let removed = 0;
    try {
      for (const id of unusedImages(this.#memory.get(), actual, wanted))
        if (await this.#remove(id)) removed += 1;
    } catch {
      return;
    }
    this.#parts.logger.info({ removed, prune_id: wanted.pruneId }, 'pruned unused images');
    this.#memory.set({ pruneId: wanted.pruneId });
  }

  #warn(text: string): void {
    if (this.#problems.show('disk-pressure', text)) this.#parts.logger.warn(text);
  }

  async #remove(id: string): Promise<boolean> {
    const { engine, faults, logger } = this.#parts;
    faults.pass('worker-step-begins');
    const isRemoved = await engine.removeImage(id).catch((error: unknown) => {
      // One image that cannot be removed keeps neither the others nor the containers from being cared for.
      if (!(error instanceof EngineError) || error.code === 'unavailable') throw error;
      logger.warn({ image: id, reason: error.message }, 'an unused image could not be removed');
      return false;
    });
    faults.pass('worker-step-done');
    if (!isRemoved) return false;
    const { [id]: gone, ...pulled } = this.#memory.get().pulled;
    logger.info({ image: gone?.reference ?? id }, 'removed an unused image');
    this.#memory.set({ pulled });
    return true;
  }
}
