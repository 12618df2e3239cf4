import { copyFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import { openWithoutLog } from '../../src/sqlite/connection.ts';
import type { ApplyBatch } from '../../src/store/objects/port.ts';
import { onTickingClock, yieldsDuring } from '../support/yielding.ts';
import {
  AT,
  app,
  appId,
  appStep,
  CONTEXT,
  counterOf,
  everything,
  group,
  groupStep,
  pass,
  rejection,
  seed,
} from './contract/support.ts';
import { storeContract } from './contract.ts';
import { type OpenedSqliteStore, openAt, openInTemporaryFolder } from './open-sqlite.ts';

storeContract('SQLite', openInTemporaryFolder);

let opened: OpenedSqliteStore;
beforeEach(async () => {
  opened = await openInTemporaryFolder();
});
afterEach(() => opened.cleanup());

/** Runs SQL on the store's file over another connection. */
function runSql(sql: string): void {
  const db = new DatabaseSync(opened.path);
  db.exec(sql);
  db.close();
}

function batchOf(count: number, image: string): ApplyBatch {
  const steps = Array.from({ length: count }, (_, index) => appStep(`app-${index}`, app(image)));
  return { revision: image, sequence: 1, at: AT, steps, origins: [], rules: 'r1' };
}

/** A batch, and whether the store has done some but not all of its steps. */
function withProgress(batch: ApplyBatch): { batch: ApplyBatch; isUnderWay: () => boolean } {
  let done = 0;
  const onStep = (count: number): void => {
    done = count;
  };
  return { batch: { ...batch, onStep }, isUnderWay: () => done > 0 && done < batch.steps.length };
}

/** Runs `work` in every turn of the event loop until the promise settles. */
async function meanwhile(promise: Promise<unknown>, work: () => Promise<void>): Promise<void> {
  let isDone = false;
  const settled = promise.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await work();
    await setImmediate();
  }
  await settled;
}

describe('a long apply in SQLite', () => {
  it('yields to the event loop between its steps', async () => {
    await opened.store.claimHead(0, 'v1', AT);
    const { batch, isUnderWay } = withProgress(batchOf(5000, 'v1'));
    let rounds = 0;
    const applying = onTickingClock(() => opened.store.apply(batch));
    await meanwhile(applying, async () => {
      if (isUnderWay()) rounds += 1;
    });
    expect(rounds).toBeGreaterThan(0);
    expect((await opened.store.names('app')).value).toHaveLength(5000);
  });

  it('shows reads the state before it, and delays writes until it is committed', async () => {
    await pass(opened.store, [appStep('app-0', app('v0'))], 'v0');
    await opened.store.claimHead(1, 'v1', AT);
    const { batch, isUnderWay } = withProgress({ ...batchOf(5000, 'v1'), sequence: 2 });
    const applying = onTickingClock(() => opened.store.apply(batch));
    const restarting = opened.store.restartApp('app-0', CONTEXT);
    let seen = 0;
    await meanwhile(applying, async () => {
      if (!isUnderWay()) return;
      const { value, revision } = await opened.store.object('app', 'app-0');
      if (!isUnderWay()) return;
      expect([value?.content.container_image, value?.appId, revision]).toEqual(['v0', 1, 'v0']);
      seen += 1;
    });
    expect(seen).toBeGreaterThan(0);
    expect((await restarting)?.value).toMatchObject({ appId: 3, content: app('v1') });
    expect((await opened.store.object('app', 'app-4999')).revision).toBe('v1');
  });

  it('is rolled back completely if a step in the middle fails, and later writes succeed', async () => {
    await pass(opened.store, [appStep('app-1', app('v0')), groupStep('edge', group('app-1'))], 'v0');
    await opened.store.claimHead(1, 'v1', AT);
    const before = await everything(opened.store);
    runSql(`CREATE TRIGGER fail BEFORE INSERT ON objects WHEN new.name = 'app-700'
             BEGIN SELECT RAISE(ABORT, 'boom'); END`);
    const batch = { ...batchOf(1000, 'v1'), sequence: 2 };
    expect(await rejection(opened.store.apply(batch))).toBe('unavailable');
    expect(await everything(opened.store)).toEqual(before);
    expect((await opened.store.restartApp('app-1', CONTEXT))?.value.appId).toBe(2);
    runSql('DROP TRIGGER fail');
    expect(await opened.store.apply(batch)).toHaveLength(1000);
    expect(await appId(opened.store, 'app-1')).toBe(3);
  });

  it('is rolled back completely if the content of a step cannot be stored', async () => {
    await opened.store.claimHead(0, 'v1', AT);
    const batch = batchOf(10, 'v1');
    const bad = appStep('bad', { ...app('x'), running: 1n as unknown as boolean });
    expect(await rejection(opened.store.apply({ ...batch, steps: [...batch.steps, bad] }))).toBe('internal');
    expect((await opened.store.names('app')).value).toEqual([]);
    expect(await opened.store.apply(batch)).toHaveLength(10);
  });

  it('has no effect if the process dies before the commit', async () => {
    await pass(opened.store, [appStep('app-0', app('v0'))], 'v0');
    const before = await everything(opened.store);
    const copy = `${opened.path}.copy`;
    const onStep = (done: number): void => {
      if (done !== 4000) return;
      copyFileSync(opened.path, copy);
      copyFileSync(`${opened.path}-wal`, `${copy}-wal`);
    };
    await opened.store.claimHead(1, 'v1', AT);
    await opened.store.apply({ ...batchOf(5000, 'v1'), sequence: 2, onStep });
    const store = await openAt(copy);
    const { state, ...objects } = (await everything(store)) as Record<string, unknown>;
    const { state: _, ...expected } = before as Record<string, unknown>;
    expect(objects).toEqual(expected);
    expect(state).toMatchObject({ sequence: 2, applied: { revision: 'v0' } });
    await store.close();
  });
});

