import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { idsOf, logged, statusOf, WEB, webId } from '../support/fleet-with-history.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { expectIntact } from '../support/intact.ts';
import { copyData, RECORD } from '../support/lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { recordFiles, sectionOf } from '../support/record-files.ts';

interface Line {
  settings: Record<string, string>;
  section: string;
}

/** Two fleets of one repository, and their settings. */
const LAYOUTS: { what: string; lines: [Line, Line] }[] = [
  {
    what: 'two folders',
    lines: [
      { settings: { DESIRED_STATE: 'desired-state' }, section: sectionOf('desired-state', 'main') },
      { settings: { DESIRED_STATE: 'production' }, section: sectionOf('production', 'main') },
    ],
  },
  {
    what: 'two branches',
    lines: [
      { settings: { GIT_BRANCH: 'main' }, section: sectionOf('desired-state', 'main') },
      { settings: { GIT_BRANCH: 'production' }, section: sectionOf('desired-state', 'production') },
    ],
  },
];

/** An hour later: ids that were given in a hurry lie behind it. */
const later = (): number => Date.now() + 3_600_000;

async function fleets(): Promise<TestOrigin> {
  const origin = await testOrigin();
  const beside = Object.entries(SMALL_FLEET).map(([path, text]) => [`production/${path}`, text]);
  await origin.push({ ...inDesiredState(SMALL_FLEET), ...Object.fromEntries(beside) });
  await origin.bare.git('branch', 'production', 'main');
  // Pushes of two managers wait for each other here: the tenth of a second that is usual can be over on a slow machine.
  await origin.bare.git('config', 'core.filesRefLockTimeout', '60000');
  return origin;
}

const start = (origin: TestOrigin, { settings }: Line, options = {}): Promise<TestManager> =>
  startFollower(origin, { settings, ...options });

async function both(lines: readonly [Line, Line]): Promise<[TestOrigin, TestManager, TestManager]> {
  const origin = await fleets();
  const managers = [await start(origin, lines[0]), await start(origin, lines[1])] as const;
  for (const manager of managers) {
    await manager.post(`${WEB}/restart`);
    await manager.put(`${WEB}/update`, { privileged: true });
  }
  return [origin, ...managers];
}

/** Whether the record at origin has all that a manager has applied. */
async function isRecorded(origin: TestOrigin, manager: TestManager, { section }: Line): Promise<boolean> {
  const files = await recordFiles(origin.bare, section);
  const rows = Object.entries(files).flatMap(([name, text]) =>
    name === 'meta.json' ? [] : JSON.parse(text),
  );
  const row = rows.find(([kind, name]) => kind === 'app' && name === 'web');
  return row?.[2] === (await webId(manager)) && (await statusOf(manager)).ids_record.problem === null;
}

async function expectQuiet(...managers: TestManager[]): Promise<void> {
  for (const manager of managers) {
    expect((await statusOf(manager)).ids_record.problem).toBeNull();
    expect(logged(manager, 'ids are not recorded')).toEqual([]);
  }
}

/** Loses everything that a manager kept, and starts another one. */
async function loseAll(origin: TestOrigin, manager: TestManager, line: Line): Promise<TestManager> {
  await manager.stop();
  await rm(manager.dataFolder, { recursive: true });
  return start(origin, line, { dataFolder: manager.dataFolder, now: later });
}

