import { ObjectId } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../../src/store/mongo/schema.ts';
import { AT, app, appId, appStep, CONTEXT, group, groupStep, pass } from '../contract/support.ts';
import {
  dropDatabase,
  type MongoPlace,
  newDatabase,
  openDatabase,
  openInNewDatabase,
  SERVER,
  withClient,
} from './place.ts';

interface Row {
  _id: string;
  [field: string]: unknown;
}

let place: MongoPlace;

/** The state collection, as somebody from outside. */
function outside<T>(
  work: (collection: import('mongodb').Collection<Row>) => Promise<T>,
  name = 'state',
): Promise<T> {
  return withClient((client) => work(client.db(place.database).collection<Row>(name)));
}

describe.skipIf(SERVER.isMissing)('on a server', SERVER.limits, () => {
  beforeEach(async () => {
    place = await openInNewDatabase();
  });
  afterEach(() => place.cleanup());

  describe('the schema', () => {
    it('is made by several managers at once, with one identity of the fleet', async () => {
      const database = newDatabase();
      const stores = await Promise.all(Array.from({ length: 5 }, () => openDatabase(database)));
      const fleets = await Promise.all(stores.map(async (store) => (await store.state()).fleet));
      expect(new Set(fleets).size).toBe(1);
      await Promise.all(stores.map((store) => store.close()));
      await dropDatabase(database);
    });

    it('is made where somebody has indexed the reports under a name of their own', async () => {
      const database = newDatabase();
      await withClient((client) =>
        client
          .db(database)
          .collection('nebula_reports')
          .createIndex({ hostname: 1, _id: 1 }, { name: 'ours' }),
      );
      const store = await openDatabase(database);
      await store.insertReports([{ hostname: 'h', device_group: 'g', report_creation_time: 1 }], AT);
      expect((await store.reports({ pageSize: 10, hostname: 'h' })).value.data).toHaveLength(1);
      await store.close();
      await dropDatabase(database);
    });

    it.each([
      { name: 'a newer', version: SCHEMA_VERSION + 1, says: /newer version of Holdfast .* MONGODB_DATABASE/ },
      { name: 'an unreleased', version: 1, says: /unreleased version of Holdfast .* MONGODB_DATABASE/ },
    ])('of $name version is refused clearly, and left alone', async ({ version, says }) => {
      await outside((state) => state.updateOne({ _id: 'schema' }, { $set: { version } }));
      const opening = openDatabase(place.database);
      await expect(opening).rejects.toMatchObject({ kind: 'invalid' });
      await expect(opening).rejects.toThrow(says);
    });
  });

  describe('a manager that died between the swap of the head and its changes', () => {
    /** Puts the head back to the moment after the swap: its changes are in it, and not in their places. */
    async function dieAfterSwap(): Promise<void> {
      const objects = await outside((collection) => collection.find().toArray(), 'objects');
      await pass(place.store, [appStep('web', app('v2')), groupStep('edge', group('web'))], 'r2');
      const changed = await outside((collection) => collection.find().toArray(), 'objects');
      await outside((collection) => collection.deleteMany({}), 'objects');
      if (objects.length > 0) await outside((collection) => collection.insertMany(objects), 'objects');
      const changes = changed.map((document) => ({ in: 'objects', document }));
      await outside((state) => state.updateOne({ _id: 'fleet' }, { $set: { isSettled: false, changes } }));
    }

    it('is finished by the next one that reads', async () => {
      await pass(place.store, [appStep('web', app('v1'))], 'r1');
      await dieAfterSwap();
      const other = await openDatabase(place.database);
      const info = await other.groupInfo('edge');
      expect(info).toMatchObject({ revision: 'r2', apps: [{ appId: 2, content: app('v2') }] });
      await other.close();
    });

    it('is finished also where some of its changes are in their places', async () => {
      const names = ['a', 'b', 'c', 'd'];
      await pass(
        place.store,
        names.map((name) => appStep(name, app('v1'))),
      );
      const before = await outside((collection) => collection.find().toArray(), 'objects');
      await pass(
        place.store,
        names.map((name) => appStep(name, app('v2'))),
        'r2',
      );
      const after = await outside((collection) => collection.find().toArray(), 'objects');
      const back = before.filter(({ _id }) => _id === 'app/a' || _id === 'app/d');
      for (const document of back)
        await outside((collection) => collection.replaceOne({ _id: document._id }, document), 'objects');
      const changes = after.map((document) => ({ in: 'objects', document }));
      await outside((state) => state.updateOne({ _id: 'fleet' }, { $set: { isSettled: false, changes } }));
      for (const name of names)
        expect((await place.store.app(name)).value).toMatchObject({ appId: 2, content: app('v2') });
    });

    it('is finished by the next one that writes, and no id is given twice', async () => {
      await pass(place.store, [appStep('web', app('v1'))], 'r1');
      await dieAfterSwap();
      const other = await openDatabase(place.database);
      expect((await other.restartApp('web', CONTEXT))?.value.appId).toBe(3);
      expect(await appId(other, 'web')).toBe(3);
      await other.close();
    });
  });

  it('takes a pass whose changes are too many for one document', async () => {
    const big = 'x'.repeat(100_000);
    const steps = Array.from({ length: 40 }, (_, index) =>
      appStep(`app-${index}`, app('nginx', { env_vars: { BIG: big } })),
    );
    expect(await pass(place.store, steps)).toHaveLength(40);
    expect((await place.store.appNames()).value).toHaveLength(40);
    expect(await outside((collection) => collection.countDocuments(), 'staged_changes')).toBe(0);
  });

  describe('reports that the Kafka reporter put there', () => {
    const theirs = {
      hostname: 'h1',
      device_group: 'edge',
      report_creation_time: 5,
      memory_usage: { total: 7.5 },
    };

    async function reporter(time: number, document: Record<string, unknown>): Promise<void> {
      const _id = ObjectId.createFromTime(time / 1000);
      await withClient((client) =>
        client
          .db(place.database)
          .collection('nebula_reports')
          .insertOne({ _id, ...document }),
      );
    }

    it('are shown among ours, as they are', async () => {
      await reporter(AT - 60_000, theirs);
      await place.store.insertReports([{ ...theirs, updated: true }], AT);
      await reporter(AT + 60_000, { ...theirs, hostname: 'h2' });
      const { value } = await place.store.reports({ pageSize: 10 });
      expect(value.data.map(({ report }) => report)).toEqual([
        theirs,
        { ...theirs, updated: true },
        { ...theirs, hostname: 'h2' },
      ]);
      const found = await place.store.reports({ pageSize: 10, hostname: 'h2' });
      expect(found.value.data).toHaveLength(1);
    });

    it('are passed over where they are none', async () => {
      await reporter(AT - 60_000, { note: 'no report' });
      await reporter(AT - 50_000, theirs);
      const { value } = await place.store.reports({ pageSize: 1 });
      expect(value).toMatchObject({ data: [{ report: theirs }], lastId: null });
    });

    it('expire by the time at which their id was made', async () => {
      await reporter(AT - 60_000, theirs);
      await reporter(AT + 60_000, theirs);
      await place.store.insertReports([theirs], AT);
      expect(await place.store.expireReports(AT)).toBe(1);
      expect(await place.store.expireReports(AT + 120_000)).toBe(2);
    });
  });
});
