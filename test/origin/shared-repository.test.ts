import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { idsOf, logged, statusOf, WEB, webId } from '../support/fleet-with-history.ts';
import { inDesiredState } from '../support/folder.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { recordFiles, recordOf } from '../support/record-files.ts';
import { refuseRecord } from './refuse-record.ts';

/** What one of the managers follows, and the ref of its record. */
interface Line {
  settings: Record<string, string>;
  record: string;
}

/** How a repository can hold two fleets. */
const LAYOUTS: [layout: string, lines: [Line, Line]][] = [
  [
    'two folders',
    [
      { settings: { DESIRED_STATE: 'desired-state' }, record: recordOf('desired-state', 'main') },
      { settings: { DESIRED_STATE: 'production' }, record: recordOf('production', 'main') },
    ],
  ],
  [
    'two branches',
    [
      { settings: { GIT_BRANCH: 'main' }, record: recordOf('desired-state', 'main') },
      { settings: { GIT_BRANCH: 'production' }, record: recordOf('desired-state', 'production') },
    ],
  ],
];

/** A clock that is an hour ahead, so that start floors lie above all ids that these tests raise so quickly. */
const later = (): number => Date.now() + 3_600_000;

/** An origin that has the small fleet in both folders of its branch, and a second branch at the same commit. */
async function originOfTwoFleets(): Promise<TestOrigin> {
  const origin = await testOrigin();
  const second = Object.entries(SMALL_FLEET).map(([path, text]) => [`production/${path}`, text]);
  await origin.push({ ...inDesiredState(SMALL_FLEET), ...Object.fromEntries(second) });
  await origin.bare.git('branch', 'production', 'main');
  return origin;
}

const startAt = (origin: TestOrigin, { settings }: Line, options = {}): Promise<TestManager> =>
  startFollower(origin, { settings, ...options });

/** Starts a manager for each line, and raises ids of both. */
async function startBoth(lines: readonly [Line, Line]): Promise<[TestOrigin, TestManager, TestManager]> {
  const origin = await originOfTwoFleets();
  const managers = [await startAt(origin, lines[0]), await startAt(origin, lines[1])] as const;
  for (const manager of managers) {
    await manager.post(`${WEB}/restart`);
    await manager.put(`${WEB}/update`, { privileged: true });
  }
  return [origin, ...managers];
}

/** Whether the record at origin has the manager's present id of `web`, and the manager reports no problem. */
async function isRecorded(origin: TestOrigin, manager: TestManager, { record }: Line): Promise<boolean> {
  const files = await recordFiles(origin.bare, record);
  const rows = Object.entries(files).flatMap(([name, text]) =>
    name === 'meta.json' ? [] : JSON.parse(text),
  );
  const row = rows.find(([kind, name]) => kind === 'app' && name === 'web');
  return row?.[2] === (await webId(manager)) && (await statusOf(manager)).ids_record.problem === null;
}

/** Checks that no manager reports or has logged a problem with its record. */
async function expectNoProblems(...managers: TestManager[]): Promise<void> {
  for (const manager of managers) {
    expect((await statusOf(manager)).ids_record.problem).toBeNull();
    expect(logged(manager, 'ids are not recorded')).toEqual([]);
  }
}

/** Stops a manager, deletes its data folder, and starts another one an hour later. */
async function loseAll(origin: TestOrigin, manager: TestManager, line: Line): Promise<TestManager> {
  await manager.stop();
  await rm(manager.dataFolder, { recursive: true });
  return startAt(origin, line, { dataFolder: manager.dataFolder, now: later });
}

describe.each(LAYOUTS)('two managers of one repository with %s', (_, lines) => {
  const [first, second] = lines;

  it('both record their ids, and restarts of both raise no id', async () => {
    const [origin, ...managers] = await startBoth(lines);
    for (const [index, manager] of managers.entries())
      await expect.poll(() => isRecorded(origin, manager, lines[index] ?? first)).toBe(true);
    await expectNoProblems(...managers);
    const before = await Promise.all(managers.map(idsOf));
    let [one, other] = managers as [TestManager, TestManager];
    for (let round = 0; round < 2; round++) {
      one = await one.restart();
      expect((await statusOf(one)).ids_seeded).toBeNull();
      other = await other.restart();
      expect((await statusOf(other)).ids_seeded).toBeNull();
    }
    expect([await idsOf(one), await idsOf(other)]).toEqual(before);
    await expectNoProblems(one, other);
    expect(
      (await origin.bare.git('for-each-ref', '--format=%(refname)', 'refs/holdfast')).split('\n'),
    ).toEqual([first.record, second.record].sort());
    await expectIntact(origin.url);
  });

  it('each keep their ids when one of them, and then the other, loses its data', async () => {
    const [origin, one, other] = await startBoth(lines);
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
    await expectNoProblems(next);
  });

  it('both record ids that rise at the same time, and report no problem', async () => {
    const [origin, one, other] = await startBoth(lines);
    for (let round = 0; round < 2; round++) {
      await Promise.all([one.post(`${WEB}/restart`), other.post(`${WEB}/restart`)]);
      await expect
        .poll(async () => [await isRecorded(origin, one, first), await isRecorded(origin, other, second)])
        .toEqual([true, true]);
    }
    await expectNoProblems(one, other);
  });

  it('leave a record that origin refused in the mirror, which counts although the other wrote to origin since', async () => {
    const [origin, one, other] = await startBoth(lines);
    await expect.poll(() => isRecorded(origin, one, first)).toBe(true);
    const acceptAgain = await refuseRecord(origin);
    await one.post(`${WEB}/restart`);
    const id = await webId(one);
    await one.stop();
    await acceptAgain();
    for (let round = 0; round < 2; round++) {
      await other.post(`${WEB}/restart`);
      await expect.poll(() => isRecorded(origin, other, second)).toBe(true);
    }
    await rm(join(one.dataFolder, 'store.sqlite'));
    const next = await startAt(origin, first, { dataFolder: one.dataFolder, now: later });
    expect(await webId(next)).toBe(id);
    await expect.poll(() => isRecorded(origin, next, first)).toBe(true);
    expect(await isRecorded(origin, other, second)).toBe(true);
  });
});

const [MAIN, PRODUCTION] = LAYOUTS[1]![1];

describe('a manager whose line has no record', () => {
  it('does not take over ids of another branch, and starts above all ids that its devices can have seen', async () => {
    const origin = await originOfTwoFleets();
    const staging = await startAt(origin, MAIN);
    const manager = await startAt(origin, PRODUCTION);
    for (let count = 0; count < 5; count++) await manager.post(`${WEB}/restart`);
    const served = await idsOf(manager);
    await manager.stop();
    await origin.bare.git('update-ref', '-d', PRODUCTION.record);
    await staging.post(`${WEB}/restart`);
    await staging.stop();
    const next = await loseAll(origin, manager, PRODUCTION);
    expect((await statusOf(next)).ids_seeded).toMatchObject({ record: 'none', kept: 0 });
    for (const [name, id] of Object.entries(await idsOf(next))) expect(id).toBeGreaterThan(served[name] ?? 0);
  });

  it('but has its store keeps its ids and records them', async () => {
    const origin = await originOfTwoFleets();
    const manager = await startAt(origin, MAIN);
    await manager.post(`${WEB}/restart`);
    const before = await idsOf(manager);
    await manager.stop();
    const moved = await startAt(origin, PRODUCTION, { dataFolder: manager.dataFolder });
    expect(await idsOf(moved)).toEqual(before);
    await expect.poll(() => isRecorded(origin, moved, PRODUCTION)).toBe(true);
  });
});
