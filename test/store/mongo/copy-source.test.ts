import { ObjectId } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Connection } from '../../../src/store/mongo/connection.ts';
import { MongoContents } from '../../../src/store/mongo/contents.ts';
import { AT, app, appStep, pass, seed } from '../contract/support.ts';
import { type OpenedDatabase, openInNewDatabase, SERVER, withClient } from './test-database.ts';

const REPORT = { hostname: 'h', device_group: 'edge', report_creation_time: 5 };

let opened: OpenedDatabase;
let source: MongoContents;

describe.skipIf(SERVER.isMissing)('a database that store copy reads', SERVER.limits, () => {
  beforeEach(async () => {
    opened = await openInNewDatabase();
    const { database } = opened;
    const none = { prepare: () => Promise.resolve(), onServer: () => undefined };
    source = new MongoContents(new Connection({ uri: SERVER.uri, place: 'MONGODB_URI', database, ...none }));
  });
  afterEach(async () => {
    await source.close();
    await opened.cleanup();
  });

  it.each(['fleet', 'reports'])('is refused while a write is unfinished: %s', async (_id) => {
    expect((await source.state()).sequence).toBe(0);
    await withClient((client) =>
      client
        .db(opened.database)
        .collection<{ _id: string }>('state')
        .updateOne({ _id }, { $set: { isSettled: false } }),
    );
    await expect(source.state()).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('a write is unfinished'),
    });
  });

  it('gives every counter as changed by the last seeding, which writes none of them', async () => {
    await pass(opened.store, [appStep('web', app('v1'))]);
    await seed(opened.store, { seeds: [], idSequence: 40 });
    expect(await source.objects(null, 10)).toMatchObject([{ key: 'app/web', own: { last: 1, changed: 41 } }]);
  });

  it('gives the highest _id, which can be that of an object or of a report', async () => {
    const lastId = async () => (await source.state()).lastOid;
    await opened.store.insertReports([REPORT], AT - 60_000);
    expect(await lastId()).toBe((await source.reports(null, 10)).at(-1)?.oid);
    await pass(opened.store, [appStep('web', app('v1'))]);
    expect(await lastId()).toBe((await source.objects(null, 10)).at(-1)?.stored?.oid);
  });

  it('gives the reports after a page without any', async () => {
    const ids = [1, 2, 3].map((minutes) => ObjectId.createFromTime(AT / 1000 - minutes * 60));
    await withClient((client) =>
      client
        .db(opened.database)
        .collection('nebula_reports')
        .insertMany(ids.map((_id) => ({ _id, note: 'none' }))),
    );
    await opened.store.insertReports([REPORT], AT);
    expect(await source.reports(null, 2)).toMatchObject([{ arrived: AT, body: JSON.stringify(REPORT) }]);
    expect(await source.reports('f'.repeat(24), 2)).toEqual([]);
  });
});
