import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CRON_FILE,
  commitAndApply,
  expectFollows,
  idsOf,
  logged,
  seededOf,
  startFleetWithHistory,
  startRecordedFleet,
  statusOf,
  WEB,
  WEB_A,
  WEB_B,
  WEB_C,
  WEB_FILE,
  waitForRecord,
  webId,
} from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { initRepository, repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import {
  type Act,
  commit,
  commitUnseen,
  git,
  keepData,
  keepRecord,
  lose,
  mark,
  merge,
  poll,
  prune,
  restart,
  restore,
  startAgain,
  tell,
} from '../support/ids-story.ts';
import { loseStore, recordTip, setRecord } from '../support/lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { testOrigin } from '../support/origin.ts';
import { changeMeta, RECORD, recordFiles, replaceRecord } from '../support/record-files.ts';
import { Worker } from '../support/worker.ts';

const NO_COUNTERS = { cause: 'no-counters', record: 'used' };
const CRON_2 = { [CRON_FILE]: 'container_image: busybox:2\n' };
/** The app `web` changes to WEB_B at the commit `old`, and is WEB_A again at the commit `now`. */
const CHANGED_BACK = [commit({ [WEB_FILE]: WEB_B }), mark('old'), commit({ [WEB_FILE]: WEB_A }), mark('now')];

/** How a story ends: at least one id has the floor, or all are as before; `restarts` are those of the device's next poll. */
interface End {
  /** The names whose ids have the floor. All others are as before. */
  floor?: readonly string[];
  /** `ids_seeded` in the status. */
  seeded: object | null;
  restarts?: readonly string[];
}

const ALL = ['app cron', 'app web', 'group edge', 'prune edge'];

const STORIES: readonly (readonly [what: string, acts: readonly Act[], end: End])[] = [
  [
    'is lost: every id is kept, and nothing restarts',
    [lose()],
    { seeded: { ...NO_COUNTERS, kept: 3 }, restarts: [] },
  ],
  [
    'is lost again and again, with changes in between: every id is kept',
    [WEB_B, WEB_A, WEB_C].flatMap((text) => [lose(), commit({ [WEB_FILE]: text }), poll]).concat(lose()),
    { seeded: NO_COUNTERS, restarts: [] },
  ],
  [
    'is lost, and a commit changes an app meanwhile: only that restarts',
    [lose({ act: commitUnseen({ [WEB_FILE]: WEB_B }) })],
    { floor: ['app web'], seeded: { ...NO_COUNTERS, kept: 2 }, restarts: ['restart web'] },
  ],
  [
    'is lost after commits of comments, and outside the folder: every id is kept',
    [commit({ [WEB_FILE]: `# a comment\n${WEB_A}` }), commitUnseen({ 'elsewhere.txt': 'x' }), lose()],
    { seeded: NO_COUNTERS },
  ],
  [
    'is lost after an app was changed and changed back since it was recorded: the app gets a new id',
    [
      commit(CRON_2),
      keepRecord,
      commit({ [WEB_FILE]: WEB_B }),
      poll,
      commit({ [WEB_FILE]: WEB_A }),
      lose({ record: 'as kept' }),
    ],
    { floor: ['app web'], seeded: NO_COUNTERS },
  ],
  [
    'is lost after restarts and prunes that were not recorded: their next change is higher',
    [keepRecord, restart(), prune, poll, lose({ record: 'as kept' })],
    { seeded: NO_COUNTERS },
  ],
  [
    'is lost with its record: every id has the floor',
    [lose({ record: 'deleted' })],
    { floor: ALL, seeded: { cause: 'no-counters', record: 'none' } },
  ],
  [
    'is lost, and the history is replaced by one that does not descend from the recorded revision: every id has the floor',
    [
      lose({
        act: async ({ repository }) => {
          await repository.git('checkout', '--quiet', '--orphan', 'other');
          await repository.commit({ 'elsewhere.txt': 'x' }, 'a new history');
          await repository.git('branch', '--quiet', '-M', 'main');
        },
      }),
    ],
    { floor: ['app cron', 'app web', 'group edge', 'prune edge'], seeded: { ...NO_COUNTERS, kept: 0 } },
  ],
  [
    'is lost after a rewrite of the history that was recorded: every id is kept',
    [git('commit', '--quiet', '--amend', '-m', 'reworded'), lose()],
    { seeded: NO_COUNTERS },
  ],
  [
    'is lost after one merge had brought old content back, and another one had replaced it: the app gets a new id',
    [
      ...CHANGED_BACK,
      poll,
      keepRecord,
      merge('HEAD', 'old', 'old', 'now'),
      poll,
      merge('beside', 'now', 'now'),
      merge('HEAD', 'now', 'beside', 'HEAD'),
      lose({ record: 'as kept' }),
    ],
    { floor: ['app web'], seeded: NO_COUNTERS },
  ],
  [
    'is lost after a merge of an older branch that changed nothing: every id is kept',
    [...CHANGED_BACK, poll, keepRecord, merge('HEAD', 'now', 'now', 'old'), lose({ record: 'as kept' })],
    { seeded: NO_COUNTERS, restarts: [] },
  ],
  [
    'is lost after an octopus merge, its revert and a cherry-pick: what changed gets a new id',
    [
      ...CHANGED_BACK,
      poll,
      keepRecord,
      merge('one', 'now', 'now'),
      merge('other', 'old', 'old', 'now'),
      merge('HEAD', 'old', 'now', 'one', 'other'),
      poll,
      git('revert', '--no-edit', '-m', '1', 'HEAD'),
      commit(CRON_2),
      git('cherry-pick', '--allow-empty', '--keep-redundant-commits', 'HEAD'),
      lose({ record: 'as kept' }),
    ],
    { floor: ['app web', 'app cron'], seeded: NO_COUNTERS },
  ],
  [
    'is replaced by an old copy: recorded ids are kept',
    [keepData, commit({ [WEB_FILE]: WEB_B }), restart('/api/v2/apps/cron'), prune, poll, restore()],
    { seeded: { cause: 'older-than-record', record: 'used' }, restarts: [] },
  ],
  [
    'is replaced by an old copy after an app was changed and changed back since it was recorded: the app gets a new id',
    [
      keepData,
      commit(CRON_2),
      keepRecord,
      commit({ [WEB_FILE]: WEB_B }),
      poll,
      commit({ [WEB_FILE]: WEB_A }),
      restore({ record: 'as kept' }),
    ],
    { floor: ['app web'], seeded: { cause: 'older-than-record', record: 'used' } },
  ],
  [
    'is replaced by an old copy after a new store wrote the record again: the ids of the new store are kept',
    [
      keepData,
      lose({ record: 'deleted' }),
      commit({ [WEB_FILE]: WEB_B, 'desired-state/apps/new.yaml': 'container_image: new:1\n' }),
      poll,
      restore(),
    ],
    { seeded: { cause: 'another-store', record: 'used' }, restarts: [] },
  ],
  [
    'is replaced by a copy as new as the record: nothing changes',
    [keepData, restore()],
    { seeded: null, restarts: [] },
  ],
  [
    'is replaced by a copy, and its record is lost: it goes on with its ids',
    [keepData, restore({ record: 'deleted' })],
    { seeded: null, restarts: [] },
  ],
  [
    'is newer than its record: nothing changes',
    [
      keepRecord,
      commit({ [WEB_FILE]: WEB_B }),
      poll,
      startAgain({ act: ({ manager, record }) => setRecord(manager, record.tip) }),
    ],
    { seeded: null, restarts: [] },
  ],
];

describe('a store', () => {
  it.each(STORIES)('that %s', async (_, acts, { floor = [], seeded, restarts }) => {
    const story = await tell(acts);
    const { manager, worker, ids } = story;
    const found = await seededOf(manager);
    if (seeded === null) expect(found).toBeNull();
    else expect(found).toMatchObject(seeded);
    const expected = { ...ids, ...Object.fromEntries(floor.map((name) => [name, found.floor])) };
    expect(await idsOf(manager)).toEqual(expected);
    const body = await worker.poll(manager);
    if (restarts !== undefined) expect(worker.actions).toEqual(restarts);
    expect(worker.agreesWith(body)).toBe(true);
    await waitForRecord(manager);
    await expectFollows(worker, manager);
    if (found === null) return;
    await manager.post('/api/v2/prune');
    await manager.post('/api/v2/apps/cron/restart');
    const next = await idsOf(manager);
    for (const name of ['app cron', 'app web', 'prune edge'])
      expect(next[name]).toBeGreaterThanOrEqual(found.floor);
  });
});

describe('a lost store', () => {
  it('continues a deleted name at the floor, and starts an unknown name at 1', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/gone', { container_image: 'a' });
    await manager.delete('/api/v2/apps/gone');
    const next = await loseStore(manager);
    const { floor } = await seededOf(next);
    const { body } = await next.post('/api/v2/apps/gone', { container_image: 'a' });
    expect(body.app_id).toBe(floor);
    expect((await next.post('/api/v2/apps/never', { container_image: 'a' })).body.app_id).toBe(1);
  });

  it('without a record takes the time of the newest commit as the floor if the clock was set back', async () => {
    let clock = Date.now();
    const [manager, worker] = await startFleetWithHistory({ now: () => clock });
    clock += 3_600_000;
    await manager.put(`${WEB}/update`, { privileged: true });
    await worker.poll(manager);
    const next = await loseStore(manager, () => setRecord(manager, ''), { now: () => 1000 });
    expect((await seededOf(next)).floor).toBe(Math.floor(clock / 1000));
    await expectFollows(worker, next);
  });

  it('sets the floor above the highest recorded id if the clock was set back', async () => {
    const future = Date.now() + 1e12;
    const [manager, worker] = await startFleetWithHistory({ now: () => future });
    const highest = Math.max(...Object.values(await idsOf(manager)));
    expect(highest).toBeGreaterThanOrEqual(future / 1000);
    const { now } = Date;
    const next = await loseStore(manager, () => manager.repository.commit({ [WEB_FILE]: WEB_B }), { now });
    expect((await seededOf(next)).floor).toBeGreaterThan(highest);
    await expectFollows(worker, next);
  });
});

