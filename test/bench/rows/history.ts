import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Bench, Line } from '../bench.ts';
import { APPS, addOldEntries, entryAt, GROUPS, TOTAL } from '../entries.ts';
import { appName, groupName, makeFleet } from '../fleet.ts';
import { sendEach } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { median, ms, percentile, timed, times } from '../statistics.ts';

const PAGE = 50;
/** Pages for a figure, at random places of the history, of which the first `WARM_UP` are left out. */
const PAGES = 120;
const WARM_UP = 20;

/** Pages of a history of 100,000 entries, by each filter: the first page, and one from far back. */
export async function history(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, APPS, GROUPS);
  const manager = await startManager(bench, { folder: fleet.folder });
  await manager.request('GET', '/api/v2/history');
  await manager.stop();
  const path = join(manager.dataFolder, 'store.sqlite');
  bench.say(`${TOTAL} entries in ${ms(await timed(() => addOldEntries(path)))}`);
  const again = await startManager(bench, { folder: fleet.folder, dataFolder: manager.dataFolder });
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const select = await plainPages(db);
    const lines: Line[] = [];
    for (const filter of FILTERS) lines.push(await pageLine(bench, again, filter, select));
    return lines;
  } finally {
    db.close();
  }
}

/** A filter of the API; `place` is that of an entry which it finds. */
interface Filter {
  name: string;
  query(place: number): string;
}

const FILTERS: readonly Filter[] = [
  { name: 'none', query: () => '' },
  { name: 'object', query: (place) => `&object=app/${appName(entryAt.app(place))}` },
  { name: 'group', query: (place) => `&group=${groupName(entryAt.group(place))}` },
  { name: 'kind', query: () => '&kind=restart,prune' },
  { name: 'kind without entries', query: () => '&kind=refused' },
  { name: 'actor', query: (place) => `&actor=${entryAt.person(place)}` },
  { name: 'field', query: (place) => `&field=${entryAt.field(place)}` },
  {
    name: 'object and field',
    query: (place) => `&object=app/${appName(entryAt.app(place))}&field=${entryAt.field(place)}`,
  },
  {
    name: 'since and until',
    query: (place) => `&since=${iso(entryAt.at(place - 2000))}&until=${iso(entryAt.at(place))}`,
  },
  { name: 'q, a word of all', query: () => '&q=shops' },
  { name: 'q, a name', query: (place) => `&q=${appName(entryAt.app(place))}` },
  { name: 'revision', query: (place) => `&revision=${entryAt.revision(place)}` },
  { name: 'request_id', query: (place) => `&request_id=${entryAt.request(place)}` },
  {
    name: 'actor, kind and field',
    query: (place) => `&actor=${entryAt.person(place)}&kind=commit&field=running`,
  },
];

async function pageLine(bench: Bench, manager: Manager, filter: Filter, select: number): Promise<Line> {
  const places = randomPlaces();
  const first = places.map((place) => `/api/v2/history?page_size=${PAGE}${filter.query(place)}`);
  // Entries count down from 0.
  const deep = first.map((path, index) => `${path}&after=${(places[index] ?? 0) - TOTAL}`);
  const [ofFirst, ofDeep] = [await send(bench, manager, first), await send(bench, manager, deep)];
  const p99 = Math.max(percentile(ofFirst, 0.99), percentile(ofDeep, 0.99));
  const figures = (values: number[]): string => `${ms(median(values))}, p99 ${ms(percentile(values, 0.99))}`;
  return {
    row: `history: page of ${PAGE} of 100,000 entries, filter ${filter.name}`,
    measured: `first p50 ${figures(ofFirst)}; deep p50 ${figures(ofDeep)}`,
    baseline: `${ms(select)} the SELECT without filter`,
    ratio: times(median(ofFirst) / select),
    target: 'p99 <= 50 ms',
    met: p99 <= 50,
  };
}

async function send(bench: Bench, manager: Manager, paths: string[]): Promise<number[]> {
  return (await sendEach(bench, manager.address, paths)).slice(WARM_UP);
}

/** The milliseconds that reading a page from the file takes, without a filter. */
async function plainPages(db: InstanceType<typeof DatabaseSync>): Promise<number> {
  const statement = db.prepare(
    'SELECT n, body FROM entry_bodies WHERE part = 0 AND n < ? ORDER BY n DESC LIMIT ?',
  );
  const taken: number[] = [];
  for (const place of randomPlaces()) taken.push(await timed(async () => statement.all(place - TOTAL, PAGE)));
  return median(taken.slice(WARM_UP));
}

/** Of commits by the API, which each filter of one entry finds. */
function randomPlaces(): number[] {
  return Array.from({ length: PAGES }, () => 2000 + 10 * Math.floor((Math.random() * (TOTAL - 2000)) / 10));
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
