import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyContents } from '../../../src/store/copy.ts';
import { Connection } from '../../../src/store/mongo/connection.ts';
import { MongoTarget } from '../../../src/store/mongo/contents-target.ts';
import { SCHEMA_VERSION } from '../../../src/store/mongo/schema.ts';
import { sqliteContents } from '../../../src/store/sqlite/contents.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { AT, app, appStep, CONTEXT, pass } from '../contract/support.ts';
import { openAt } from '../open-sqlite.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER, withClient } from './test-database.ts';

let database: string;
let target: MongoTarget;

/** Makes a store with one app and resolves to its file; `restarts` are operations. */
async function sourceWith(restarts: number): Promise<string> {
  const file = join(await temporaryFolder(), 'store.sqlite');
  const store = await openAt(file);
  await pass(store, [appStep('web', app('v1'))]);
  for (let count = 0; count < restarts; count += 1) await store.restartApp('web', CONTEXT);
  await store.close();
  return file;
}

/** Copies the store in the file to the target, until `stopAt` is reported. */
async function copy(file: string, stopAt?: string): Promise<unknown> {
  const from = sqliteContents(file);
  try {
    return await copyContents(from, target, ({ part }) => {
      if (part === stopAt) throw new Error('stopped');
    });
  } finally {
    await from.close();
  }
}

/** A report as a target gets it. */
function report(number: number, hostname: string) {
  const body = JSON.stringify({ hostname, device_group: 'edge', report_creation_time: 5 });
  return { oid: String(number).padStart(24, '0'), arrived: AT, body };
}

describe.skipIf(SERVER.isMissing)('a database that store copy fills', SERVER.limits, () => {
  beforeEach(() => {
    database = newDatabase();
    const none = { prepare: () => Promise.resolve(), onServer: () => undefined };
    target = new MongoTarget(new Connection({ uri: SERVER.uri, place: '--to', database, ...none }));
  });
  afterEach(async () => {
    await target.close();
    await dropDatabase(database);
  });

  it('can be read and written afterwards if the source has no operations', async () => {
    await copy(await sourceWith(0));
    const store = await openDatabase(database);
    expect((await store.app('web')).value?.appId).toBe(1);
    await store.restartApp('web', CONTEXT);
    expect((await store.app('web')).value?.appId).toBe(2);
    await store.close();
  });

  it('is refused if it contains an unfinished copy of another store', async () => {
    await expect(copy(await sourceWith(1), 'operations')).rejects.toThrow('stopped');
    const reached = await target.reached();
    await expect(copy(await sourceWith(0))).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('an unfinished copy of another store'),
    });
    expect(await target.reached()).toEqual(reached);
  });

  it('is refused if a newer version has begun to copy into it', async () => {
    const source = await sourceWith(1);
    await expect(copy(source, 'operations')).rejects.toThrow('stopped');
    await withClient((client) =>
      client
        .db(database)
        .collection<{ _id: string }>('state')
        .updateOne({ _id: 'schema' }, { $set: { version: SCHEMA_VERSION + 1 } }),
    );
    await expect(copy(source)).rejects.toThrow(/newer version of Holdfast/);
  });

  it('gets every row once if a killed run has written some of them late', async () => {
    await target.putReports([report(2, 'late'), report(3, 'late')]);
    const rows = [1, 2, 3, 4].map((number) => report(number, 'h'));
    await target.putReports(rows);
    expect(await target.reports(null, 10)).toEqual(rows);
  });

  it('is empty again if the copy starts over', async () => {
    await expect(copy(await sourceWith(2), 'operations')).rejects.toThrow('stopped');
    await target.putReports([report(1, 'h')]);
    expect(await target.reached()).toMatchObject({ operations: { rows: 2 }, reports: { rows: 1 } });
    await target.clear();
    const nothing = { rows: 0, last: null };
    expect(await target.reached()).toEqual({ objects: nothing, operations: nothing, reports: nothing });
  });
});
