import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Bench, Line } from '../bench.ts';
import { makeFleet } from '../fleet.ts';
import { sendEach } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { median, ms, percentile, perSecond, timed, times } from '../statistics.ts';

const AT_ONCE = 100;
const TOTAL = 1_000_000;
const HOSTS = 9000;
const GROUPS = 500;
const START = 1_700_000_000;
/** So many that one slow page does not decide the p99. */
const PAGES = 400;
/** Pages that are left out: the client is a new process for each filter. */
const WARM_UP = 50;

/** A million reports: inserting them, and reading pages at random places. */
export async function reports(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  const taken = await timed(() => insertAll(manager));
  const rate = (TOTAL / taken) * 1000;
  bench.say(`${TOTAL} reports in ${ms(taken)}`);
  const insertLine: Line = {
    row: 'reports: insert in arrays of 100',
    measured: perSecond(rate),
    baseline: '-',
    ratio: '',
    target: '>= 20,000/s',
    met: rate >= 20_000,
  };
  const db = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'), { readOnly: true });
  try {
    const lines: Line[] = [insertLine];
    for (const filter of FILTERS) lines.push(await pageLine(bench, manager, db, filter));
    return lines;
  } finally {
    db.close();
  }
}

async function insertAll(manager: Manager): Promise<void> {
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < TOTAL) {
      const from = next;
      next += AT_ONCE;
      await manager.request(
        'POST',
        '/api/v2/reports',
        Array.from({ length: AT_ONCE }, (_, i) => report(from + i)),
      );
    }
  };
  await Promise.all([sender(), sender(), sender(), sender()]);
}

function report(index: number): Record<string, unknown> {
  return {
    hostname: `device-${index % HOSTS}`,
    device_group: `group-${index % GROUPS}`,
    report_creation_time: START + index,
    updated: index % 2 === 0,
    report: { cpu: index % 100, memory: 512, apps: ['web', 'cache'] },
  };
}

/** A filter of the API, and the same condition in SQL; `place` is the position of a report. */
interface Filter {
  name: string;
  query(place: number): string;
  where: string;
  values(place: number): (string | number)[];
}

const FILTERS: readonly Filter[] = [
  { name: 'none', query: () => '', where: '1', values: () => [] },
  {
    name: 'hostname',
    query: (place) => `&hostname=device-${place % HOSTS}`,
    where: 'hostname = ?',
    values: (place) => [`device-${place % HOSTS}`],
  },
  {
    name: 'device_group',
    query: (place) => `&device_group=group-${place % GROUPS}`,
    where: 'device_group = ?',
    values: (place) => [`group-${place % GROUPS}`],
  },
  {
    name: 'time',
    query: (place) => `&report_creation_time=${START + place}&report_creation_time_filter=gt`,
    where: 'created > ?',
    values: (place) => [START + place],
  },
  { name: 'updated', query: () => '&updated=true', where: 'updated = ?', values: () => [1] },
];

async function pageLine(
  bench: Bench,
  manager: Manager,
  db: InstanceType<typeof DatabaseSync>,
  filter: Filter,
): Promise<Line> {
  const oidAt = db.prepare('SELECT oid FROM reports WHERE seq = ?');
  const plain = db.prepare(
    `SELECT oid, body FROM reports WHERE ${filter.where} AND seq > ? ORDER BY seq LIMIT 100`,
  );
  const places = Array.from(
    { length: WARM_UP + PAGES },
    () => 1 + Math.floor((Math.random() * TOTAL * 9) / 10),
  );
  const paths = places.map((place) => {
    const { oid } = oidAt.get(place) as { oid: string };
    return `/api/v2/reports?page_size=100&last_id=${oid}${filter.query(place)}`;
  });
  const ours = (await sendEach(bench, manager.address, paths)).slice(WARM_UP);
  const theirs: number[] = [];
  for (const place of places.slice(WARM_UP))
    theirs.push(await timed(async () => plain.all(...filter.values(place), place)));
  const p99 = percentile(ours, 0.99);
  return {
    row: `reports: page of 100, filter ${filter.name}, of 1,000,000`,
    measured: `p50 ${ms(median(ours))}, p99 ${ms(p99)}`,
    baseline: `p50 ${ms(median(theirs))} the SELECT`,
    ratio: times(median(ours) / median(theirs)),
    target: 'p99 <= 5 ms',
    met: p99 <= 5,
  };
}