it('a seeding, a prune of all groups and reads of many objects yield to the event loop', async () => {
  const { store } = opened;
  const names = Array.from({ length: 400 }, (_, index) => `name-${index}`);
  const seeds = names.map((name) => ({ kind: 'app' as const, name, last: 1, floor: 1, hash: null }));
  expect(await yieldsDuring(() => seed(store, { seeds, idSequence: 0 }))).toBeGreaterThan(80);
  await pass(store, [
    ...names.map((name) => appStep(name, app('v1'))),
    ...names.map((name) => groupStep(name, group())),
    groupStep('all', group(...names)),
  ]);
  expect(await yieldsDuring(() => store.pruneAll(CONTEXT))).toBeGreaterThan(80);
  expect(await yieldsDuring(() => store.groupInfo('all'))).toBeGreaterThan(80);
  expect(await yieldsDuring(() => store.appliedObjects())).toBeGreaterThan(80);
});

it('reports of hosts and groups are distinguished even if their names have a NUL, which ends a text in SQLite', async () => {
  const names = ['h', 'h\0', 'h\0x', 'h\\', 'h\\0', 'h\\\0'];
  const sent = names.map((name) => ({ hostname: name, device_group: name, report_creation_time: 1 }));
  await opened.store.insertReports(sent, AT);
  for (const name of names) {
    for (const filter of [{ hostname: name }, { deviceGroup: name }]) {
      const value = await opened.store.reports({ ...filter, pageSize: 10 });
      expect(value.data.map(({ report }) => report.hostname)).toEqual([name]);
    }
  }
});

it('the write-ahead log stays small if many writes follow a long apply', async () => {
  await opened.store.claimHead(0, 'v1', AT);
  await opened.store.apply(batchOf(1000, 'v1'));
  const ids = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`group-${index}`, index]));
  for (let time = 0; time < 40; time++)
    await opened.store.logOperation({ ...CONTEXT, action: 'prune-all', name: null, ids });
  expect(statSync(`${opened.path}-wal`).size).toBeLessThan(25_000_000);
});

describe('a failed write in SQLite', () => {
  it('changes nothing and leaves no transaction open', async () => {
    await pass(opened.store, [appStep('web', app('nginx')), groupStep('edge', group('web'))]);
    const before = await everything(opened.store);
    runSql(`CREATE TRIGGER fail BEFORE INSERT ON acts BEGIN SELECT RAISE(ABORT, 'boom'); END`);
    const { store } = opened;
    for (const write of [
      () => store.restartApp('web', CONTEXT),
      () => store.pruneGroup('edge', CONTEXT),
      () => store.pruneAll(CONTEXT),
    ]) {
      expect(await rejection(write())).toBe('unavailable');
      runSql('BEGIN IMMEDIATE');
    }
    expect(await everything(opened.store)).toEqual(before);
    runSql('DROP TRIGGER fail');
    expect((await opened.store.restartApp('web', CONTEXT))?.value.appId).toBe(2);
  });

  it('stores none of a list of reports, and later reports are stored', async () => {
    const report = (time: number) => ({ hostname: 'h', device_group: 'g', report_creation_time: time });
    runSql(`CREATE TRIGGER fail AFTER INSERT ON reports WHEN new.created = 2
             BEGIN SELECT RAISE(ROLLBACK, 'boom'); END`);
    const call = opened.store.insertReports([report(1), report(2), report(3)], AT);
    expect(await rejection(call)).toBe('unavailable');
    await opened.store.insertReports([report(4)], AT);
    const value = await opened.store.reports({ pageSize: 10 });
    expect(value.data.map((one) => one.report.report_creation_time)).toEqual([4]);
  });

  it('rejects as unavailable while another process holds the file, and works again afterwards', async () => {
    const other = new DatabaseSync(opened.path);
    other.exec('BEGIN IMMEDIATE');
    const claim = opened.store.claimHead(0, 'r1', AT);
    await expect(claim).rejects.toMatchObject({ kind: 'unavailable', details: { code: 'SQLITE_BUSY' } });
    expect((await opened.store.state()).sequence).toBe(0);
    other.close();
    expect(await opened.store.claimHead(0, 'r1', AT)).toBe(1);
  });

  it('rejects reports while another process holds the file, and stores later ones', async () => {
    const report = { hostname: 'h', device_group: 'g', report_creation_time: 1, updated: true, report: {} };
    const other = new DatabaseSync(opened.path);
    other.exec('BEGIN IMMEDIATE');
    expect(await rejection(opened.store.insertReports([report], AT))).toBe('unavailable');
    other.close();
    await opened.store.insertReports([report], AT);
    expect((await opened.store.reports({ pageSize: 10 })).data).toHaveLength(1);
  });
});