describe('a store of a shallow clone that is lost', () => {
  it('keeps the recorded ids at the recorded revision; all other names start at the floor', async () => {
    const origin = await testRepository();
    await origin.commit({ [WEB_FILE]: WEB_A, [CRON_FILE]: 'container_image: busybox\n' });
    await origin.commit({ 'desired-state/device-groups/edge.yaml': 'apps: [web, cron]\n' });
    const folder = await temporaryFolder();
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const manager = await startManager({ repository: repositoryAt(folder) });
    const worker = new Worker();
    await manager.post(`${WEB}/restart`);
    await worker.poll(manager);
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    const { floor, history_is_complete } = await seededOf(next);
    expect(history_is_complete).toBe(false);
    const { body } = await next.post('/api/v2/apps/unheard-of', { container_image: 'a' });
    expect(body.app_id).toBe(floor);
    await expectFollows(worker, next);
  });

  it('keeps no recorded id if commits came after the recorded revision', async () => {
    const origin = await testRepository();
    await origin.commit({ 'a.txt': '' });
    await origin.commit({ [WEB_FILE]: WEB_A, 'desired-state/device-groups/edge.yaml': 'apps: [web]\n' });
    const folder = await temporaryFolder();
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const manager = await startManager({ repository: repositoryAt(folder) });
    const worker = new Worker();
    await worker.poll(manager);
    const next = await loseStore(manager, () => manager.repository.commit({ 'elsewhere.txt': 'x' }));
    expect(await seededOf(next)).toMatchObject({ record: 'used', kept: 0 });
    await expectFollows(worker, next);
  });
});

