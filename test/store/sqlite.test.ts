import { copyFileSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import type { ApplyBatch } from '../../src/store/store.ts';
import { onTickingClock } from '../support/yielding.ts';
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
import { openAt, openInTemporaryFolder, type SqlitePlace } from './sqlite-place.ts';

storeContract('SQLite', openInTemporaryFolder);

let place: SqlitePlace;
beforeEach(async () => {
  place = await openInTemporaryFolder();
});
afterEach(() => place.cleanup());

/** Runs SQL on the store's file, as somebody from outside. */
function outside(sql: string): void {
  const db = new DatabaseSync(place.path);
  db.exec(sql);
  db.close();
}

function batchOf(count: number, image: string): ApplyBatch {
  const steps = Array.from({ length: count }, (_, index) => appStep(`app-${index}`, app(image)));
  return { revision: image, sequence: 1, at: AT, steps, origins: [], rules: 'r1' };
}

/** A batch, and where its steps are: none done, some, or all. */
function watched(batch: ApplyBatch): { batch: ApplyBatch; isUnderWay: () => boolean } {
  let done = 0;
  const onStep = (count: number): void => {
    done = count;
  };
  return { batch: { ...batch, onStep }, isUnderWay: () => done > 0 && done < batch.steps.length };
}

/** Does `work` each time the event loop comes round until the promise settles. */
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
  it('gives way to the event loop between its steps', async () => {
    await place.store.claimHead(0, 'v1', AT);
    const { batch, isUnderWay } = watched(batchOf(5000, 'v1'));
    let rounds = 0;
    const applying = onTickingClock(() => place.store.apply(batch));
    await meanwhile(applying, async () => {
      if (isUnderWay()) rounds += 1;
    });
    expect(rounds).toBeGreaterThan(0);
    expect((await place.store.appNames()).value).toHaveLength(5000);
  });

  it('lets reads see the state before it, and writes wait for it', async () => {
    await pass(place.store, [appStep('app-0', app('v0'))], 'v0');
    await place.store.claimHead(1, 'v1', AT);
    const { batch, isUnderWay } = watched({ ...batchOf(5000, 'v1'), sequence: 2 });
    const applying = onTickingClock(() => place.store.apply(batch));
    const restarting = place.store.restartApp('app-0', CONTEXT);
    let seen = 0;
    await meanwhile(applying, async () => {
      if (!isUnderWay()) return;
      const { value, revision } = await place.store.app('app-0');
      if (!isUnderWay()) return;
      expect([value?.content.container_image, value?.appId, revision]).toEqual(['v0', 1, 'v0']);
      seen += 1;
    });
    expect(seen).toBeGreaterThan(0);
    expect((await restarting)?.value).toMatchObject({ appId: 3, content: app('v1') });
    expect((await place.store.app('app-4999')).revision).toBe('v1');
  });

  it('is undone whole when a step in the middle fails, and holds up nothing after it', async () => {
    await pass(place.store, [appStep('app-1', app('v0')), groupStep('edge', group('app-1'))], 'v0');
    await place.store.claimHead(1, 'v1', AT);
    const before = await everything(place.store);
    outside(`CREATE TRIGGER fail BEFORE INSERT ON objects WHEN new.name = 'app-700'
             BEGIN SELECT RAISE(ABORT, 'boom'); END`);
    const batch = { ...batchOf(1000, 'v1'), sequence: 2 };
    expect(await rejection(place.store.apply(batch))).toBe('unavailable');
    expect(await everything(place.store)).toEqual(before);
    expect((await place.store.restartApp('app-1', CONTEXT))?.value.appId).toBe(2);
    outside('DROP TRIGGER fail');
    expect(await place.store.apply(batch)).toHaveLength(1000);
    expect(await appId(place.store, 'app-1')).toBe(3);
  });

  it('is undone whole when a step is none', async () => {
    await place.store.claimHead(0, 'v1', AT);
    const batch = batchOf(10, 'v1');
    const bad = appStep('bad', { ...app('x'), running: 1n as unknown as boolean });
    expect(await rejection(place.store.apply({ ...batch, steps: [...batch.steps, bad] }))).toBe('internal');
    expect((await place.store.appNames()).value).toEqual([]);
    expect(await place.store.apply(batch)).toHaveLength(10);
  });

  it('has not happened when the process dies on its way', async () => {
    await pass(place.store, [appStep('app-0', app('v0'))], 'v0');
    const before = await everything(place.store);
    const copy = `${place.path}.copy`;
    const onStep = (done: number): void => {
      if (done !== 4000) return;
      copyFileSync(place.path, copy);
      copyFileSync(`${place.path}-wal`, `${copy}-wal`);
    };
    await place.store.claimHead(1, 'v1', AT);
    await place.store.apply({ ...batchOf(5000, 'v1'), sequence: 2, onStep });
    const store = await openAt(copy);
    const { state, ...objects } = (await everything(store)) as Record<string, unknown>;
    const { state: _, ...expected } = before as Record<string, unknown>;
    expect(objects).toEqual(expected);
    expect(state).toMatchObject({ sequence: 2, applied: { revision: 'v0' } });
    await store.close();
  });
});

