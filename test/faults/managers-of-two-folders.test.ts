import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import { type ProcessManager, type ProcessOptions, startProcessManager } from '../support/process-manager.ts';
import { recordOf } from '../support/record-files.ts';

const RESTART = '/api/v2/apps/web/restart';
const UPDATE = '/api/v2/apps/web/update';

/** The id of the app `web`. */
const webId = async (manager: ProcessManager): Promise<number> =>
  (await manager.request('GET', '/api/v2/apps/web')).body.app_id;

const statusOf = async (manager: ProcessManager) => (await manager.request('GET', '/api/v2/reconcile')).body;

/** Waits until ids are recorded without a problem: of two pushes at the same moment one is refused, and soon retried. */
async function expectRecords(manager: ProcessManager): Promise<void> {
  await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
}

/** The recorded id of the app `web`. */
async function recordedId({ bare }: TestOrigin, { env }: ProcessOptions): Promise<number> {
  const record = recordOf(env?.['DESIRED_STATE'], 'main');
  const text = await bare.git('grep', '--no-color', '-h', '"app","web"', record);
  return Number(text.split(',')[2]);
}

/** Restarts the app until the process dies; resolves to the highest acknowledged id. */
async function restartUntilDeath(manager: ProcessManager): Promise<number> {
  let highest = 0;
  for (;;) {
    const reply = await manager.request('POST', RESTART).catch(() => null);
    if (reply === null) return highest;
    if (reply.status === 202) highest = reply.body.app_id;
    await sleep(100);
  }
}

it('two managers of two folders of an origin keep their ids and record them, although one is killed again and again', async () => {
  const origin = await testOrigin();
  const production = Object.entries(SMALL_FLEET).map(([path, text]) => [`production/${path}`, text]);
  await origin.push({ ...inDesiredState(SMALL_FLEET), ...Object.fromEntries(production) });
  const optionsOf = async (folder: string): Promise<ProcessOptions> => ({
    repository: origin.user,
    dataFolder: join(await temporaryFolder(), 'data'),
    env: { GIT_REMOTE: origin.url, DESIRED_STATE: folder },
  });
  const [options, otherOptions] = [await optionsOf('desired-state'), await optionsOf('production')];
  const other = await startProcessManager(otherOptions);
  let manager = await startProcessManager(options);
  let highest = await webId(manager);
  for (let round = 0; round < 5; round++) {
    const death = restartUntilDeath(manager);
    // A version of the record is pushed a second after the first change, so some of these restarts happen during a push.
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
  for (const [one, followed] of [
    [manager, options],
    [other, otherOptions],
  ] as const) {
    const id = await webId(one);
    await expect.poll(() => recordedId(origin, followed)).toBe(id);
    await expectRecords(one);
    expect(await one.stop()).toBe(0);
  }
  const both = [options, otherOptions];
  for (const { dataFolder } of both) await rm(dataFolder, { recursive: true });
  for (const [index, one] of both.entries()) {
    const next = await startProcessManager(one);
    expect((await statusOf(next)).ids_seeded).toMatchObject({ record: 'used', kept: 3 });
    expect(await webId(next)).toBe(ids[index]);
    await next.stop();
  }
  await origin.bare.git('fsck', '--strict');
});

describe('two managers of two folders in one clone', () => {
  const FOLDERS = ['staging', 'production'] as const;

  /** The options of two managers of one repository, each with a folder of its own. */
  async function optionsOfBoth(): Promise<[ProcessOptions, ProcessOptions]> {
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

  /** Updates the app; resolves to the status of the reply. */
  const update = async (manager: ProcessManager, image: string) =>
    (await manager.request('PUT', UPDATE, { container_image: image })).status;

  it('can write at the same time, since each waits for the other', async () => {
    const options = await optionsOfBoth();
    const managers = [await startProcessManager(options[0]), await startProcessManager(options[1])];
    const writes = managers.map(async (manager) => {
      const outcomes = [];
      for (let round = 0; round < 20; round++) {
        const { status, body } = await manager.request('PUT', UPDATE, { container_image: `web:${round}` });
        outcomes.push(status === 202 ? status : body.error);
      }
      return outcomes;
    });
    const outcomes = new Set((await Promise.all(writes)).flat());
    // Possible on any branch that others keep moving.
    outcomes.delete('the branch moved 5 times during this write; try again');
    expect(outcomes).toEqual(new Set([202]));
    for (const manager of managers) expect(await manager.stop()).toBe(0);
  });

  it('let the one that was killed during a write start and write again, while the other one runs', async () => {
    const [options, otherOptions] = await optionsOfBoth();
    const other = await startProcessManager(otherOptions);
    expect(await update(other, 'web:1')).toBe(202);
    const dying = { ...options, env: { ...options.env, HOLDFAST_FAULT: 'commit-written' } };
    await expect(update(await startProcessManager(dying), 'web:lost')).rejects.toThrow();
    const manager = await startProcessManager(options);
    expect(await update(manager, 'web:2')).toBe(202);
    expect(await update(other, 'web:2')).toBe(202);
    await Promise.all([manager.stop(), other.stop()]);
  });
});