describe.each(LAYOUTS)('two managers of one repository, $what', ({ lines }) => {
  const [first, second] = lines;

  it('both record, and a start of one in turn with the other raises nothing', async () => {
    const [origin, ...managers] = await both(lines);
    for (const [index, manager] of managers.entries())
      await expect.poll(() => isRecorded(origin, manager, lines[index] ?? first)).toBe(true);
    await expectQuiet(...managers);
    const before = await Promise.all(managers.map(idsOf));
    let [one, other] = managers as [TestManager, TestManager];
    for (let turn = 0; turn < 2; turn++) {
      one = await one.restart();
      expect((await statusOf(one)).ids_seeded).toBeNull();
      other = await other.restart();
      expect((await statusOf(other)).ids_seeded).toBeNull();
    }
    expect([await idsOf(one), await idsOf(other)]).toEqual(before);
    await expectQuiet(one, other);
    expect((await origin.bare.git('ls-tree', '--name-only', RECORD)).split('\n').sort()).toEqual(
      [first.section, second.section].sort(),
    );
    await expectIntact(origin.url);
  });

  it('the loss of one restarts nothing, neither there nor at the other', async () => {
    const [origin, one, other] = await both(lines);
    const [ofOne, ofOther] = [await idsOf(one), await idsOf(other)];
    const next = await loseAll(origin, one, first);
    expect((await statusOf(next)).ids_seeded).toMatchObject({
      cause: 'no-counters',
      record: 'used',
      kept: 3,
    });
    expect(await idsOf(next)).toEqual(ofOne);
    const again = await other.restart();
    expect((await statusOf(again)).ids_seeded).toBeNull();
    expect(await idsOf(again)).toEqual(ofOther);
    expect(await idsOf(await loseAll(origin, again, second))).toEqual(ofOther);
    await expectQuiet(next);
  });

  it('write at the same time: both get through soon, and neither speaks of the other', async () => {
    const [origin, one, other] = await both(lines);
    for (let round = 0; round < 2; round++) {
      await Promise.all([one.post(`${WEB}/restart`), other.post(`${WEB}/restart`)]);
      await expect
        .poll(async () => [await isRecorded(origin, one, first), await isRecorded(origin, other, second)])
        .toEqual([true, true]);
    }
    await expectQuiet(one, other);
  });

  it('origin took the record of one no more: it counts in the mirror, whatever the other writes', async () => {
    const [origin, one, other] = await both(lines);
    await expect.poll(() => isRecorded(origin, one, first)).toBe(true);
    const hook = join(origin.url, 'hooks/update');
    await writeFile(hook, '#!/bin/sh\ncase "$1" in refs/heads/*) exit 0 ;; esac\nexit 1\n', { mode: 0o755 });
    await one.post(`${WEB}/restart`);
    const id = await webId(one);
    await one.stop();
    await rm(hook);
    for (let turn = 0; turn < 2; turn++) {
      await other.post(`${WEB}/restart`);
      await expect.poll(() => isRecorded(origin, other, second)).toBe(true);
    }
    await rm(join(one.dataFolder, 'store.sqlite'));
    const next = await start(origin, first, { dataFolder: one.dataFolder, now: later });
    expect(await webId(next)).toBe(id);
    await expect.poll(() => isRecorded(origin, next, first)).toBe(true);
    expect(await isRecorded(origin, other, second)).toBe(true);
  });

  it('the section of one is damaged: its manager alone says so, and writes it anew', async () => {
    const [origin, one, other] = await both(lines);
    // One after the other: the last versions of two that stop together are in each other's way at origin.
    for (const manager of [one, other]) await manager.stop();
    const { bare } = origin;
    const blob = await bare.git('rev-parse', 'main:desired-state/apps/web.yaml');
    const index = { GIT_INDEX_FILE: join(await temporaryFolder(), 'index') };
    const inIndex = (...args: string[]) =>
      bare.git('-c', `alias.x=!GIT_INDEX_FILE=${index.GIT_INDEX_FILE} git`, 'x', ...args);
    await inIndex('read-tree', RECORD);
    await inIndex('update-index', '--add', '--cacheinfo', `100644,${blob},${second.section}/more`);
    const tip = await bare.git('commit-tree', await inIndex('write-tree'), '-m', 'x');
    await bare.git('update-ref', RECORD, tip);
    const next = await loseAll(origin, one, first);
    expect((await statusOf(next)).ids_seeded).toMatchObject({ record: 'used', kept: 3 });
    expect(await bare.git('rev-parse', `${RECORD}:${second.section}`)).toBe(
      await bare.git('rev-parse', `${tip}:${second.section}`),
    );
    const lost = await loseAll(origin, other, second);
    expect((await statusOf(lost)).ids_seeded).toMatchObject({ record: 'damaged', kept: 0 });
    await expect.poll(() => isRecorded(origin, lost, second)).toBe(true);
    expect((await statusOf(next)).ids_record.replaced).toBeNull();
  });
});

