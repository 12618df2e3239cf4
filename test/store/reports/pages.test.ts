import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/protocol/report.ts';
import type { ReportQuery } from '../../../src/store/reports/report.ts';
import { AT } from '../contract/support.ts';
import { type OpenedSqliteStore, openInTemporaryFolder } from '../open-sqlite.ts';

/** More reports than two windows of a search, and more matches for a time than are counted. */
const COUNT = 45_000;

type SentReport = Report & { updated: boolean };

/** The creation times rise with the order of arrival, except that every 1,000th device has a slow clock. */
const sent: SentReport[] = Array.from({ length: COUNT }, (_, index) => ({
  hostname: `h${index % 997}`,
  device_group: index < COUNT - 10 ? 'edge' : 'lab',
  report_creation_time: index % 1000 === 7 ? 3 : 1000 + index,
  updated: index % 20_000 === 19_999,
}));

const CASES: [
  name: string,
  query: Omit<ReportQuery, 'pageSize'>,
  matches: (report: SentReport) => boolean,
][] = [
  ['no filter', {}, () => true],
  ['one host', { hostname: 'h996' }, ({ hostname }) => hostname === 'h996'],
  ['an unknown host', { hostname: 'unknown' }, () => false],
  ['a group of the last ten reports', { deviceGroup: 'lab' }, ({ device_group }) => device_group === 'lab'],
  ['the few updated reports', { updated: true }, ({ updated }) => updated],
  [
    'the newest times',
    { creationTime: { comparison: 'gt', seconds: 1000 + COUNT - 5 } },
    ({ report_creation_time: time }) => time > 1000 + COUNT - 5,
  ],
  [
    'nearly all times',
    { creationTime: { comparison: 'gte', seconds: 1005 } },
    ({ report_creation_time: time }) => time >= 1005,
  ],
  [
    'the last half of the times',
    { creationTime: { comparison: 'gte', seconds: 1000 + COUNT / 2 } },
    ({ report_creation_time: time }) => time >= 1000 + COUNT / 2,
  ],
  [
    'one host at nearly all times',
    { hostname: 'h996', creationTime: { comparison: 'gte', seconds: 1005 } },
    ({ hostname, report_creation_time: time }) => hostname === 'h996' && time >= 1005,
  ],
  [
    'the times of slow clocks',
    { creationTime: { comparison: 'lt', seconds: 1000 } },
    ({ report_creation_time: time }) => time < 1000,
  ],
  [
    'one time, which many reports have',
    { creationTime: { comparison: 'eq', seconds: 3 } },
    ({ report_creation_time: time }) => time === 3,
  ],
  [
    'a time after all reports',
    { creationTime: { comparison: 'gt', seconds: 1e9 } },
    ({ report_creation_time: time }) => time > 1e9,
  ],
  [
    'all times but one',
    { creationTime: { comparison: 'ne', seconds: 3 } },
    ({ report_creation_time: time }) => time !== 3,
  ],
  [
    'all filters together',
    {
      hostname: 'h996',
      deviceGroup: 'edge',
      updated: false,
      creationTime: { comparison: 'lte', seconds: 40_000 },
    },
    (one) =>
      one.hostname === 'h996' &&
      one.device_group === 'edge' &&
      !one.updated &&
      one.report_creation_time <= 40_000,
  ],
];

describe('reads of 45,000 reports', () => {
  let opened: OpenedSqliteStore;
  let oids: string[];
  beforeAll(async () => {
    opened = await openInTemporaryFolder();
    await opened.store.insertReports(sent, AT);
    oids = [];
    for (let after: string | null = '0'.repeat(24); after !== null; ) {
      const value = await opened.store.reports({ pageSize: 1000, after });
      oids.push(...value.data.map(({ oid }) => oid));
      after = value.lastId;
    }
  });
  afterAll(() => opened.cleanup());

  async function found(query: ReportQuery): Promise<{ oids: string[]; isLast: boolean }> {
    const value = await opened.store.reports(query);
    return { oids: value.data.map(({ oid }) => oid), isLast: value.lastId === null };
  }

  it('return all of them in ascending order of _id', () => {
    expect(oids).toHaveLength(COUNT);
    expect(oids).toEqual([...oids].sort());
  });

  it.each(CASES)(
    'return the matching reports, from any position and with any page size: %s',
    async (_, query, matches) => {
      const expected = oids.filter((_oid, index) => matches(sent[index] as SentReport));
      for (const pageSize of [1, 10, 1000]) {
        const isLast = expected.length <= pageSize;
        expect(await found({ ...query, pageSize })).toEqual({ oids: expected.slice(0, pageSize), isLast });
      }
      for (const after of [oids[21_000], oids[44_000], oids[COUNT - 1]] as string[]) {
        const rest = expected.filter((oid) => oid > after);
        const page = await found({ ...query, pageSize: 20, after });
        expect(page).toEqual({ oids: rest.slice(0, 20), isLast: rest.length <= 20 });
      }
    },
  );
});