it('the log stays small after a long apply, however much is written then', async () => {
  await place.store.claimHead(0, 'v1', AT);
  await place.store.apply(batchOf(1000, 'v1'));
  const ids = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`group-${index}`, index]));
  for (let time = 0; time < 60; time++)
    await place.store.logOperation({ ...CONTEXT, action: 'prune-all', name: null, ids });
  expect(statSync(`${place.path}-wal`).size).toBeLessThan(25_000_000);
});

describe('a failed write in SQLite', () => {
  it('leaves nothing behind, and no transaction open', async () => {
    await pass(place.store, [appStep('web', app('nginx')), groupStep('edge', group('web'))]);
    const before = await everything(place.store);
    outside(`CREATE TRIGGER fail BEFORE INSERT ON operations BEGIN SELECT RAISE(ABORT, 'boom'); END`);
    expect(await rejection(place.store.restartApp('web', CONTEXT))).toBe('unavailable');
    expect(await rejection(place.store.pruneGroup('edge', CONTEXT))).toBe('unavailable');
    expect(await rejection(place.store.pruneAll(CONTEXT))).toBe('unavailable');
    expect(await everything(place.store)).toEqual(before);
    outside('DROP TRIGGER fail');
    expect((await place.store.restartApp('web', CONTEXT))?.value.appId).toBe(2);
  });

  it('keeps none of a list of reports', async () => {
    const report = (time: number) => ({ hostname: 'h', device_group: 'g', report_creation_time: time });
    outside(`CREATE TRIGGER fail AFTER INSERT ON reports WHEN new.created = 2
             BEGIN SELECT RAISE(ROLLBACK, 'boom'); END`);
    const call = place.store.insertReports([report(1), report(2), report(3)], AT);
    expect(await rejection(call)).toBe('unavailable');
    await place.store.insertReports([report(4)], AT);
    const { value } = await place.store.reports({ pageSize: 10 });
    expect(value.data.map((one) => one.report.report_creation_time)).toEqual([4]);
  });

  it('rejects as unavailable while another process holds the file, and works again afterwards', async () => {
    const other = new DatabaseSync(place.path);
    other.exec('BEGIN IMMEDIATE');
    const claim = place.store.claimHead(0, 'r1', AT);
    await expect(claim).rejects.toMatchObject({ kind: 'unavailable', details: { code: 'SQLITE_BUSY' } });
    expect((await place.store.state()).sequence).toBe(0);
    other.close();
    expect(await place.store.claimHead(0, 'r1', AT)).toBe(1);
  });
});

