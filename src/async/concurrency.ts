/** Like `forEachConcurrently`, but resolves to the results in the order of the items. */
export async function mapConcurrently<T, R>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  await forEachConcurrently(limit, items, async (item, index) => {
    results[index] = await work(item);
  });
  return results;
}

/**
 * Calls `work` for the items in their order, with at most `limit` calls running at once. After a failure no further
 * call begins; once the running ones have ended, this rejects with the first failure.
 */
export async function forEachConcurrently<T>(
  limit: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const rest = items.entries();
  const failures: unknown[] = [];
  const runner = async (): Promise<void> => {
    for (const [index, item] of rest) {
      if (failures.length > 0) return;
      await work(item, index).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runner));
  if (failures.length > 0) throw failures[0];
}
