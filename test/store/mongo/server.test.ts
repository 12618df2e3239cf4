import { type Collection, ObjectId } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeServer } from '../../../src/mongo/server-info.ts';
import { SCHEMA_VERSION } from '../../../src/store/schema/mongo.ts';
import { LAST_UNRELEASED } from '../../../src/store/schema/version.ts';
import { AT, app, appId, appStep, CONTEXT, group, groupStep, pass } from '../contract/support.ts';
import {
  dropDatabase,
  newDatabase,
  type OpenedDatabase,
  openDatabase,
  openInNewDatabase,
  SERVER,
  withClient,
} from './test-database.ts';

/** Whether the server is the stand-in of `scripts/test-mongo.ts`. */
const isOnStandIn = process.env['HOLDFAST_TEST_STAND_IN'] !== undefined;

/** The last time that an ObjectId can have, in Unix milliseconds: after all that the driver makes. */
const LAST_TIME = (2 ** 32 - 1) * 1000;

interface Row {
  _id: string;
  [field: string]: unknown;
}

let opened: OpenedDatabase;

/** Runs `work` on a collection of the database, past the store; by default on the one of the root. */
function withCollection<T>(work: (collection: Collection<Row>) => Promise<T>, name = 'state'): Promise<T> {
  return withClient((client) => work(client.db(opened.database).collection<Row>(name)));
}