/** Completes `a record that ...`, and does it. */
type Damage = [what: string, damage: (manager: TestManager) => Promise<unknown>];

const DAMAGES: Damage[] = [
  ['has other files', ({ repository }) => replaceRecord(repository, { 'notes.txt': 'hello\n' })],
  [
    'lacks a file',
    async ({ repository }) => {
      const { '00.json': _, ...files } = await recordFiles(repository);
      const [missing] = Object.keys(files).filter((name) => name !== 'meta.json');
      const left = Object.entries(files).filter(([name]) => name !== missing);
      await replaceRecord(repository, Object.fromEntries(left));
    },
  ],
  ['has the unknown version 0', ({ repository }) => changeMeta(repository, { format: 0 })],
  [
    'has a format that only a later version of Holdfast reads',
    ({ repository }) => changeMeta(repository, { format: 2, more: true }),
  ],
  [
    'is a blob',
    async ({ repository: { git } }) =>
      git('update-ref', RECORD, await git('rev-parse', 'HEAD:desired-state/apps/web.yaml')),
  ],
  [
    'is a ref to a missing object',
    ({ repository }) => writeFile(join(repository.folder, '.git', RECORD), `${'1'.repeat(40)}\n`),
  ],
  [
    'has a folder',
    async ({ repository }) =>
      replaceRecord(repository, { ...(await recordFiles(repository)), 'more/of.it': 'x' }),
  ],
  [
    'is too large',
    async ({ repository }) =>
      replaceRecord(repository, { ...(await recordFiles(repository)), 'aa.json': ' '.repeat(2 ** 24 + 1) }),
  ],
  ['names another folder', ({ repository }) => changeMeta(repository, { folder: 'other' })],
  [
    'names a branch, which a clone does not have',
    ({ repository }) => changeMeta(repository, { branch: 'refs/heads/main' }),
  ],
  ['has ids above its stated highest id', ({ repository }) => changeMeta(repository, { highest: 7 })],
];

