import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { RECORD } from '../support/lost-store.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import { type ProcessManager, type ProcessOptions, startProcessManager } from '../support/process-manager.ts';

const RESTART = '/api/v2/apps/web/restart';
const UPDATE = '/api/v2/apps/web/update';

const webId = async (manager: ProcessManager): Promise<number> =>
  (await manager.request('GET', '/api/v2/apps/web')).body.app_id;

const statusOf = async (manager: ProcessManager) => (await manager.request('GET', '/api/v2/reconcile')).body;

/** Where two push at the same moment, one of them is told to come again, and does so a moment later. */
async function expectRecords(manager: ProcessManager): Promise<void> {
  await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
}

/** The ids of the app in all sections. */
async function recordedIds({ bare }: TestOrigin): Promise<number[]> {
  const text = await bare.git('grep', '--no-color', '-h', '"app","web"', RECORD);
  return text.split('\n').map((line) => Number(line.split(',')[2]));
}

/** Restarts the app until the process dies; resolves to the highest id that was answered. */
async function restartUntilDeath(manager: ProcessManager): Promise<number> {
  let highest = 0;
  for (;;) {
    const reply = await manager.request('POST', RESTART).catch(() => null);
    if (reply === null) return highest;
    if (reply.status === 202) highest = reply.body.app_id;
    await sleep(100);
  }
}

it('two managers of two folders, one of which is killed again and again: each keeps its ids, and its record', async () => {
  const origin = await testOrigin();
  const beside = Object.entries(SMALL_FLEET).map(([path, text]) => [`production/${path}`, text]);
  await origin.push({ ...inDesiredState(SMALL_FLEET), ...Object.fromEntries(beside) });
  const optionsOf = async (folder: string): Promise<ProcessOptions> => ({
    repository: origin.person,
    dataFolder: join(await temporaryFolder(), 'data'),
    env: { GIT_REMOTE: origin.url, DESIRED_STATE: folder },
  });
  const [options, others] = [await optionsOf('desired-state'), await optionsOf('production')];
  const other = await startProcessManager(others);
  let manager = await startProcessManager(options);
  let highest = await webId(manager);
  for (let round = 0; round < 5; round++) {
    const death = restartUntilDeath(manager);
    // A version is written a second after the first change: some of these come in the middle of a push.
    for (let wait = 0; wait < 6; wait++) {
      await sleep(170 + 13 * round);
      expect((await other.request('POST', RESTART)).status).toBe(202);
    }
    await manager.kill();
    highest = Math.max(highest, await death);
    manager = await startProcessManager(options);
    expect(await webId(manager)).toBeGreaterThanOrEqual(highest);
    await expectRecords(other);
  }
  await manager.request('POST', RESTART);
  const ids = [await webId(manager), await webId(other)];
  for (const one of [manager, other]) {
    const id = await webId(one);
    await expect.poll(() => recordedIds(origin)).toContain(id);
    await expectRecords(one);
    expect(await one.stop()).toBe(0);
  }
  const lost = [options, others];
  for (const { dataFolder } of lost) await rm(dataFolder, { recursive: true });
  for (const [index, one] of lost.entries()) {
    const next = await startProcessManager(one);
    expect((await statusOf(next)).ids_seeded).toMatchObject({ record: 'used', kept: 3 });
    expect(await webId(next)).toBe(ids[index]);
    await next.stop();
  }
  await origin.bare.git('fsck', '--strict');
});

describe('two managers of two folders in one clone', () => {
  const FOLDERS = ['staging', 'production'] as const;

  async function bothIn(): Promise<[ProcessOptions, ProcessOptions]> {
    const repository = await testRepository();
    const files = FOLDERS.flatMap((folder) =>
      Object.entries(SMALL_FLEET).map(([path, text]) => [`${folder}/${path}`, text]),
    );
    await repository.commit(Object.fromEntries(files));
    const optionsOf = async (folder: string): Promise<ProcessOptions> => ({
      repository,
      dataFolder: join(await temporaryFolder(), 'data'),
      env: { DESIRED_STATE: join(repository.folder, folder) },
    });
    return [await optionsOf(FOLDERS[0]), await optionsOf(FOLDERS[1])];
  }

  const write = async (manager: ProcessManager, image: string) =>
    (await manager.request('PUT', UPDATE, { container_image: image })).status;

  it('write at the same time: each waits for the other', async () => {
    const options = await bothIn();
    const managers = [await startProcessManager(options[0]), await startProcessManager(options[1])];
    const writes = managers.map(async (manager) => {
      const answers = [];
      for (let round = 0; round < 20; round++) {
        const { status, body } = await manager.request('PUT', UPDATE, { container_image: `web:${round}` });
        answers.push(status === 202 ? status : body.error);
      }
      return answers;
    });
    const answers = new Set((await Promise.all(writes)).flat());
    // As at any branch that others move all the time.
    answers.delete('the branch moved 5 times during this write; try again');
    expect(answers).toEqual(new Set([202]));
    for (const manager of managers) expect(await manager.stop()).toBe(0);
  });

  it('one is killed in the middle of a write, and writes again, though the other lives', async () => {
    const [options, others] = await bothIn();
    const other = await startProcessManager(others);
    expect(await write(other, 'web:1')).toBe(202);
    const dying = { ...options, env: { ...options.env, HOLDFAST_FAULT: 'tree-switched' } };
    await expect(write(await startProcessManager(dying), 'web:lost')).rejects.toThrow();
    const manager = await startProcessManager(options);
    expect(manager.process.output()).not.toContain('still in the work tree');
    expect(await write(manager, 'web:2')).toBe(202);
    expect(await write(other, 'web:2')).toBe(202);
    await Promise.all([manager.stop(), other.stop()]);
  });
});
