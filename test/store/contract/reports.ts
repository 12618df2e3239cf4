import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/protocol/report.ts';
import {
  type ReportQuery,
  type StoredReport,
  TIME_COMPARISONS,
  type TimeComparison,
} from '../../../src/store/reports/report.ts';
import type { FlatStore } from '../../support/flat-store.ts';
import { AT, app, appStep, type OpenStore, pass, useStore, withStore } from './support.ts';

const MEBIBYTE = 1_048_576;

function report(time: number, fields: Record<string, unknown> = {}): Report {
  return { hostname: 'h1', device_group: 'edge', report_creation_time: time, ...fields };
}

/** All pages of a query, one after another. */
async function pages(store: FlatStore, query: ReportQuery): Promise<StoredReport[][]> {
  const all: StoredReport[][] = [];
  let after: string | null = query.after ?? null;
  do {
    const value = await store.reports(after === null ? query : { ...query, after });
    all.push(value.data);
    after = value.lastId;
  } while (after !== null);
  return all;
}

async function allReports(store: FlatStore): Promise<StoredReport[]> {
  return (await pages(store, { pageSize: 1000 })).flat();
}

const COMPARE: Record<TimeComparison, (a: number, b: number) => boolean> = {
  eq: (a, b) => a === b,
  gt: (a, b) => a > b,
  lt: (a, b) => a < b,
  gte: (a, b) => a >= b,
  lte: (a, b) => a <= b,
  ne: (a, b) => a !== b,
};

/** Whether a report matches a query: the simplest possible implementation. */
function matches({ hostname, deviceGroup, creationTime, updated }: ReportQuery, one: Report): boolean {
  return (
    (hostname === undefined || one.hostname === hostname) &&
    (deviceGroup === undefined || one.device_group === deviceGroup) &&
    (updated === undefined || one.updated === updated) &&
    (creationTime === undefined ||
      COMPARE[creationTime.comparison](one.report_creation_time, creationTime.seconds))
  );
}

const hostname = fc.constantFrom('h1', 'h2', 'H1', 'ü');
const deviceGroup = fc.constantFrom('edge', 'lab');
const time = fc.integer({ min: 0, max: 4 });

const anyReport: fc.Arbitrary<Report> = fc.record(
  {
    hostname,
    device_group: deviceGroup,
    report_creation_time: time,
    updated: fc.constantFrom(true, false, 'true'),
  },
  { requiredKeys: ['hostname', 'device_group', 'report_creation_time'] },
) as fc.Arbitrary<Report>;

const anyQuery: fc.Arbitrary<ReportQuery> = fc.record(
  {
    pageSize: fc.integer({ min: 1, max: 7 }),
    hostname,
    deviceGroup,
    creationTime: fc.record({ comparison: fc.constantFrom(...TIME_COMPARISONS), seconds: time }),
    updated: fc.boolean(),
  },
  { requiredKeys: ['pageSize'] },
) as fc.Arbitrary<ReportQuery>;

/** The query's pages, from the start and from the middle, have exactly the reports that match. */
async function expectFiltered(
  store: FlatStore,
  query: ReportQuery,
  all: readonly StoredReport[],
): Promise<void> {
  const expected = all.filter((one) => matches(query, one.report));
  const found = await pages(store, query);
  expect(found.flat()).toEqual(expected);
  expect(found.length).toBe(Math.max(1, Math.ceil(expected.length / query.pageSize)));
  const middle = all[Math.floor(all.length / 2)]?.oid ?? '0'.repeat(24);
  const rest = await pages(store, { ...query, after: middle });
  expect(rest.flat()).toEqual(expected.filter(({ oid }) => oid > middle));
}