describe('a damaged record', () => {
  it.each(DAMAGES)(
    'that %s is reported and rewritten after a lost store, which starts at the floor',
    async (_, damage) => {
      const [manager, worker] = await startRecordedFleet();
      await manager.stop();
      await damage(manager);
      const next = await loseStore(manager);
      const { ids_seeded, ids_record, state } = await statusOf(next);
      expect(state).toBe('applied');
      expect(ids_seeded).toMatchObject({ cause: 'no-counters', record: 'damaged', kept: 0 });
      expect(await webId(next)).toBe(ids_seeded.floor);
      expect(ids_record).toMatchObject({ problem: null, replaced: { message: expect.any(String) } });
      expect(logged(next, 'the record of ids could not be read and was rewritten')).toHaveLength(1);
      await expectFollows(worker, next);
      const before = await webId(next);
      expect(await webId(await loseStore(next))).toBe(before);
    },
  );

  it.each([...DAMAGES.slice(0, 1), ...DAMAGES.filter(([what]) => what.startsWith('is a ref'))])(
    'that %s is rewritten from an intact store',
    async (_, damage) => {
      const [manager, worker] = await startRecordedFleet();
      await manager.stop();
      await damage(manager);
      const next = await manager.restart();
      await expect.poll(async () => (await statusOf(next)).ids_record.replaced).not.toBeNull();
      expect((await statusOf(next)).ids_seeded).toBeNull();
      await expectFollows(worker, next);
      const before = await webId(next);
      expect(await webId(await loseStore(next))).toBe(before);
    },
  );
});

/** The highest id that is read from a record. */
const LIMIT = 2 ** 52;

describe('a record whose numbers have reached their limit', () => {
  it.each<[string, (files: Record<string, string>) => Record<string, string>]>([
    ['the ids', (files) => mapFiles(files, (row) => row.with(2, LIMIT), { highest: LIMIT })],
    ['the sequence', (files) => mapFiles(files, (row) => row, { idSequence: LIMIT })],
  ])('%s: writes go on, higher numbers are not recorded, and the status says so', async (_, raise) => {
    const [manager] = await startRecordedFleet();
    await manager.stop();
    const { repository } = manager;
    await replaceRecord(repository, raise(await recordFiles(repository)));
    const next = await loseStore(manager);
    expect((await next.put(`${WEB}/update`, { container_image: 'changed:1' })).status).toBe(202);
    expect(await webId(next)).toBeLessThan(Number.MAX_SAFE_INTEGER);
    const problem = async () => (await statusOf(next)).ids_record.problem?.message;
    await expect.poll(problem).toMatch(/reached their limit/);
    const again = await next.restart();
    await expect.poll(async () => (await statusOf(again)).ids_record.problem).not.toBeNull();
    expect((await statusOf(again)).ids_record.replaced).toBeNull();
    expect((await again.get(WEB)).body.container_image).toBe('changed:1');
  });
});

/** Changes the rows of all files, and the fields of `meta` in `meta.json`. */
function mapFiles(
  files: Readonly<Record<string, string>>,
  change: (row: unknown[]) => unknown[],
  meta: object,
): Record<string, string> {
  const entries = Object.entries(files).map(([name, text]): [string, string] => {
    const value = JSON.parse(text);
    return [name, JSON.stringify(name === 'meta.json' ? { ...value, ...meta } : value.map(change))];
  });
  return Object.fromEntries(entries);
}

describe('a record of ids that cannot be written', () => {
  it('is logged once, is in the status, fails no pass, and is written once that is possible', async () => {
    const [manager, worker] = await startRecordedFleet();
    const lock = join(manager.repository.folder, '.git', `${RECORD}.lock`);
    // A lock that is a file would be removed after two seconds, as that of a dead process.
    await mkdir(lock);
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).not.toBeNull();
    const { since } = (await statusOf(manager)).ids_record.problem;
    await expectFollows(worker, manager);
    expect((await statusOf(manager)).state).toBe('applied');
    expect((await manager.reconcile()).body.error).toBeNull();
    expect((await statusOf(manager)).ids_record.problem.since).toBe(since);
    await rmdir(lock);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
    expect(logged(manager, 'ids are not recorded')).toHaveLength(1);
    expect(logged(manager, 'ids are recorded again')).toHaveLength(1);
    const before = await webId(manager);
    expect(await webId(await loseStore(manager))).toBe(before);
  });

  it('is still read after a lost store, whose ids it keeps', async () => {
    const [manager, worker] = await startRecordedFleet();
    const before = await webId(manager);
    const lock = join(manager.repository.folder, '.git', `${RECORD}.lock`);
    const next = await loseStore(manager, () => mkdir(lock));
    expect(await webId(next)).toBe(before);
    await expect.poll(async () => (await statusOf(next)).ids_record.problem).not.toBeNull();
    await rmdir(lock);
    await next.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(next)).ids_record.problem).toBeNull();
    await expectFollows(worker, next);
    const last = await webId(next);
    expect(await webId(await loseStore(next))).toBe(last);
  });
});

