import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type MongoClient, ObjectId } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { copyStore } from '../../../src/service/copy-store.ts';
import type { CopyProgress } from '../../../src/store/copy.ts';
import { SCHEMA_VERSION } from '../../../src/store/mongo/schema.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { AT, app, appStep, CONTEXT, everything, group, groupStep, pass, seed } from '../contract/support.ts';
import { openAt } from '../open-sqlite.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER, withClient } from './test-database.ts';

const REPORT = { hostname: 'h', device_group: 'edge', report_creation_time: 5, updated: true };
/** Reports in the source: two pages of a listing, three of a copy. */
const REPORTS = 1200;

let database: string;
let folder: string;

/** The configuration that an operator's environment gives. */
function configOf(env: Record<string, string>) {
  const result = parseConfig({ DATA_DIR: folder, MONGODB_DATABASE: database, ...env }, []);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

/** Fills a store with something of every kind. */
async function fill(store: Store): Promise<void> {
  const origin = { path: 'apps/web.yaml', blob: 'aa' };
  await seed(store, {
    seeds: [{ kind: 'app', name: 'seeded', last: 7, floor: 1000, hash: 'ab' }],
    idSequence: 40,
    defaultFloor: 3,
  });
  await pass(store, [
    appStep('web', app('v1'), origin),
    appStep('gone', app('x')),
    groupStep('edge', group('web')),
  ]);
  await pass(store, [appStep('gone', null)], 'r2');
  await store.restartApp('web', CONTEXT);
  await store.pruneAll(CONTEXT);
  await store.markAttempted('r3', AT + 1);
  await store.insertReports(
    Array.from({ length: REPORTS }, (_, index) => ({ ...REPORT, report_creation_time: index })),
    AT,
  );
}

/** All reports, which take two pages. */
async function allReports(store: Store): Promise<unknown> {
  const first = (await store.reports({ pageSize: 1000 })).value;
  return [first, await store.reports({ pageSize: 1000, after: first.lastId ?? '' })];
}

describe.skipIf(SERVER.isMissing)('store copy with MongoDB', SERVER.limits, () => {
  let source: Store;
  let before: { all: unknown; reports: unknown };

  beforeEach(async () => {
    database = newDatabase();
    folder = await temporaryFolder(() => undefined);
    source = await openAt(join(folder, 'store.sqlite'));
    await fill(source);
    before = { all: await everything(source), reports: await allReports(source) };
    await source.close();
  });
  afterEach(() => dropDatabase(database));

  it('copies everything to MongoDB and back without a difference, and reports its progress', async () => {
    const progress: string[] = [];
    const onProgress = ({ part, rows }: CopyProgress): void => void progress.push(`${part} ${rows}`);
    const copied = await copyStore(configOf({}), SERVER.uri, onProgress);
    expect(copied).toEqual({
      objects: { rows: 4, alreadyCopied: 0 },
      operations: { rows: 2, alreadyCopied: 0 },
      reports: { rows: REPORTS, alreadyCopied: 0 },
    });
    expect(progress).toContain(`reports ${REPORTS}`);
    expect(existsSync(resolve(SERVER.uri))).toBe(false);
    const copy = await openDatabase(database);
    expect(await everything(copy)).toEqual(before.all);
    expect(await allReports(copy)).toEqual(before.reports);
    await copy.close();
    const back = join(folder, 'back');
    // The data folder of a manager on MongoDB has no store.
    const env = { MONGODB_URI: SERVER.uri, DATA_DIR: join(folder, 'none') };
    expect(await copyStore(configOf(env), back, () => undefined)).toEqual(copied);
    const backAgain = await openAt(join(back, 'store.sqlite'));
    expect(await everything(backAgain)).toEqual(before.all);
    expect(await allReports(backAgain)).toEqual(before.reports);
    await backAgain.close();
  });

  it('makes a store that continues the ids of apps, operations and reports', async () => {
    await copyStore(configOf({}), SERVER.uri, () => undefined);
    const copy = await openDatabase(database);
    expect((await copy.restartApp('web', CONTEXT))?.value.appId).toBe(5);
    expect((await copy.app('web')).value?.appId).toBe(5);
    const [newest, older] = await copy.operations(null, 2);
    expect(newest!.id).toBeGreaterThan(older!.id);
    await copy.insertReports([REPORT], AT - 1_000_000);
    const { value } = await copy.reports({ pageSize: 1000, after: 'f'.repeat(24) });
    expect(value.data).toEqual([]);
    await copy.close();
  });

  it('continues after an interruption; until it is complete, no manager starts on the copy', async () => {
    const stopped = copyStore(configOf({}), SERVER.uri, ({ part, rows }) => {
      if (part === 'reports' && rows > 500) throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    await expect(openDatabase(database)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(openDatabase(database)).rejects.toThrow(/unfinished/);
    expect(await copyStore(configOf({}), SERVER.uri, () => undefined)).toEqual({
      objects: { rows: 4, alreadyCopied: 4 },
      operations: { rows: 2, alreadyCopied: 2 },
      reports: { rows: REPORTS, alreadyCopied: 1000 },
    });
    const copy = await openDatabase(database);
    expect(await everything(copy)).toEqual(before.all);
    expect(await allReports(copy)).toEqual(before.reports);
    await copy.close();
  });

  it('starts over if the source has changed since an interruption, and keeps what others have stored in the database', async () => {
    const stopped = copyStore(configOf({}), SERVER.uri, ({ part, rows }) => {
      if (part === 'reports' && rows > 500) throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    const manager = await openAt(join(folder, 'store.sqlite'));
    await manager.restartApp('web', CONTEXT);
    await manager.expireReports(AT + 1);
    const changed = await everything(manager);
    await manager.close();
    const theirs = { _id: new ObjectId(), note: 'none' };
    const reports = (client: MongoClient) => client.db(database).collection('nebula_reports');
    await withClient((client) => reports(client).insertOne(theirs));
    const copied = await copyStore(configOf({}), SERVER.uri, () => undefined);
    expect(copied).toMatchObject({
      objects: { rows: 4, alreadyCopied: 0 },
      reports: { rows: 0, alreadyCopied: 0 },
    });
    expect(await withClient((client) => reports(client).find().toArray())).toEqual([theirs]);
    const copy = await openDatabase(database);
    expect(await everything(copy)).toEqual(changed);
    await copy.close();
  });

  it('is complete in a database that the Kafka reporter already fills, and keeps its reports', async () => {
    const { updated: _, ...theirs } = REPORT;
    const ids = [AT - 60_000, AT + 60_000].map((time) => ObjectId.createFromTime(time / 1000));
    await withClient((client) =>
      client
        .db(database)
        .collection('nebula_reports')
        .insertMany(ids.map((_id) => ({ _id, ...theirs }))),
    );
    const copied = await copyStore(configOf({}), SERVER.uri, () => undefined);
    expect(copied.reports).toEqual({ rows: REPORTS, alreadyCopied: 0 });
    const copy = await openDatabase(database);
    expect(await everything(copy)).toEqual(before.all);
    expect((await copy.reports({ pageSize: 1 })).value.data).toEqual([
      { oid: String(ids[0]), report: theirs },
    ]);
    await copy.close();
  });

  it('refuses a source that a newer version has used, and copies nothing', async () => {
    const newer = await openDatabase(database);
    await pass(newer, [appStep('web', app('v1'))]);
    await newer.close();
    await withClient((client) =>
      client
        .db(database)
        .collection<{ _id: string }>('state')
        .updateOne({ _id: 'schema' }, { $set: { version: SCHEMA_VERSION + 1 } }),
    );
    const back = join(folder, 'back');
    const copying = copyStore(configOf({ MONGODB_URI: SERVER.uri }), back, () => undefined);
    await expect(copying).rejects.toMatchObject({ kind: 'invalid' });
    await expect(copying).rejects.toThrow(/newer version of Holdfast/);
    expect(existsSync(join(back, 'store.sqlite'))).toBe(false);
  });

  it('refuses a target that contains a store, and leaves it unchanged', async () => {
    const target = await openDatabase(database);
    await pass(target, [appStep('other', app('x'))]);
    const kept = await everything(target);
    const copying = copyStore(configOf({}), SERVER.uri, () => undefined);
    await expect(copying).rejects.toMatchObject({ kind: 'invalid' });
    expect(await everything(target)).toEqual(kept);
    await target.close();
    const onItself = copyStore(configOf({}), folder, () => undefined);
    await expect(onItself).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('rejects as a conflict if the source changes during the copy', async () => {
    const manager = await openAt(join(folder, 'store.sqlite'));
    let restarted: Promise<unknown> | null = null;
    const copying = copyStore(configOf({}), SERVER.uri, ({ part }) => {
      if (part === 'operations') restarted ??= manager.restartApp('web', CONTEXT);
    });
    await expect(copying).rejects.toMatchObject({ kind: 'conflict' });
    await restarted;
    await manager.close();
  });

  it('includes the reports of the Kafka reporter, but no other documents of that collection', async () => {
    await copyStore(configOf({}), SERVER.uri, () => undefined);
    const { updated: _, ...theirs } = REPORT;
    const _id = ObjectId.createFromTime(AT / 1000 + 60);
    await withClient((client) =>
      client
        .db(database)
        .collection('nebula_reports')
        .insertMany([{ _id, ...theirs }, { note: 'none' }]),
    );
    const back = join(folder, 'back');
    const copied = await copyStore(configOf({ MONGODB_URI: SERVER.uri }), back, () => undefined);
    expect(copied.reports).toEqual({ rows: REPORTS + 1, alreadyCopied: 0 });
    const backAgain = await openAt(join(back, 'store.sqlite'));
    const { value } = await backAgain.reports({
      pageSize: 10,
      after: '0'.repeat(24),
      creationTime: { comparison: 'eq', seconds: 5 },
    });
    expect(value.data.at(-1)).toEqual({ oid: String(_id), report: theirs });
    await backAgain.close();
  });
});