describe.skipIf(SERVER.isMissing)('the store in MongoDB', SERVER.limits, () => {
  beforeEach(async () => {
    opened = await openInNewDatabase();
  });
  afterEach(() => opened.cleanup());

  it.skipIf(!isOnStandIn)('knows a server that only speaks the protocol, and warns of it', async () => {
    expect(await withClient((client) => describeServer(client.db(opened.database)))).toEqual({
      product: 'an unknown product',
      version: '5.0.0',
      topology: 'standalone server',
      warnings: [
        expect.stringContaining('run only one manager'),
        expect.stringContaining('not highly available'),
      ],
    });
  });

  describe('the schema', () => {
    it('is created once, with one fleet id, if several managers open a new database at the same time', async () => {
      const database = newDatabase();
      const stores = await Promise.all(Array.from({ length: 5 }, () => openDatabase(database)));
      const fleets = await Promise.all(stores.map(async (store) => (await store.state()).fleet));
      expect(new Set(fleets).size).toBe(1);
      await Promise.all(stores.map((store) => store.close()));
      await dropDatabase(database);
    });

    it('is created although a user has indexed the reports under another name', async () => {
      const database = newDatabase();
      await withClient((client) =>
        client
          .db(database)
          .collection('nebula_reports')
          .createIndex({ hostname: 1, _id: 1 }, { name: 'ours' }),
      );
      const store = await openDatabase(database);
      await store.insertReports([{ hostname: 'h', device_group: 'g', report_creation_time: 1 }], AT);
      expect((await store.reports({ pageSize: 10, hostname: 'h' })).data).toHaveLength(1);
      await store.close();
      await dropDatabase(database);
    });

    it.each<[string, number, RegExp]>([
      ['a newer', SCHEMA_VERSION + 1, /newer version of Holdfast .* MONGODB_DATABASE/],
      ['an unreleased', LAST_UNRELEASED, /unreleased version of Holdfast .* MONGODB_DATABASE/],
    ])(
      'is refused, with what to check, and left alone if it is of %s version',
      async (_, version, message) => {
        await withCollection((state) => state.updateOne({ _id: 'schema' }, { $set: { version } }));
        const opening = openDatabase(opened.database);
        await expect(opening).rejects.toMatchObject({ kind: 'invalid' });
        await expect(opening).rejects.toThrow(message);
        const found = await withCollection((state) => state.findOne({ _id: 'schema' }));
        expect(found).toMatchObject({ version });
      },
    );
  });

  describe('a write of a manager that was killed after it replaced the root', () => {
    /** Applies a pass, and restores the moment after its swap: the root has its changes, and the documents have not. */
    async function passKilledAfterSwap(): Promise<void> {
      const objects = await withCollection((collection) => collection.find().toArray(), 'objects');
      await pass(opened.store, [appStep('web', app('v2')), groupStep('edge', group('web'))], 'r2');
      const changed = await withCollection((collection) => collection.find().toArray(), 'objects');
      await withCollection((collection) => collection.deleteMany({}), 'objects');
      if (objects.length > 0) await withCollection((collection) => collection.insertMany(objects), 'objects');
      const changes = changed.map((document) => ({ in: 'objects', document }));
      await withCollection((state) =>
        state.updateOne({ _id: 'fleet' }, { $set: { isSettled: false, changes } }),
      );
    }

    it('is settled by the next manager that reads', async () => {
      await pass(opened.store, [appStep('web', app('v1'))], 'r1');
      await passKilledAfterSwap();
      const other = await openDatabase(opened.database);
      const info = await other.groupInfo('edge');
      expect(info).toMatchObject({ revision: 'r2', apps: [{ appId: 2, content: app('v2') }] });
      await other.close();
    });

    it('is settled completely if some of its changes had already been copied', async () => {
      const names = ['a', 'b', 'c', 'd'];
      await pass(
        opened.store,
        names.map((name) => appStep(name, app('v1'))),
      );
      const before = await withCollection((collection) => collection.find().toArray(), 'objects');
      await pass(
        opened.store,
        names.map((name) => appStep(name, app('v2'))),
        'r2',
      );
      const after = await withCollection((collection) => collection.find().toArray(), 'objects');
      const back = before.filter(({ _id }) => _id === 'app/a' || _id === 'app/d');
      for (const document of back)
        await withCollection(
          (collection) => collection.replaceOne({ _id: document._id }, document),
          'objects',
        );
      const changes = after.map((document) => ({ in: 'objects', document }));
      await withCollection((state) =>
        state.updateOne({ _id: 'fleet' }, { $set: { isSettled: false, changes } }),
      );
      for (const name of names)
        expect((await opened.store.object('app', name)).value).toMatchObject({
          appId: 2,
          content: app('v2'),
        });
    });

    it('is settled by the next manager that writes, which uses no id twice', async () => {
      await pass(opened.store, [appStep('web', app('v1'))], 'r1');
      await passKilledAfterSwap();
      const other = await openDatabase(opened.database);
      expect((await other.restartApp('web', CONTEXT))?.value.appId).toBe(3);
      expect(await appId(other, 'web')).toBe(3);
      await other.close();
    });
  });

  it('applies a pass whose changes are too large for one document, and leaves none of them staged', async () => {
    const big = 'x'.repeat(100_000);
    const steps = Array.from({ length: 40 }, (_, index) =>
      appStep(`app-${index}`, app('nginx', { env_vars: { BIG: big } })),
    );
    expect(await pass(opened.store, steps)).toHaveLength(40);
    expect((await opened.store.names('app')).value).toHaveLength(40);
    expect(await withCollection((collection) => collection.countDocuments(), 'staged_changes')).toBe(0);
  });

  describe('reports of the Kafka reporter', () => {
    const theirs = {
      hostname: 'h1',
      device_group: 'edge',
      report_creation_time: 5,
      memory_usage: { total: 7.5 },
    };

    /** Inserts a document as the reporter does; its `_id` is of this time, in Unix milliseconds. */
    async function insertAsReporter(time: number, document: Record<string, unknown>): Promise<void> {
      const _id = ObjectId.createFromTime(time / 1000);
      await withClient((client) =>
        client
          .db(opened.database)
          .collection('nebula_reports')
          .insertOne({ _id, ...document }),
      );
    }

    it('are listed unchanged among those that came through the API, by the time of their ids', async () => {
      await opened.store.insertReports([{ ...theirs, updated: true }], AT);
      await insertAsReporter(LAST_TIME, { ...theirs, hostname: 'h2' });
      await insertAsReporter(AT, theirs);
      const value = await opened.store.reports({ pageSize: 10 });
      expect(value.data.map(({ report }) => report)).toEqual([
        theirs,
        { ...theirs, updated: true },
        { ...theirs, hostname: 'h2' },
      ]);
      const found = await opened.store.reports({ pageSize: 10, hostname: 'h2' });
      expect(found.data).toHaveLength(1);
    });

    it('do not include documents that are not reports', async () => {
      await insertAsReporter(AT - 60_000, { note: 'no report' });
      await insertAsReporter(AT - 50_000, theirs);
      const value = await opened.store.reports({ pageSize: 1 });
      expect(value).toMatchObject({ data: [{ report: theirs }], lastId: null });
    });

    it('expire by the time of their ids', async () => {
      await insertAsReporter(AT - 60_000, theirs);
      await insertAsReporter(AT + 60_000, theirs);
      await opened.store.insertReports([theirs], AT);
      expect(await opened.store.expireReports(AT)).toBe(1);
      expect(await opened.store.expireReports(AT + 120_000)).toBe(2);
    });
  });
});