describe('two managers with one SQLite file', () => {
  it('claim a head once', async () => {
    const second = await openAt(place.path);
    const outcomes = await Promise.all(
      [place.store, second].map((store) => rejection(store.claimHead(0, 'r1', AT))),
    );
    expect(outcomes.sort()).toEqual(['conflict', 'none']);
    await second.close();
  });

  it('see each other’s work', async () => {
    const second = await openAt(place.path);
    await pass(place.store, [appStep('web', app('nginx'))], 'r1');
    expect((await second.restartApp('web', CONTEXT))?.value.appId).toBe(2);
    expect(await appId(place.store, 'web')).toBe(2);
    await second.close();
  });
});

describe('contents that an older version of the product stored', () => {
  const full = app('nginx', { networks: ['own'] });

  beforeEach(async () => {
    await pass(place.store, [appStep('web', full), groupStep('edge', group('web'))]);
    outside(
      `UPDATE objects SET content = json_remove(content, '$.rolling_restart', '$.devices') WHERE kind = 'app'`,
    );
  });

  it('get the fields that they lack wherever they are read', async () => {
    expect((await place.store.app('web')).value?.content).toEqual(full);
    expect((await place.store.groupInfo('edge'))?.apps[0]?.content).toEqual(full);
    const [object] = await place.store.appliedObjects();
    expect(object?.content).toEqual(full);
    expect((await place.store.restartApp('web', CONTEXT))?.value.content).toEqual(full);
  });

  it('are the same as contents that have these fields', async () => {
    const { hash } = (await counterOf(place.store, 'app', 'web'))!;
    expect(await pass(place.store, [appStep('web', full)])).toEqual([]);
    expect((await counterOf(place.store, 'app', 'web'))?.hash).toBe(hash);
    expect(await pass(place.store, [appStep('web', { ...full, rolling_restart: true })])).toHaveLength(1);
  });
});

describe('errors of SQLite', () => {
  it('name neither the file nor its folder', async () => {
    outside('DROP TABLE operations');
    const error = await place.store.restartApp('nobody', CONTEXT).catch((caught: unknown) => caught);
    expect(error).toBeNull();
    const failed = await place.store.operations(null, 1).catch((caught: unknown) => caught);
    expect(failed).toMatchObject({ kind: 'unavailable', message: 'the store failed' });
    expect(messageOf(failed) + JSON.stringify(failed)).not.toContain(place.path);
  });
});

it('takes reports again after another process has held the file', async () => {
  const report = { hostname: 'h', device_group: 'g', report_creation_time: 1, updated: true, report: {} };
  const other = new DatabaseSync(place.path);
  other.exec('BEGIN IMMEDIATE');
  expect(await rejection(place.store.insertReports([report], AT))).toBe('unavailable');
  other.exec('ROLLBACK');
  other.close();
  await place.store.insertReports([report], AT);
  expect((await place.store.reports({ pageSize: 10 })).value.data).toHaveLength(1);
});

describe('more rows than are read at once', () => {
  const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `app-${index}`);
  const stepsTo = (names: readonly string[], image: string) => names.map((name) => appStep(name, app(image)));

  it('counters gives each once', async () => {
    const names = namesOf(1200);
    await pass(place.store, stepsTo(names, 'nginx'));
    const given = (await place.store.counters(0)).map(({ name, last }) => `${name} ${last}`);
    expect(given.sort()).toEqual(names.map((name) => `${name} 1`).sort());
  });

  it('seedCounters lets every counter count as changed', async () => {
    await pass(place.store, stepsTo(namesOf(1200), 'x'));
    const { idSequence } = await place.store.state();
    expect(await place.store.counters(idSequence)).toEqual([]);
    await seed(place.store, { seeds: [], idSequence: 0 });
    const changed = await place.store.counters(idSequence);
    expect(new Set(changed.map(({ name }) => name)).size).toBe(1200);
  });

  it.each([1000, 1200])('changedForDevices leaves out none of %i', async (count) => {
    const names = namesOf(count);
    await pass(place.store, stepsTo(names, 'v1'));
    const before = await place.store.state();
    await pass(place.store, stepsTo(names, 'v2'));
    const changed = await place.store.changedForDevices(before);
    if (changed !== null) expect(new Set(changed.map(({ name }) => name))).toEqual(new Set(names));
  });
});