describe('a symbolic ref in place of the record of ids', () => {
  it('is replaced, and the branch that it names does not move', async () => {
    const [manager] = await startRecordedFleet();
    const { git } = manager.repository;
    const head = await git('rev-parse', 'main');
    await git('symbolic-ref', RECORD, 'refs/heads/main');
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await git('rev-parse', 'main')).toBe(head);
    expect(await git('rev-parse', RECORD)).not.toBe(head);
  });
});

describe('the record of ids', () => {
  it('is written again with the next change after a user deleted it', async () => {
    const [manager] = await startFleetWithHistory();
    await waitForRecord(manager);
    await setRecord(manager, '');
    await manager.post(`${WEB}/restart`);
    await expect.poll(() => recordTip(manager), { timeout: 60_000 }).not.toBe('');
    const before = await idsOf(manager);
    expect(await idsOf(await loseStore(manager))).toEqual(before);
    expect(manager.log.filter(({ msg }) => msg === 'ids are not recorded')).toEqual([]);
  });

  it('is a chain of commits of the manager', async () => {
    const [manager] = await startFleetWithHistory();
    const before = await waitForRecord(manager);
    await commitAndApply(manager, { [WEB_FILE]: WEB_B });
    await waitForRecord(manager);
    expect(await manager.repository.git('rev-parse', `${RECORD}~1`)).toBe(before);
    expect(await manager.repository.git('log', '-1', '--format=%cn', RECORD)).toBe('Holdfast');
  });

  it('has every counter, also of deleted names, and names its folder and revision', async () => {
    const [manager] = await startRecordedFleet();
    await manager.post('/api/v2/apps/gone', { container_image: 'a' });
    await manager.delete('/api/v2/apps/gone');
    const { revision_applied } = await statusOf(manager);
    await manager.stop();
    const { 'meta.json': meta, ...shards } = await recordFiles(manager.repository);
    expect(JSON.parse(meta ?? '')).toMatchObject({
      format: 1,
      folder: 'desired-state',
      revision: revision_applied,
      rows: 5,
    });
    const rows = Object.values(shards).flatMap((text) => JSON.parse(text));
    expect(rows.map(([kind, name]) => `${kind} ${name}`).sort()).toEqual([
      'app cron',
      'app gone',
      'app web',
      'device_group edge',
      'prune edge',
    ]);
    expect(rows.find(([, name]) => name === 'gone')).toEqual(['app', 'gone', 1, null]);
  });

  it('changes in meta.json and one file of rows when one id rises', async () => {
    const [manager] = await startRecordedFleet();
    const before = await recordTip(manager);
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    const changed = await manager.repository.git('diff', '--name-only', before, RECORD);
    expect(changed.split('\n')).toHaveLength(2);
    expect(changed).toContain('meta.json');
  });

  it('is written even while ids keep rising', async () => {
    const [manager] = await startRecordedFleet();
    const before = await recordTip(manager);
    await expect
      .poll(
        async () => {
          await manager.post(`${WEB}/restart`);
          return recordTip(manager);
        },
        { timeout: 60_000, interval: 200 },
      )
      .not.toBe(before);
  });

  it('is not written if no id rose', async () => {
    const [manager] = await startRecordedFleet();
    const before = await recordTip(manager);
    await manager.repository.commit({ 'elsewhere.txt': 'x' });
    await manager.reconcile();
    await (await manager.restart()).stop();
    expect(await recordTip(manager)).toBe(before);
  });

  it('leaves the checkout as it is', async () => {
    const [manager] = await startRecordedFleet();
    await mkdir(join(manager.repository.folder, 'untracked'));
    await writeFile(join(manager.repository.folder, 'untracked/file'), 'x');
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await manager.repository.git('status', '--porcelain')).toBe('?? untracked/');
    await manager.repository.git('fsck', '--strict');
  });
});

/** `meta.json` of another store: the same but for the fleet id and the highest id. */
function metaOfAnotherStore(files: Readonly<Record<string, string>>, highest: number): string {
  return JSON.stringify({ ...JSON.parse(files['meta.json'] ?? ''), fleet: 'f'.repeat(32), highest });
}

