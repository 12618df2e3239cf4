import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ProcessManager, spawnManager, startProcessManager } from '../support/process-manager.ts';
import { works } from '../support/tools.ts';
import { changeWeb, newFleet, WEB } from './small-fleet.ts';

const ADVICE = 'raise the limit of open files (ulimit -n; LimitNOFILE= in a unit)';

/** Lets the process open only this many more files than it has open now. */
function limitOpenFiles(manager: ProcessManager, more: number): void {
  const { pid } = manager.process.child;
  const open = readdirSync(`/proc/${pid}/fd`).length;
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${open + more}:`]);
}

describe.skipIf(process.platform !== 'linux' || !works('prlimit', ['--version']))(
  'a limit of open files that is too low',
  () => {
    it('ends a start with 3 and advice, whichever file could not be opened', async () => {
      const fleet = await newFleet();
      let refused = 0;
      for (let limit = 21; limit < 60; limit += 2) {
        const child = spawnManager({ ...fleet, wrapper: ['prlimit', `--nofile=${limit}`] });
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
          expect.stringContaining(ADVICE),
        ]);
        refused += 1;
      }
      expect(refused).toBeGreaterThan(3);
    });

    it.each([0, 1, 2, 3, 4, 6, 8])(
      'with room for %i more makes failing writes and passes give advice; once it is raised, nothing is lost and writes succeed',
      async (more) => {
        const { repository, dataFolder } = await newFleet();
        const manager = await startProcessManager({
          repository,
          dataFolder,
          env: { GIT_POLL_INTERVAL: '1' },
        });
        await changeWeb(manager, 'before:1');
        limitOpenFiles(manager, more);
        const acknowledged: string[] = [];
        for (let count = 0; count < 3; count++) {
          const reply = await changeWeb(manager, `few:${count}`);
          if (reply.status === 202) acknowledged.push(`few:${count}`);
          else expect([reply.status, reply.text]).toEqual([503, expect.stringContaining(ADVICE)]);
        }
        expect(await repository.git('status', '--porcelain')).toBe('');
        await repository.commit({ 'desired-state/apps/cron.yaml': 'container_image: pushed:1\n' });
        const { body } = await manager.request('POST', '/api/v2/reconcile');
        if (body.error !== null)
          expect(body.error).toMatchObject({
            kind: 'unavailable',
            message: expect.stringContaining(ADVICE),
          });
        expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
        limitOpenFiles(manager, 500);
        const servedImage = async () =>
          (await manager.request('GET', '/api/v2/apps/cron')).body.container_image;
        await expect.poll(servedImage, { timeout: 60_000 }).toBe('pushed:1');
        const expected = acknowledged.at(-1) ?? 'before:1';
        expect((await manager.request('GET', WEB)).body.container_image).toBe(expected);
        expect((await changeWeb(manager, 'after:1')).status).toBe(202);
        expect(await repository.git('status', '--porcelain')).toBe('');
        const internalErrors = manager.process.output().match(/"kind":"internal".*/g);
        expect(internalErrors).toBeNull();
        expect(await manager.stop()).toBe(0);
      },
    );
  },
);
