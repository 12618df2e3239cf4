import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type ProcessManager, spawnManager, startProcessManager } from '../support/process-manager.ts';
import { works } from '../support/tools.ts';

const FLEET = inDesiredState(SMALL_FLEET);
const WEB = '/api/v2/apps/web';
const WHAT_TO_DO = 'raise the limit of open files (ulimit -n; LimitNOFILE= in a unit)';

async function place() {
  const repository = await testRepository();
  await repository.commit(FLEET);
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

/** From now on the process can open so many files more than it has open. */
function leave(manager: ProcessManager, more: number): void {
  const { pid } = manager.process.child;
  const open = readdirSync(`/proc/${pid}/fd`).length;
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${open + more}:`]);
}

describe.skipIf(process.platform !== 'linux' || !works('prlimit', ['--version']))(
  'too few open files',
  () => {
    it('at a start: says so, whatever could not be opened, and ends with 3', async () => {
      const where = await place();
      let refused = 0;
      for (let limit = 21; limit < 60; limit += 2) {
        const child = spawnManager({ ...where, wrapper: ['prlimit', `--nofile=${limit}`] });
        const isUp = await child.waitFor(/"address":"/).then(
          () => true,
          () => false,
        );
        if (isUp) {
          child.child.kill();
          await child.ended;
          break;
        }
        expect([limit, await child.ended, child.output()]).toEqual([
          limit,
          3,
          expect.stringContaining(WHAT_TO_DO),
        ]);
        refused += 1;
      }
      expect(refused).toBeGreaterThan(3);
    });

    it.each([0, 1, 2, 3, 4, 6, 8])(
      'while it serves, %i more: writes and status say so, nothing is lost, and it heals by itself',
      async (more) => {
        const { repository, dataFolder } = await place();
        const manager = await startProcessManager({
          repository,
          dataFolder,
          env: { GIT_POLL_INTERVAL: '1' },
        });
        await manager.request('PUT', `${WEB}/update`, { container_image: 'before:1' });
        leave(manager, more);
        const answered: string[] = [];
        for (let count = 0; count < 3; count++) {
          const reply = await manager.request('PUT', `${WEB}/update`, { container_image: `few:${count}` });
          if (reply.status === 202) answered.push(`few:${count}`);
          else expect([reply.status, reply.text]).toEqual([503, expect.stringContaining(WHAT_TO_DO)]);
        }
        expect(await repository.git('status', '--porcelain')).toBe('');
        await repository.commit({ 'desired-state/apps/cron.yaml': 'container_image: pushed:1\n' });
        const { body } = await manager.request('POST', '/api/v2/reconcile');
        if (body.error !== null)
          expect(body.error).toMatchObject({
            kind: 'unavailable',
            message: expect.stringContaining(WHAT_TO_DO),
          });
        expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
        leave(manager, 500);
        const healed = async () => (await manager.request('GET', '/api/v2/apps/cron')).body.container_image;
        await expect.poll(healed, { timeout: 60_000 }).toBe('pushed:1');
        const expected = answered.at(-1) ?? 'before:1';
        expect((await manager.request('GET', WEB)).body.container_image).toBe(expected);
        expect((await manager.request('PUT', `${WEB}/update`, { container_image: 'after:1' })).status).toBe(
          202,
        );
        expect(await repository.git('status', '--porcelain')).toBe('');
        const mistakes = manager.process.output().match(/"kind":"internal".*/g);
        expect(mistakes).toBeNull();
        expect(await manager.stop()).toBe(0);
      },
    );
  },
);