describe('the record of another store', () => {
  it('that appears while a manager runs is kept and logged once; the next start continues above it', async () => {
    const [manager, worker] = await startRecordedFleet();
    const files = await recordFiles(manager.repository);
    const { ids_seeded } = await statusOf(manager);
    const otherId = ids_seeded.floor + 1000;
    for (const [name, text] of Object.entries(files))
      files[name] = text.replace(new RegExp(`"web",${ids_seeded.floor}`), `"web",${otherId}`);
    await replaceRecord(manager.repository, { ...files, 'meta.json': metaOfAnotherStore(files, otherId) });
    const tree = (): Promise<string> => manager.repository.git('rev-parse', `${RECORD}^{tree}`);
    const before = await tree();
    await expectFollows(worker, manager);
    await expect
      .poll(async () => (await statusOf(manager)).ids_record.problem?.message)
      .toMatch(/another manager/);
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await tree()).toBe(before);
    expect(logged(manager, 'ids are not recorded')).toHaveLength(1);

    const next = await manager.restart();
    expect((await statusOf(next)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect((await statusOf(next)).ids_record.problem).toBeNull();
    expect(await webId(next)).toBeGreaterThan(otherId);
    expect(await tree()).not.toBe(before);
    await expectFollows(worker, next);
  });

  it('is replaced once a user has deleted the ref', async () => {
    const [manager] = await startRecordedFleet();
    await changeMeta(manager.repository, { fleet: 'f'.repeat(32) });
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).not.toBeNull();
    await manager.repository.git('update-ref', '-d', RECORD);
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
    expect(await recordTip(manager)).not.toBe('');
  });

  it('is taken over by a second manager on the repository; the first one continues above it at its next start', async () => {
    const [first, worker] = await startRecordedFleet();
    await first.post(`${WEB}/restart`);
    await first.stop();
    const second = await startManager({
      repository: first.repository,
      dataFolder: join(await temporaryFolder(), 'data'),
    });
    expect((await statusOf(second)).ids_seeded).toMatchObject({ record: 'used', kept: 3 });
    await second.put(`${WEB}/update`, { privileged: true });
    await worker.poll(second);
    await second.stop();
    const again = await first.restart();
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect(await webId(again)).toBe(await pollWithoutActions(worker, again));
    await expectFollows(worker, again);
  });

  it('that follows another folder of the checkout stays in use: neither store raises ids of the other', async () => {
    const [first] = await startRecordedFleet();
    const { repository } = first;
    const beside = Object.entries(SMALL_FLEET).map(([path, text]) => [`production/${path}`, text]);
    await repository.commit(Object.fromEntries(beside));
    const settings = { DESIRED_STATE: join(repository.folder, 'production') };
    const dataFolder = join(await temporaryFolder(), 'data');
    const second = await startManager({ repository, dataFolder, settings });
    await Promise.all([first.post(`${WEB}/restart`), second.post(`${WEB}/restart`)]);
    const ids = [await webId(first), await webId(second)];
    await Promise.all([first.stop(), second.stop()]);
    for (const manager of [first, second]) expect(logged(manager, 'ids are not recorded')).toEqual([]);
    const lost = [await loseStore(first), await loseStore(second, undefined, { settings })];
    expect(await Promise.all(lost.map(webId))).toEqual(ids);
  });

  it('that replaced the one of a running manager is reported by both: in the log, and in the status for ten minutes', async () => {
    let clock = Date.now();
    const now = (): number => clock;
    const first = await startManager({ files: SMALL_FLEET, now });
    const ofFirst = await recordedFleet(first);
    clock += 3_600_000;
    const dataFolder = join(await temporaryFolder(), 'data');
    const second = await startManager({ repository: first.repository, dataFolder, now });
    expect(logged(second, OTHER)).toEqual([]);
    await first.reconcile();
    const other = async (manager: TestManager) => (await statusOf(manager)).ids_record.other_manager;
    await expect.poll(() => other(first)).toEqual({ fleet: await recordedFleet(second), at: isoTime(clock) });
    await expect
      .poll(async () => (await statusOf(first)).ids_record.problem?.message)
      .toMatch(/another manager/);
    await second.reconcile();
    await expect.poll(() => other(second)).toEqual({ fleet: ofFirst, at: isoTime(clock) });
    expect((await statusOf(second)).ids_record.problem).toBeNull();
    clock += 599_999;
    expect([await other(first), await other(second)]).not.toContain(null);
    clock += 1;
    expect([await other(first), await other(second)]).toEqual([null, null]);
    for (const manager of [first, second]) expect(logged(manager, OTHER)).toHaveLength(1);
  });

  it.each([
    [599_000, 1],
    [601_000, 0],
  ])('that was written %i ms before the start of a manager is in its log %i times', async (passed, times) => {
    let clock = Math.floor(Date.now() / 1000) * 1000;
    const now = (): number => clock;
    const first = await startManager({ files: SMALL_FLEET, now });
    await first.stop();
    clock += passed;
    const dataFolder = join(await temporaryFolder(), 'data');
    const second = await startManager({ repository: first.repository, dataFolder, now });
    expect(logged(second, OTHER)).toHaveLength(times);
  });
});

