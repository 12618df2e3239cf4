import { expect, it } from 'vitest';
import { readOperations } from '../../../src/reconcile/history/operations.ts';
import { change, entry, STATE } from '../../store/contract/entries.ts';
import { useStore } from '../../store/contract/support.ts';
import { openInTemporaryFolder } from '../../store/open-sqlite.ts';

const test = useStore(openInTemporaryFolder);

it('operations come in pages that end early if they gave very many ids, each with all of its ids', async () => {
  const changes = Array.from({ length: 6000 }, (_, index) => change(`device_group/g${index}`));
  const prunes = [1, 2, 4, 5].map((n) => entry(n, { kind: 'prune-all', changes }));
  const entries = [...prunes, entry(3), entry(6, { kind: 'restart' })];
  await test.store.addEntries({ expected: null, next: { ...STATE, newest: 6 }, entries, supersedes: false });
  const page = async (before: number | null, limit: number) => {
    const found = await readOperations(test.store, before, limit);
    return [found.entries.map((each) => [each.n, each.changes.length]), found.isMore];
  };
  expect(await page(null, 1000)).toEqual([
    [
      [6, 1],
      [5, 6000],
      [4, 6000],
    ],
    true,
  ]);
  expect(await page(4, 1000)).toEqual([
    [
      [2, 6000],
      [1, 6000],
    ],
    false,
  ]);
  expect(await page(6, 1)).toEqual([[[5, 6000]], true]);
  expect(await page(1, 1)).toEqual([[], false]);
});
