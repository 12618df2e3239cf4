import { EngineError } from '../engine/engine.ts';
import { type DiskUsage, diskUsage } from '../machine.ts';
import type { Parts } from '../parts.ts';
import { unusedImages } from '../plan/images.ts';
import type { Memory } from '../plan/memory.ts';
import type { Actual, Disk, Wanted } from '../plan/model.ts';
import type { Problems } from './problems.ts';
import { wallTimeOf } from './time.ts';

/** What stopping, renaming and starting containers need: on a full disk, an engine can only stop. */
const ROOM_TO_SWAP = { bytes: 100 * 1024 * 1024, inodes: 0.05 };
/** Percent of the disk that are freed below DISK_HIGH. */
const MARGIN = 5;
/** Percent of the disk above which images go, even if DISK_HIGH is higher. */
const ALMOST_FULL = 95;

/** What a look at the disk goes by. */
interface Need {
  actual: Actual;
  wanted: Wanted | null;
  /** Whether a pull has failed for want of room. */
  isShort: boolean;
}

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

  /**
   * Looks at the disk with a folder, and removes images, the least recently used first, until nothing is missing there; for
   * a pull that failed, one more. Resolves to what is left, and to how many were removed.
   */
  async careForDisk(folder: string, need: Need): Promise<{ disk: Disk; removed: number }> {
    const { DISK_HIGH: high } = this.#parts.config;
    const limit = Math.min(high, ALMOST_FULL);
    let usage = await diskUsage(folder);
    const isTooFull = lackOf(usage, limit) !== null;
    let removed = 0;
    const isEnough = (): boolean => (isTooFull ? lackOf(usage, limit - MARGIN) === null : removed > 0);
    for (const id of isTooFull || need.isShort ? this.#unused(need) : []) {
      if (isEnough()) break;
      if (await this.#remove(id)) removed += 1;
      usage = await diskUsage(folder);
    }
    const lack = lackOf(usage, high);
    this.#show(lack, usage, need.isShort && removed === 0);
    return { disk: { hasRoomToSwap: roomLackOf(usage) === null, lack }, removed };
  }

  #unused({ actual, wanted }: Pick<Need, 'actual' | 'wanted'>): string[] {
    return unusedImages(this.#memory.get(), actual, wanted);
  }

  #show(lack: string | null, usage: DiskUsage, isShort: boolean): void {
    const { config, logger } = this.#parts;
    const free = `${sizeText(usage.free)} of ${sizeText(usage.total)} are free`;
    const pressure = isShort ? `a pull needs more room than there is: ${free}` : null;
    const text =
      lack === null ? pressure : `${lack}, and no unused image is left to remove; nothing is pulled`;
    if (text === null) {
      this.#problems.clear('disk-pressure');
      return;
    }
    const isNew = !this.#problems.has('disk-pressure');
    const next = wallTimeOf(this.#parts) + config.ORCHESTRATOR_MANAGER_CHECK_IN_TIME;
    this.#problems.show('disk-pressure', text, next);
    if (isNew) logger.warn(text);
  }

  /** Removes all unused images, and remembers the prune once that is done. An engine that goes away is asked again later. */
  async prune(actual: Actual, wanted: Wanted): Promise<void> {
    let removed = 0;
    try {
      for (const id of this.#unused({ actual, wanted })) if (await this.#remove(id)) removed += 1;
    } catch {
      return;
    }
    this.#parts.logger.info({ removed, prune_id: wanted.pruneId }, 'pruned unused images');
    this.#memory.set({ pruneId: wanted.pruneId });
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

/** Returns what a disk lacks; null if it lacks nothing. `limit`: percent of it that may be used. */
function lackOf(usage: DiskUsage, limit: number): string | null {
  const { used, free, total } = usage;
  if (used * 100 < limit) return roomLackOf(usage);
  const percent = Math.floor(used * 100);
  return `the disk is ${percent} % full (${sizeText(free)} of ${sizeText(total)} are free), and may be ${limit} %`;
}

function roomLackOf({ free, freeInodes }: DiskUsage): string | null {
  if (free < ROOM_TO_SWAP.bytes)
    return `the disk has ${sizeText(free)} free, and needs ${sizeText(ROOM_TO_SWAP.bytes)} to replace containers`;
  if (freeInodes < ROOM_TO_SWAP.inodes)
    return `the disk can hold few more files: ${Math.floor(freeInodes * 100)} % of its inodes are free, and 5 % are needed`;
  return null;
}

function sizeText(bytes: number): string {
  const mebibytes = bytes / 2 ** 20;
  return mebibytes < 10_240 ? `${Math.round(mebibytes)} MiB` : `${Math.round(mebibytes / 1024)} GiB`;
}