describe('two managers with one SQLite file', () => {
  it('claim a head once', async () => {
    const second = await openAt(opened.path);
    await opened.store.claimHead(0, 'r1', AT);
    expect(await rejection(second.claimHead(0, 'r1', AT))).toBe('conflict');
    await second.close();
  });

  it('see each other’s changes', async () => {
    const second = await openAt(opened.path);
    await pass(opened.store, [appStep('web', app('nginx'))], 'r1');
    expect((await second.restartApp('web', CONTEXT))?.value.appId).toBe(2);
    expect(await appId(opened.store, 'web')).toBe(2);
    await second.close();
  });
});

describe('app contents of an older version, which lack new fields', () => {
  const full = app('nginx', { networks: ['own'] });

  beforeEach(async () => {
    await pass(opened.store, [appStep('web', full), groupStep('edge', group('web'))]);
    runSql(
      `UPDATE objects SET content = json_remove(content, '$.rolling_restart', '$.devices') WHERE kind = 'app'`,
    );
  });

  it('are returned with the defaults of these fields by every read', async () => {
    expect((await opened.store.object('app', 'web')).value?.content).toEqual(full);
    expect((await opened.store.groupInfo('edge'))?.apps[0]?.content).toEqual(full);
    const [object] = await opened.store.appliedObjects();
    expect(object?.content).toEqual(full);
    expect((await opened.store.restartApp('web', CONTEXT))?.value.content).toEqual(full);
  });

  it('are equal to contents that have the defaults of these fields', async () => {
    const { hash } = (await counterOf(opened.store, 'app', 'web'))!;
    expect(await pass(opened.store, [appStep('web', full)])).toEqual([]);
    expect((await counterOf(opened.store, 'app', 'web'))?.hash).toBe(hash);
    expect(await pass(opened.store, [appStep('web', { ...full, rolling_restart: true })])).toHaveLength(1);
  });
});

describe('a large log of SQLite', () => {
  const report = { hostname: 'h', device_group: 'g', report_creation_time: 1, report: 'x'.repeat(9000) };
  const list = Array.from({ length: 100 }, () => report);
  /** Writes 18 MB. */
  const fillLog = () => Promise.all(Array.from({ length: 20 }, () => opened.store.insertReports(list, AT)));

  it('is copied into the file as it grows, so that later writes begin it again', async () => {
    await fillLog();
    expect(statSync(`${opened.path}-wal`).size).toBeLessThan(10_000_000);
    expect(statSync(opened.path).size).toBeGreaterThan(8_000_000);
  });

  it('is in the file, whole, once the store is closed', async () => {
    await fillLog();
    await opened.store.close();
    const file = openWithoutLog(opened.path);
    expect(file.prepare('SELECT count(*) AS count FROM reports').get()).toEqual({ count: 2000 });
    file.close();
    await opened.reopen();
  });
});

describe('errors of SQLite', () => {
  it('contain neither the path of the file nor that of its folder', async () => {
    runSql('DROP TABLE acts');
    const failed = await opened.store.nextAct(0).catch((caught: unknown) => caught);
    expect(failed).toMatchObject({ kind: 'unavailable', message: 'the store failed' });
    expect(messageOf(failed) + JSON.stringify(failed)).not.toContain(dirname(opened.path));
  });
});

describe('more rows than SQLite reads at a time', () => {
  const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `app-${index}`);
  const stepsTo = (names: readonly string[], image: string) => names.map((name) => appStep(name, app(image)));

  it('are returned by counters, each once', async () => {
    const names = namesOf(1200);
    await pass(opened.store, stepsTo(names, 'nginx'));
    const listed = (await opened.store.counters(0)).map(({ name, last }) => `${name} ${last}`);
    expect(listed.sort()).toEqual(names.map((name) => `${name} 1`).sort());
  });

  it('are all reported as changed after seedCounters', async () => {
    await pass(opened.store, stepsTo(namesOf(1200), 'x'));
    const { idSequence } = await opened.store.state();
    expect(await opened.store.counters(idSequence)).toEqual([]);
    await seed(opened.store, { seeds: [], idSequence: 0 });
    const changed = await opened.store.counters(idSequence);
    expect(new Set(changed.map(({ name }) => name)).size).toBe(1200);
  });
});