const OTHER =
  'a manager with another store has written the record of ids of this folder; run one manager per folder (with GIT_REMOTE, per folder and branch)';

const isoTime = (time: number): string => new Date(time).toISOString();

/** The fleet of the manager that wrote the record. */
async function recordedFleet({ repository }: TestManager): Promise<string> {
  return JSON.parse((await recordFiles(repository))['meta.json'] ?? '').fleet;
}

/** Expects that a poll restarts nothing; resolves to the id of `web` that the device then has. */
async function pollWithoutActions(worker: Worker, manager: TestManager): Promise<number> {
  worker.actions = [];
  const { apps } = await worker.poll(manager);
  expect(worker.actions).toEqual([]);
  return apps.find(({ app_name }) => app_name === 'web')?.app_id ?? 0;
}

/** A clock that is ahead of every id that was served before. */
const now = (): number => Date.now() + 3_600_000;

/** A clone, which has no record of ids. */
async function cloned(repository: TestRepository): Promise<TestRepository> {
  const folder = await temporaryFolder();
  await repository.git('clone', '--quiet', repository.folder, folder);
  return repositoryAt(folder);
}

/** Starts a manager, stops it, and starts one with other settings on the same data. */
async function startTwice(
  repository: TestRepository,
  wrong: Record<string, string>,
  right: Record<string, string>,
  between: (manager: TestManager) => Promise<unknown> = async () => undefined,
): Promise<TestManager> {
  const first = await startManager({ repository, settings: wrong, now });
  await between(first);
  await first.stop();
  return startManager({ repository, dataFolder: first.dataFolder, settings: right, now });
}

/** Follows the repository that was served as a remote one. */
function remoteSettings({ folder }: TestRepository, others: Record<string, string> = {}) {
  return { GIT_REMOTE: folder, DESIRED_STATE: 'desired-state', ...others };
}

/** Starts a manager at an empty origin, to which the history is pushed. */
async function startEmpty(served: TestRepository): Promise<[TestManager, push: () => Promise<string>]> {
  const url = join(await temporaryFolder(), 'empty.git');
  await initRepository(url, true);
  const settings = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
  const manager = await startManager({ repository: served, settings, now });
  return [manager, () => served.git('push', '--quiet', url, 'HEAD:refs/heads/main')];
}

/** Starts a manager that did not follow the history from its beginning. `served` is the repository of an earlier one. */
type Beginning = [when: string, start: (served: TestRepository) => Promise<TestManager>];

const BEGINNINGS: Beginning[] = [
  [
    'the first start had a mistyped folder in a checkout',
    async (served) => {
      const clone = await cloned(served);
      const folder = { DESIRED_STATE: join(clone.folder, 'desired-sate') };
      await mkdir(folder.DESIRED_STATE);
      return startTwice(clone, folder, {});
    },
  ],
  [
    'the first start had a mistyped branch at origin',
    (served) => startTwice(served, remoteSettings(served, { GIT_BRANCH: 'mian' }), remoteSettings(served)),
  ],
  [
    'the first start had a mistyped folder at origin',
    (served) => startTwice(served, remoteSettings(served, { DESIRED_STATE: 'x' }), remoteSettings(served)),
  ],
  [
    'an app of it was created on a mistyped branch without a common commit',
    async (served) => {
      const other = await testRepository();
      await other.commit({ 'desired-state/apps/other.yaml': 'container_image: a\n' });
      await other.git('push', '--quiet', served.folder, 'main:refs/heads/mian');
      const wrong = remoteSettings(served, { GIT_BRANCH: 'mian' });
      return startTwice(served, wrong, remoteSettings(served), async (manager) => {
        const web = { container_image: 'nginx:1.26', starting_ports: [80] };
        expect((await manager.post(WEB, web)).body.app_id).toBe(1);
      });
    },
  ],
  [
    'it is pushed to an empty origin while the manager runs',
    async (served) => {
      const [manager, push] = await startEmpty(served);
      await push();
      await manager.reconcile();
      return manager;
    },
  ],
  [
    'it is pushed to an empty origin while the manager is stopped',
    async (served) => {
      const [manager, push] = await startEmpty(served);
      await manager.stop();
      await push();
      return manager.restart();
    },
  ],
  [
    'the data folder is that of another fleet',
    async (served) => {
      const { dataFolder, stop } = await startManager({
        files: { 'apps/web.yaml': 'container_image: own\n' },
      });
      await stop();
      return startManager({ repository: await cloned(served), dataFolder, now });
    },
  ],
  [
    'the first start had an older copy of the repository',
    async (served) => {
      const old = await cloned(served);
      await served.commit({ 'desired-state/apps/late.yaml': 'container_image: late\n' });
      const { dataFolder, stop } = await startManager({ repository: old, now });
      await stop();
      return startManager({ repository: await cloned(served), dataFolder, now });
    },
  ],
];

