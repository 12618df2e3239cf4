import type { Memory } from './memory.ts';
import type { Actual, Wanted } from './model.ts';

/**
 * Returns the ids of images that may go: this worker pulled them, no container uses them, no wanted app has them, and
 * none is kept to go back to. The least recently used come first.
 */
export function unusedImages(memory: Memory, actual: Actual, wanted: Wanted | null): string[] {
  const used = new Set([
    ...actual.containers.map(({ imageId }) => imageId),
    ...actual.foreign.map(({ imageId }) => imageId),
    ...Object.values(memory.apps).flatMap(({ good, staged }) => [good?.imageId, staged?.imageId]),
    ...(wanted?.apps ?? []).map(({ record }) => actual.images.byReference.get(record?.container_image ?? '')),
  ]);
  return Object.entries(memory.pulled)
    .filter(([id]) => actual.images.ids.has(id) && !used.has(id))
    .toSorted(([, a], [, b]) => a.lastUse - b.lastUse)
    .map(([id]) => id);
}

/**
 * Returns the memory without images that are gone, whoever removed them. `before`: the images that were known when the
 * look began, which has not seen what was pulled since.
 */
export function forgetImages(memory: Memory, actual: Actual, before: Memory['pulled']): Memory {
  if (actual.blind !== null) return memory;
  const isKept = ([id, image]: [string, Memory['pulled'][string]]): boolean =>
    actual.images.ids.has(id) || before[id] !== image;
  const kept = Object.entries(memory.pulled).filter(isKept);
  if (kept.length === Object.keys(memory.pulled).length) return memory;
  return { ...memory, pulled: Object.fromEntries(kept) };
}
