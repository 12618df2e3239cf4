import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { type ProcessManager, startProcessManager } from '../support/process-manager.ts';
import { WAYS } from './full-disk.ts';
import { changeWeb, FLEET, WEB } from './small-fleet.ts';

/** Updates `web` until an update is refused; resolves to the last image that was acknowledged. */
async function changeUntilRefused(manager: ProcessManager, before: string): Promise<string> {
  let acknowledged = before;
  for (let count = 0; count < 2000; count++) {
    const reply = await changeWeb(manager, `full:${count}`);
    if (reply.status !== 202) {
      expect(reply.status, reply.text).toBe(503);
      expect(reply.text).not.toContain('/tmp');
      return acknowledged;
    }
    acknowledged = `full:${count}`;
  }
  throw new Error('the disk never became full');
}

describe.each(WAYS.map((way) => [way.name, way] as const))('a full disk (%s)', (_, { isPossible, make }) => {
  it.skipIf(!isPossible)(
    'of the data folder refuses writes with 503, but no reads, loses nothing, and recovers once there is space',
    async () => {
      const disk = await make();
      const repository = await testRepository();
      await repository.commit(FLEET);
      const fleet = { repository, dataFolder: join(disk.folder, 'data') };
      const manager = await startProcessManager(fleet);
      const pid = manager.process.child.pid as number;
      expect((await changeWeb(manager, 'before:1')).status).toBe(202);
      disk.fill(pid);
      const acknowledged = await changeUntilRefused(manager, 'before:1');
      expect((await manager.request('GET', WEB)).body.container_image).toBe(acknowledged);
      expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
      expect((await manager.request('POST', `${WEB}/restart`)).status).toBe(503);
      const { app_id: id } = (await manager.request('GET', WEB)).body;
      disk.free(pid);
      await manager.request('POST', '/api/v2/reconcile');
      const recovered = (await manager.request('GET', WEB)).body;
      const atHead = /container_image: (\S+)/.exec(await repository.show('desired-state/apps/web.yaml'))?.[1];
      expect(recovered.container_image).toBe(atHead);
      expect(recovered.app_id).toBe(atHead === acknowledged ? id : id + 1);
      expect((await changeWeb(manager, 'after:1')).status).toBe(202);
      expect(await manager.stop()).toBe(0);
      expect(manager.process.output()).toContain('"request failed"');
      expect(manager.process.output(), 'no stack').not.toMatch(/\bat \S+ \(/);
      const next = await startProcessManager(fleet);
      expect((await next.request('GET', WEB)).body).toMatchObject({
        container_image: 'after:1',
        app_id: recovered.app_id + 1,
      });
      await next.stop();
    },
  );

  it.skipIf(!isPossible)(
    'of the data folder refuses a rollback with 503 and loses nothing, and the rollback works once there is space',
    async () => {
      const disk = await make();
      const repository = await testRepository();
      await repository.commit(FLEET);
      const manager = await startProcessManager({ repository, dataFolder: join(disk.folder, 'data') });
      const pid = manager.process.child.pid as number;
      expect((await changeWeb(manager, 'before:1')).status).toBe(202);
      // Takes back the last commit, so that each one changes something.
      const rollback = () =>
        manager.request('POST', '/api/v2/rollback', { undo: 'main', reason: 'a reason' });
      disk.fill(pid);
      const statuses: number[] = [];
      while (statuses.length < 2000 && statuses.at(-1) !== 503) statuses.push((await rollback()).status);
      expect(new Set(statuses.slice(0, -1))).toEqual(statuses.length > 1 ? new Set([202]) : new Set());
      expect(statuses.at(-1)).toBe(503);
      disk.free(pid);
      await manager.request('POST', '/api/v2/reconcile');
      const commits = await repository.git('rev-list', '--count', 'HEAD');
      expect((await rollback()).status).toBe(202);
      const { container_image: image } = (await manager.request('GET', WEB)).body;
      expect(await repository.show('desired-state/apps/web.yaml')).toContain(image);
      const { body } = await manager.request('GET', '/api/v2/history?kind=commit&page_size=1');
      expect(body.total).toBe(Number(commits) + 1);
      await expectIntact(repository.folder);
      await manager.stop();
    },
  );

  it.skipIf(!isPossible)(
    'of the repository refuses writes with 503, but no reads, leaves none half done, and recovers once there is space',
    async () => {
      const disk = await make();
      const repository = repositoryAt(disk.folder);
      await repository.git('init', '--quiet', '--initial-branch=main');
      await repository.commit(FLEET);
      const fleet = { repository, dataFolder: join(await temporaryFolder(), 'data') };
      const manager = await startProcessManager(fleet);
      const pid = manager.process.child.pid as number;
      expect((await changeWeb(manager, 'before:1')).status).toBe(202);
      disk.fill(pid);
      const acknowledged = await changeUntilRefused(manager, 'before:1');
      expect((await manager.request('GET', WEB)).body.container_image).toBe(acknowledged);
      disk.free(pid);
      expect((await changeWeb(manager, 'after:1')).status).toBe(202);
      expect(await repository.git('status', '--porcelain')).toBe('');
      expect(await repository.show('desired-state/apps/web.yaml')).toContain('after:1');
      await expectIntact(repository.folder);
      await manager.stop();
    },
  );
});