describe('a history that the store did not follow', () => {
  it.each(BEGINNINGS)('gets higher ids than before if %s; a new name begins at 1', async (_, start) => {
    const [earlier] = await startFleetWithHistory();
    await earlier.post('/api/v2/apps/gone', { container_image: 'a' });
    await earlier.delete('/api/v2/apps/gone');
    const highest = Math.max(...Object.values(await idsOf(earlier)));
    await earlier.stop();
    await earlier.repository.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    const manager = await start(earlier.repository);
    const ids = await idsOf(manager);
    expect(Object.keys(ids)).toEqual(
      expect.arrayContaining(['app cron', 'app web', 'group edge', 'prune edge']),
    );
    for (const [name, id] of Object.entries(ids)) expect([name, id > highest]).toEqual([name, true]);
    const again = await manager.post('/api/v2/apps/gone', { container_image: 'b' });
    expect(again.body.app_id).toBeGreaterThan(highest);
    expect((await manager.post('/api/v2/apps/never', { container_image: 'a' })).body.app_id).toBe(1);
  });

  it('keeps the ids of unchanged objects after the folder was renamed; the next change jumps to the floor', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/new', { container_image: 'a' });
    const before = await idsOf(manager);
    expect(before['app new']).toBe(1);
    const { git, folder } = manager.repository;
    await git('mv', 'desired-state', 'fleet');
    await git('commit', '--quiet', '-m', 'another folder');
    await manager.stop();
    const settings = { DESIRED_STATE: join(folder, 'fleet') };
    const { repository, dataFolder } = manager;
    const next = await startManager({ repository, dataFolder, settings, now });
    expect(await idsOf(next)).toEqual(before);
    const { body } = await next.post('/api/v2/apps/new/restart');
    expect(body.app_id).toBe((await seededOf(next)).floor);
  });

  it('raises no id if only commits were rewritten: each change still raises its id by one', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/new', { container_image: 'a' });
    await manager.repository.git('commit', '--amend', '--quiet', '-m', 'reworded');
    await manager.reconcile();
    await manager.repository.git('reset', '--quiet', '--hard', 'HEAD~1');
    await manager.repository.commit({ 'desired-state/apps/new.yaml': 'container_image: b\n' });
    await manager.reconcile();
    expect((await idsOf(manager))['app new']).toBe(2);
    expect((await manager.post('/api/v2/apps/new/restart')).body.app_id).toBe(3);
  });
});

describe('a fleet that begins together with its manager', () => {
  it('gets ids from 1 on for commits in an empty checkout', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'desired-state'));
    const manager = await startManager({ repository });
    for (const [path, text] of Object.entries(SMALL_FLEET)) {
      await repository.commit({ [`desired-state/${path}`]: text });
      await manager.reconcile();
    }
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });

  it('gets ids from 1 on for pushes to an empty origin, with a restart after each', async () => {
    const { url, user, push } = await testOrigin();
    const settings = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
    let manager = await startManager({ repository: user, settings });
    for (const [path, text] of Object.entries(SMALL_FLEET)) {
      await push({ [`desired-state/${path}`]: text });
      await manager.reconcile();
      manager = await manager.restart();
    }
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });

  it.each([
    ['with an empty origin', true],
    ['with an empty checkout', false],
  ])('gets ids from 1 on for concurrent requests to create apps %s', async (_where, isRemote) => {
    const { url, user } = await testOrigin();
    await mkdir(join(user.folder, 'desired-state'));
    const settings: Record<string, string> = isRemote
      ? { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' }
      : {};
    const manager = await startManager({ repository: user, settings });
    const names = Array.from({ length: 5 }, (_, index) => `app-${index}`);
    await Promise.all(names.map((name) => manager.post(`/api/v2/apps/${name}`, { container_image: 'a' })));
    const { body } = await manager.post('/api/v2/device_groups/edge', { apps: names });
    expect(body).toMatchObject({ device_group_id: 1, prune_id: 1 });
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });
});