export function reportsContract(open: OpenStore): void {
  const test = useStore(open);

  describe('reports', () => {
    it('are an empty last page if the store is empty', async () => {
      const empty = { data: [], lastId: null };
      expect(await test.store.reports({ pageSize: 10 })).toEqual(empty);
      expect(await test.store.reports({ pageSize: 10, after: 'f'.repeat(24) })).toEqual(empty);
      const creationTime = { comparison: 'gte', seconds: 0 } as const;
      expect(await test.store.reports({ pageSize: 10, creationTime })).toEqual(empty);
    });

    it('are kept as they were sent', async () => {
      const sent = report(5, {
        memory_usage: { total: 7.5, used: null },
        apps_containers: [{ name: 'ü 🚀 \0 "', 'a.b': { $gt: '' } }],
        constructor: 'x',
        _id: 'mine',
        oid: 3,
      });
      await test.store.insertReports([sent], AT);
      const [kept] = await allReports(await test.reopen());
      expect(kept?.report).toEqual(sent);
      expect(Object.keys(kept?.report ?? {})).toEqual(Object.keys(sent));
      expect(kept?.oid).toMatch(/^[0-9a-f]{24}$/);
      expect(kept?.receivedAt).toBe(AT);
    });

    it.each([1, 4, 5, 6, 1000])(
      'come in pages of at most six if they are large, and none is left out: page_size %i',
      async (pageSize) => {
        const sent = Array.from({ length: 10 }, (_, time) => report(time, { log: 'ä"'.repeat(250_000) }));
        for (const one of sent) await test.store.insertReports([one], AT);
        const found = await pages(test.store, { pageSize });
        expect(found.flat().map((one) => one.report.report_creation_time)).toEqual(
          sent.map((_, time) => time),
        );
        for (const page of found) {
          expect(page.length).toBeGreaterThan(0);
          expect(page.length).toBeLessThanOrEqual(Math.min(pageSize, 6));
        }
      },
    );

    it('come in ascending order of _id, which is the order of their arrival', async () => {
      await test.store.insertReports([report(9), report(8)], AT);
      await test.store.insertReports([report(7)], AT - 60_000);
      const store = await test.reopen();
      await store.insertReports([report(6), report(5)], AT - 120_000);
      const all = await allReports(store);
      expect(all.map(({ report: { report_creation_time } }) => report_creation_time)).toEqual([
        9, 8, 7, 6, 5,
      ]);
      const oids = all.map(({ oid }) => oid);
      expect(oids).toEqual([...oids].sort());
      expect(new Set(oids).size).toBe(5);
    });

    it('get an _id above those of expired reports', async () => {
      await test.store.insertReports([report(1)], AT);
      const { oid } = (await allReports(test.store))[0]!;
      await test.store.expireReports(AT + 1);
      const store = await test.reopen();
      await store.insertReports([report(2)], AT - 1_000_000);
      expect((await allReports(store))[0]!.oid > oid).toBe(true);
    });

    it('get an _id above those of deleted objects', async () => {
      await pass(test.store, [appStep('web', app('nginx'))]);
      const { oid } = (await test.store.object('app', 'web')).value!;
      await pass(test.store, [appStep('web', null)]);
      const store = await test.reopen();
      await store.insertReports([report(1)], AT - 1_000_000);
      expect((await allReports(store))[0]!.oid > oid).toBe(true);
    });

    it('come in pages, and only the last one has no lastId', async () => {
      await test.store.insertReports(
        Array.from({ length: 6 }, (_, index) => report(index)),
        AT,
      );
      expect((await pages(test.store, { pageSize: 4 })).map((page) => page.length)).toEqual([4, 2]);
      expect((await pages(test.store, { pageSize: 3 })).map((page) => page.length)).toEqual([3, 3]);
      expect((await pages(test.store, { pageSize: 6 })).map((page) => page.length)).toEqual([6]);
      const value = await test.store.reports({ pageSize: 4 });
      expect(value.lastId).toBe(value.data[3]!.oid);
    });

    it('continue after an id that has expired or never existed, in lower or upper case', async () => {
      await test.store.insertReports([report(1), report(2)], AT);
      await test.store.insertReports([report(3)], AT + 5000);
      const [first, , third] = await allReports(test.store);
      await test.store.expireReports(AT + 1);
      const reportsAfter = async (id: string) => (await test.store.reports({ pageSize: 5, after: id })).data;
      for (const id of [first!.oid, '0'.repeat(24)]) {
        expect(await reportsAfter(id)).toEqual([third]);
        expect(await reportsAfter(id.toUpperCase())).toEqual([third]);
      }
      expect(await reportsAfter(third!.oid.toUpperCase())).toEqual([]);
      expect(await reportsAfter('F'.repeat(24))).toEqual([]);
    });

    it('are stored all or none', async () => {
      const cyclic: Record<string, unknown> = {};
      cyclic['self'] = cyclic;
      const call = test.store.insertReports([report(1), report(2, { cyclic })], AT);
      await expect(call).rejects.toThrow();
      expect(await allReports(test.store)).toEqual([]);
      await test.store.insertReports([], AT);
      expect(await allReports(test.store)).toEqual([]);
    });

    it('are all stored if many lists arrive at once, and each list stays together', async () => {
      const lists = Array.from({ length: 8 }, (_, list) => Array.from({ length: 25 }, () => report(list)));
      await Promise.all(lists.map((list) => test.store.insertReports(list, AT)));
      const times = (await allReports(test.store)).map((one) => one.report.report_creation_time);
      expect(times).toHaveLength(200);
      const changes = times.filter((value, index) => value !== times[index - 1]);
      expect(changes).toHaveLength(8);
    });

    it('match a query exactly as a filter in JavaScript does, on all pages', async () => {
      const lists = fc.array(fc.array(anyReport, { maxLength: 20 }), { maxLength: 3 });
      const property = fc.asyncProperty(lists, fc.array(anyQuery, { maxLength: 12 }), (sent, queries) =>
        withStore(open, async ({ store }) => {
          for (const list of sent) await store.insertReports(list, AT);
          const all = await allReports(store);
          expect(all.map((one) => one.report)).toEqual(sent.flat());
          for (const query of queries) await expectFiltered(store, query, all);
        }),
      );
      await fc.assert(property, { numRuns: 40 });
    });

    it('come in pages of 1000, with and without a filter', async () => {
      const list = Array.from({ length: 1500 }, (_, index) => report(index, { updated: index % 3 === 0 }));
      await test.store.insertReports(list, AT);
      const found = await pages(test.store, { pageSize: 1000 });
      expect(found.map((page) => page.length)).toEqual([1000, 500]);
      const some = await pages(test.store, { pageSize: 1000, updated: true });
      expect(some.map((page) => page.length)).toEqual([500]);
    });
  });

  describe('expireReports', () => {
    it('deletes the reports that arrived before a time, and returns their number', async () => {
      await test.store.insertReports([report(1), report(2)], AT);
      await test.store.insertReports([report(3)], AT + 10);
      expect(await test.store.expireReports(AT)).toBe(0);
      expect(await test.store.expireReports(AT + 10)).toBe(2);
      expect((await allReports(test.store)).map((one) => one.report.report_creation_time)).toEqual([3]);
      expect(await test.store.expireReports(AT + 10)).toBe(0);
    });

    it('uses the time of arrival, not the creation time that the device sent', async () => {
      await test.store.insertReports([report(4_000_000_000)], AT);
      await test.store.insertReports([report(0)], AT + 10);
      await test.store.expireReports(AT + 5);
      expect((await allReports(test.store)).map((one) => one.report.report_creation_time)).toEqual([0]);
    });

    it('deletes thousands, and keeps a report that arrives meanwhile', async () => {
      await test.store.insertReports(
        Array.from({ length: 2500 }, (_, index) => report(index)),
        AT,
      );
      const expiring = test.store.expireReports(AT + 1);
      await test.store.insertReports([report(9)], AT + 10);
      expect(await expiring).toBe(2500);
      expect(await allReports(test.store)).toHaveLength(1);
    });
  });

  describe('the limit of all reports together', () => {
    const limited = useStore(open, { maxReportBytes: MEBIBYTE });
    const large = (time: number): Report => report(time, { log: 'x'.repeat(60_000) });
    const timesOf = (all: readonly StoredReport[]) => all.map((one) => one.report.report_creation_time);

    it.each([
      ['one by one', 1],
      ['in lists', 5],
      ['in a list that is larger than the limit', 50],
    ])('is kept by deleting the oldest: reports that come %s', async (_, size) => {
      const sent = Array.from({ length: 50 }, (_, time) => large(time));
      for (let start = 0; start < sent.length; start += size)
        await limited.store.insertReports(sent.slice(start, start + size), AT);
      const times = timesOf(await allReports(limited.store));
      expect(times.length * 60_000).toBeLessThanOrEqual(MEBIBYTE);
      // No more are deleted than needed, as far as their sizes are known.
      expect(times.length).toBeGreaterThanOrEqual(15);
      expect(times).toEqual(Array.from({ length: times.length }, (_, index) => 50 - times.length + index));
    });

    it('counts what small reports take beside their JSON', async () => {
      const list = Array.from({ length: 1000 }, (_, time) => report(time));
      for (let round = 0; round < 8; round++) await limited.store.insertReports(list, AT);
      const kept = await allReports(limited.store);
      expect(kept.length).toBeLessThan(7000);
      expect(kept.length).toBeGreaterThan(1500);
    });

    it('counts no reports that have expired', async () => {
      for (let time = 0; time < 10; time++) await limited.store.insertReports([large(time)], AT);
      expect(await limited.store.expireReports(AT + 1)).toBe(10);
      for (let time = 10; time < 20; time++) await limited.store.insertReports([large(time)], AT);
      expect(timesOf(await allReports(limited.store))).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    });

    it('is kept by expireReports after it was lowered', async () => {
      const store = await limited.reopen({});
      await store.insertReports(
        Array.from({ length: 50 }, (_, time) => large(time)),
        AT,
      );
      const lowered = await limited.reopen({ maxReportBytes: MEBIBYTE });
      const deleted = await lowered.expireReports(AT);
      const times = timesOf(await allReports(lowered));
      expect(times).toHaveLength(50 - deleted);
      expect(times.length * 60_000).toBeLessThanOrEqual(MEBIBYTE);
      expect(times.at(-1)).toBe(49);
    });
  });
}
