import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { type ProcessManager, startProcessManager, tryStart } from '../support/process-manager.ts';
import { randomNumbers } from '../support/random.ts';
import { changeWeb, FLEET, newFleet, WEB } from './small-fleet.ts';

/** An entry of the history, but for what the start of a new store decides: its ids and its time. */
type Known = [n: number, kind: string, revision: string, changes: string[]];

interface Listed {
  n: number;
  kind: string;
  revision: string;
  changes: { object: string; change: string; fields: string[]; ids: Record<string, number> | null }[];
}

async function listed(manager: ProcessManager): Promise<Listed[]> {
  const entries: Listed[] = [];
  for (let after = ''; after !== 'null'; ) {
    const query = `page_size=1000${after === '' ? '' : `&after=${after}`}`;
    const { body } = await manager.request('GET', `/api/v2/history?${query}`);
    entries.push(...body.entries);
    after = `${body.next}`;
  }
  return entries;
}

async function known(manager: ProcessManager): Promise<Known[]> {
  return (await listed(manager)).map(({ n, kind, revision, changes }) => [
    n,
    kind,
    revision,
    changes.map(({ object, change, fields }) => `${change} ${object} ${fields}`),
  ]);
}

/** Waits until the older history is complete (true), or the process is dead (false). */
async function isComplete(manager: ProcessManager): Promise<boolean> {
  for (;;) {
    const reply = await manager.request('GET', '/api/v2/history?page_size=1').catch(() => null);
    if (reply === null || reply.body.complete) return reply !== null;
  }
}

/** A repository of this many commits, each of which changes the image of `web`. */
async function oldRepository(count: number): Promise<TestRepository> {
  const repository = await testRepository();
  await repository.commit(FLEET);
  const script =
    'i=0; while [ $i -lt "$0" ]; do echo "container_image: old:$i" > desired-state/apps/web.yaml; git commit -qam "old $i"; i=$((i+1)); done';
  await repository.git('-c', `alias.age=!sh -c '${script}' ${count}`, 'age');
  return repository;
}

/** What a manager that nobody disturbs has of the history. */
async function undisturbed(repository: TestRepository): Promise<Known[]> {
  const manager = await startProcessManager({ repository, dataFolder: await newDataFolder() });
  expect(await isComplete(manager)).toBe(true);
  const entries = await known(manager);
  await manager.stop();
  return entries;
}

const newDataFolder = async (): Promise<string> => join(await temporaryFolder(), 'data');

describe('the history of an old repository, if the manager that indexes it is killed', () => {
  const COMMITS = 550;

  /** Starts managers until one has the whole history; `kill` ends the others. Resolves to the entries. */
  async function indexWith(
    repository: TestRepository,
    dataFolder: string,
    env: Record<string, string>,
    kill: (manager: ProcessManager, starts: number) => void,
  ): Promise<{ entries: Known[]; starts: number }> {
    for (let starts = 1; ; starts += 1) {
      const manager = await tryStart({ repository, dataFolder, env });
      if (manager === null) continue;
      kill(manager, starts);
      if (!(await isComplete(manager))) {
        await manager.kill();
        continue;
      }
      const entries = await known(manager);
      await manager.kill();
      return { entries, starts };
    }
  }

  it('after each write has no gap and nothing twice, and is what an undisturbed manager has', async () => {
    const repository = await oldRepository(COMMITS);
    const env = { HOLDFAST_FAULT: 'entries-added' };
    const { entries, starts } = await indexWith(repository, await newDataFolder(), env, () => undefined);
    expect(starts).toBeGreaterThan(COMMITS / 100);
    expect(entries.map(([n]) => n)).toEqual(entries.map((_, index) => 1 - index));
    expect(new Set(entries.map(([, kind, revision]) => `${kind} ${revision}`)).size).toBe(COMMITS + 2);
    expect(entries).toEqual(await undisturbed(repository));
  });

  it('at random times, and then loses its store, is again what an undisturbed manager has', async () => {
    const repository = await oldRepository(COMMITS);
    const dataFolder = await newDataFolder();
    const random = randomNumbers();
    // Later and later, since a slow machine may need long for the first page.
    const kill = (manager: ProcessManager, starts: number): void => {
      setTimeout(() => void manager.kill(), random() * 200 * starts);
    };
    const all = await undisturbed(repository);
    expect((await indexWith(repository, dataFolder, {}, kill)).entries).toEqual(all);
    await rm(dataFolder, { recursive: true });
    expect((await indexWith(repository, dataFolder, {}, kill)).entries).toEqual(all);
  });
});

/** The points that a rollback reaches, in order; from the third on, its commit is in the branch. */
const POINTS = [
  ['claim-begins', true],
  ['commit-written', false],
  ['branch-moved', true],
  ['branch-synced', true],
  ['publish-done', true],
  ['claim-done', true],
  ['apply-done', true],
  ['write-done', true],
] as const;

describe('a rollback whose manager is killed', () => {
  const rollback = (manager: ProcessManager) =>
    manager.request('POST', '/api/v2/rollback', { undo: 'main', reason: 'a reason' });

  it.each(POINTS)(
    'at %s is applied once if it was committed (%s), and has one entry with its id',
    async (fault, isCommitted) => {
      const fleet = await newFleet();
      const first = await startProcessManager(fleet);
      expect((await changeWeb(first, 'bad:1')).status).toBe(202);
      const { app_id: before } = (await first.request('GET', WEB)).body;
      const bad = await fleet.repository.git('rev-parse', 'HEAD');
      await first.stop();
      const dying = await startProcessManager({ ...fleet, env: { HOLDFAST_FAULT: fault } });
      await expect(rollback(dying)).rejects.toThrow();
      await dying.kill();
      const manager = await startProcessManager(fleet);
      await manager.request('POST', '/api/v2/reconcile');
      expect(await fleet.repository.git('rev-list', '--count', `${bad}..HEAD`)).toBe(isCommitted ? '1' : '0');
      if (!isCommitted) {
        expect((await manager.request('GET', WEB)).body.container_image).toBe('bad:1');
        expect((await rollback(manager)).status).toBe(202);
      }
      const { container_image, app_id } = (await manager.request('GET', WEB)).body;
      expect({ container_image, app_id }).toEqual({ container_image: 'nginx:1.26', app_id: before + 1 });
      const [newest, ...older] = await listed(manager);
      expect(newest).toMatchObject({
        kind: 'commit',
        revision: await fleet.repository.git('rev-parse', 'HEAD'),
        changes: [{ object: 'app/web', ids: { app_id } }],
      });
      expect(older.map(({ revision }) => revision)).toEqual([bad, expect.any(String)]);
      expect(await manager.stop()).toBe(0);
      await expectIntact(fleet.repository.folder);
    },
  );
});