describe('a manager whose line has no section', () => {
  const [main, production] = LAYOUTS[1]!.lines;

  it('never takes the ids of another branch: its devices may have seen higher ones', async () => {
    const origin = await fleets();
    const staging = await start(origin, main);
    const manager = await start(origin, production);
    for (let count = 0; count < 5; count++) await manager.post(`${WEB}/restart`);
    const served = await idsOf(manager);
    await manager.stop();
    await origin.bare.git('update-ref', '-d', RECORD);
    await staging.post(`${WEB}/restart`);
    await staging.stop();
    const next = await loseAll(origin, manager, production);
    expect((await statusOf(next)).ids_seeded).toMatchObject({ record: 'none', kept: 0 });
    for (const [name, id] of Object.entries(await idsOf(next))) expect(id).toBeGreaterThan(served[name] ?? 0);
  });

  it('goes on above all that the record has, whatever the clock says: its devices may come from there', async () => {
    const origin = await fleets();
    const manager = await start(origin, main, { now: () => Date.now() + 1_000_000_000 });
    const before = await idsOf(manager);
    await manager.stop();
    const next = await start(origin, production);
    for (const [name, id] of Object.entries(await idsOf(next))) expect(id).toBeGreaterThan(before[name] ?? 0);
  });

  it('and that has its store keeps its ids, and records them', async () => {
    const origin = await fleets();
    const manager = await start(origin, main);
    await manager.post(`${WEB}/restart`);
    const before = await idsOf(manager);
    await manager.stop();
    const moved = await start(origin, production, { dataFolder: manager.dataFolder });
    expect(await idsOf(moved)).toEqual(before);
    await expect.poll(() => isRecorded(origin, moved, production)).toBe(true);
  });

  it('and that came back without its store to the line that it left knows that devices went along', async () => {
    const origin = await fleets();
    const manager = await start(origin, main);
    await manager.stop();
    const moved = await start(origin, production, { dataFolder: manager.dataFolder });
    await moved.put(`${WEB}/update`, { privileged: true });
    const served = await idsOf(moved);
    const back = await loseAll(origin, moved, main);
    expect((await statusOf(back)).ids_seeded).toMatchObject({ record: 'used', kept: 0 });
    for (const [name, id] of Object.entries(await idsOf(back))) expect(id).toBeGreaterThan(served[name] ?? 0);
  });

  it('and that has an old copy of its store knows from the section of the other branch that it is old', async () => {
    const origin = await fleets();
    const manager = await start(origin, main);
    await manager.stop();
    const copy = await copyData(manager);
    const again = await manager.restart();
    await again.put(`${WEB}/update`, { privileged: true });
    const served = await webId(again);
    await again.put(`${WEB}/update`, { privileged: false });
    await again.stop();
    await rm(manager.dataFolder, { recursive: true });
    await cp(copy, manager.dataFolder, { recursive: true });
    // On `production` the app is what the copy has; devices that are away may have seen another content since.
    const moved = await startManager({
      repository: origin.person,
      dataFolder: manager.dataFolder,
      settings: { GIT_REMOTE: origin.url, ...production.settings, DESIRED_STATE: 'desired-state' },
      now: later,
    });
    expect((await statusOf(moved)).ids_seeded).toMatchObject({
      cause: 'older-than-record',
      record: 'used',
      kept: 0,
    });
    expect(await webId(moved)).toBeGreaterThan(served + 1);
  });
});
