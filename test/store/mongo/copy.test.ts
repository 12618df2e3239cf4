import { join } from 'node:path';
import { type MongoClient, ObjectId } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { copyStore } from '../../../src/service/copy-store.ts';
import type { CopyProgress } from '../../../src/store/copy.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { AT, app, appStep, CONTEXT, everything, group, groupStep, pass, seed } from '../contract/support.ts';
import { openAt } from '../sqlite-place.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER, withClient } from './place.ts';

const REPORT = { hostname: 'h', device_group: 'edge', report_creation_time: 5, updated: true };
const SOME = 1200;

let database: string;
let folder: string;

function configOf(env: Record<string, string>) {
  const result = parseConfig({ DATA_DIR: folder, MONGODB_DATABASE: database, ...env }, []);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

/** A store in which there is something of every kind. */
async function fill(store: Store): Promise<void> {
  const origin = { path: 'apps/web.yaml', blob: 'aa' };
  await seed(store, {
    seeds: [{ kind: 'app', name: 'past', last: 7, floor: 1000, hash: 'ab' }],
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
    Array.from({ length: SOME }, (_, index) => ({ ...REPORT, report_creation_time: index })),
    AT,
  );
}

async function reportsOf(store: Store): Promise<unknown> {
  const first = (await store.reports({ pageSize: 1000 })).value;
  return [first, await store.reports({ pageSize: 1000, after: first.lastId ?? '' })];
}

describe.skipIf(SERVER.isMissing)('store copy', SERVER.limits, () => {
  let source: Store;
  let before: { all: unknown; reports: unknown };

  beforeEach(async () => {
    database = newDatabase();
    folder = await temporaryFolder(() => undefined);
    source = await openAt(join(folder, 'store.sqlite'));
    await fill(source);
    before = { all: await everything(source), reports: await reportsOf(source) };
    await source.close();
  });
  afterEach(() => dropDatabase(database));

  it('brings everything to MongoDB and back, so that nobody can tell', async () => {
    const told: string[] = [];
    const tell = ({ part, rows }: CopyProgress): void => void told.push(`${part} ${rows}`);
    const copied = await copyStore(configOf({}), SERVER.uri, tell);
    expect(copied).toEqual({
      objects: { rows: 4, alreadyCopied: 0 },
      operations: { rows: 2, alreadyCopied: 0 },
      reports: { rows: SOME, alreadyCopied: 0 },
    });
    expect(told).toContain(`reports ${SOME}`);
    const there = await openDatabase(database);
    expect(await everything(there)).toEqual(before.all);
    expect(await reportsOf(there)).toEqual(before.reports);
    await there.close();
    const back = join(folder, 'back');
    expect(await copyStore(configOf({ MONGODB_URI: SERVER.uri }), back, () => undefined)).toEqual(copied);
    const again = await openAt(join(back, 'store.sqlite'));
    expect(await everything(again)).toEqual(before.all);
    expect(await reportsOf(again)).toEqual(before.reports);
    await again.close();
  });

  it('leaves a store that goes on: ids rise from where they were', async () => {
    await copyStore(configOf({}), SERVER.uri, () => undefined);
    const there = await openDatabase(database);
    expect((await there.restartApp('web', CONTEXT))?.value.appId).toBe(5);
    const [newest, older] = await there.operations(null, 2);
    expect(newest!.id).toBeGreaterThan(older!.id);
    await there.insertReports([REPORT], AT - 1_000_000);
    const { value } = await there.reports({ pageSize: 1000, after: 'f'.repeat(24) });
    expect(value.data).toEqual([]);
    await there.close();
  });

  it('goes on after an interruption; until it is finished, no manager starts on the copy', async () => {
    const stopped = copyStore(configOf({}), SERVER.uri, ({ part, rows }) => {
      if (part === 'reports' && rows > 500) throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    await expect(openDatabase(database)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(openDatabase(database)).rejects.toThrow(/unfinished/);
    expect(await copyStore(configOf({}), SERVER.uri, () => undefined)).toEqual({
      objects: { rows: 4, alreadyCopied: 4 },
      operations: { rows: 2, alreadyCopied: 2 },
      reports: { rows: SOME, alreadyCopied: 1000 },
    });
    const there = await openDatabase(database);
    expect(await everything(there)).toEqual(before.all);
    expect(await reportsOf(there)).toEqual(before.reports);
    await there.close();
  });

  it('begins anew where the source is another now, and leaves what others put there alone', async () => {
    const stopped = copyStore(configOf({}), SERVER.uri, ({ part, rows }) => {
      if (part === 'reports' && rows > 500) throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    const manager = await openAt(join(folder, 'store.sqlite'));
    await manager.restartApp('web', CONTEXT);
    await manager.expireReports(AT + 1);
    const now = await everything(manager);
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
    const there = await openDatabase(database);
    expect(await everything(there)).toEqual(now);
    await there.close();
  });

  it('refuses a target that holds a store, and leaves it alone', async () => {
    const there = await openDatabase(database);
    await pass(there, [appStep('other', app('x'))]);
    const kept = await everything(there);
    const copying = copyStore(configOf({}), SERVER.uri, () => undefined);
    await expect(copying).rejects.toMatchObject({ kind: 'invalid' });
    expect(await everything(there)).toEqual(kept);
    await there.close();
    const onItself = copyStore(configOf({}), folder, () => undefined);
    await expect(onItself).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('says so where the source changes meanwhile', async () => {
    const manager = await openAt(join(folder, 'store.sqlite'));
    let restarted: Promise<unknown> | null = null;
    const copying = copyStore(configOf({}), SERVER.uri, ({ part }) => {
      if (part === 'operations') restarted ??= manager.restartApp('web', CONTEXT);
    });
    await expect(copying).rejects.toMatchObject({ kind: 'conflict' });
    await restarted;
    await manager.close();
  });

  it('takes the reports of the Kafka reporter along', async () => {
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
    expect(copied.reports).toEqual({ rows: SOME + 1, alreadyCopied: 0 });
    const again = await openAt(join(back, 'store.sqlite'));
    const { value } = await again.reports({
      pageSize: 10,
      after: '0'.repeat(24),
      creationTime: { comparison: 'eq', seconds: 5 },
    });
    expect(value.data.at(-1)).toEqual({ oid: String(_id), report: theirs });
    await again.close();
  });
});
