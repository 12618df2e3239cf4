/** The results of `inLanes`, in the order of the items. */
export async function mapInLanes<T, R>(
  lanes: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  await inLanes(lanes, items, async (item, index) => {
    results[index] = await work(item);
  });
  return results;
}

/**
 * Works on items in their order, at most `lanes` of them at once. After a failure no further item begins; once those
 * under way have ended, this rejects with the first failure.
 */
export async function inLanes<T>(
  lanes: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const rest = items.entries();
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const [index, item] of rest) {
      if (failures.length > 0) return;
      await work(item, index).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
}
