import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { NewAct } from '../../../src/store/act.ts';
import { Acts } from '../../../src/store/history/sqlite-acts.ts';
import type { Bench, Line } from '../bench.ts';
import { makeFleet } from '../fleet.ts';
import { startManager } from '../manager.ts';
import { median, ms, percentile, timed, times } from '../statistics.ts';
import { writeOnce } from './writes.ts';

const APPS = 10_000;
const WRITES = 40;
/** Acts of a figure, and those before them, so that the table has a size. */
const COUNT = 2000;
const BEFORE = 20_000;

/**
 * What its act adds to a write: the same transaction, synced as the store does it, with and without the act's own
 * statements, on a copy of the store's file; and the whole write beside it.
 */
export async function acts(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, APPS, APPS / 20);
  const manager = await startManager(bench, { folder: fleet.folder });
  const writes: number[] = [];
  for (let index = 0; index < WRITES; index++) writes.push(await timed(() => writeOnce(manager, index)));
  await manager.stop();
  const db = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'));
  try {
    return [actLine(measureTransactions(db), median(writes.slice(8)))];
  } finally {
    db.close();
  }
}

interface Transactions {
  /** Milliseconds of each. */
  plain: number[];
  withAct: number[];
}

/** Alternates between a transaction that changes one app and one that adds its act, too. */
function measureTransactions(db: InstanceType<typeof DatabaseSync>): Transactions {
  db.exec('PRAGMA synchronous = FULL');
  const table = new Acts(db);
  const touch = db.prepare("UPDATE objects SET content = content WHERE kind = 'app' AND name = ?");
  const transaction = (index: number, isTold: boolean): number => {
    const start = performance.now();
    db.exec('BEGIN IMMEDIATE');
    touch.run(`app-${String(index % APPS).padStart(6, '0')}`);
    if (isTold) table.add(actAt(index));
    db.exec('COMMIT');
    return performance.now() - start;
  };
  db.exec('BEGIN IMMEDIATE');
  for (let index = 0; index < BEFORE; index++) table.add(actAt(index));
  db.exec('COMMIT');
  const found: Transactions = { plain: [], withAct: [] };
  for (let index = 0; index < COUNT; index++) {
    found.plain.push(transaction(index, false));
    found.withAct.push(transaction(index, true));
  }
  return found;
}

function actAt(index: number): NewAct {
  const file = { path: `apps/team-0001/app-${index}.yaml`, blob: String(index).padStart(40, '0') };
  const change = { kind: 'app', name: `app-${index}`, change: 'update', id: index } as const;
  return {
    at: index,
    idSequence: index,
    applied: { revision: file.blob, before: file.blob, branch: 'main' },
    operation: null,
    held: [],
    changes: [{ ...change, fields: ['container_image'], before: file, after: file }],
    effects: [{ app: `app-${index}`, action: 'restart', groups: ['group-00001'] }],
  };
}

function actLine({ plain, withAct }: Transactions, write: number): Line {
  const [a, b] = [median(withAct), median(plain)];
  return {
    row: 'acts: transaction of a write with its act',
    measured: `p50 ${ms(a)}, p99 ${ms(percentile(withAct, 0.99))}: ${ms(a - b)} more, of ${ms(write)} of a write`,
    baseline: `p50 ${ms(b)}, p99 ${ms(percentile(plain, 0.99))} without`,
    ratio: times(a / b),
    target: '<= 1 ms more',
    met: a - b <= 1,
  };
}
