import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startProcessManager } from '../support/process-manager.ts';
import { canTrace, completedCalls } from './strace-log.ts';

const CALLS = 'fsync,fdatasync,rename,renameat,renameat2,link,linkat,write,writev,sendto,sendmsg';

const ANSWER = /^(write|writev|sendto|sendmsg)\(.*HTTP\/1\.1 202/;

/** The calls that did not fail: `fsync(5</path>) = 0`. */
function successes(log: string): string[] {
  return completedCalls(log).flatMap(([, call]) => (/= -1 E/.test(call) ? [] : [call]));
}

/** The steps are there, each after the one before. Resolves to nothing; fails with the step that is missing. */
function expectInOrder(calls: readonly string[], steps: readonly (readonly [string, RegExp])[]): void {
  let from = 0;
  for (const [what, pattern] of steps) {
    const found = calls.findIndex((call, index) => index >= from && pattern.test(call));
    expect(found, `${what} (${pattern}), after call ${from} of ${calls.length}`).toBeGreaterThanOrEqual(0);
    from = found + 1;
  }
}

describe('a loss of power', () => {
  // Needs strace; without it this one line is all that is said.
  it.skipIf(!canTrace()).each(['main', 'team/blue'])(
    'after an answer loses nothing: everything is on the disk before it is sent (branch %s)',
    async (branch) => {
      const repository = await testRepository();
      const files = Object.entries(SMALL_FLEET).map(([path, text]) => [`desired-state/${path}`, text]);
      await repository.commit(Object.fromEntries(files));
      if (branch !== 'main') await repository.git('switch', '--quiet', '-c', branch);
      const top = await temporaryFolder();
      const trace = join(top, 'trace');
      const manager = await startProcessManager({
        repository,
        dataFolder: join(top, 'data'),
        wrapper: ['strace', '-f', '-y', '-s', '200', '-e', `trace=${CALLS}`, '-o', trace],
      });
      const before = (await readFile(trace, 'utf8')).length;
      const reply = await manager.request('PUT', '/api/v2/apps/web/update', { container_image: 'durable:1' });
      expect(reply.status).toBe(202);
      await manager.kill();
      const calls = successes((await readFile(trace, 'utf8')).slice(before));
      const git = `${repository.folder}/.git`.replaceAll('/', '\\/');
      const heads = `${git}\\/refs\\/heads`;
      const folder = branch.includes('/') ? `${heads}\\/${branch.split('/')[0]}` : heads;
      const ref = `${heads}\\/${branch.replace('/', '\\/')}`;
      expectInOrder(calls, [
        ['the objects are synced', new RegExp(`^f(data)?sync\\(\\d+<${git}\\/objects\\/pack\\/tmp_pack_`)],
        ['their name is synced', new RegExp(`^fsync\\(\\d+<${git}\\/objects\\/pack>`)],
        ['the note is synced', new RegExp(`^fsync\\(\\d+<${git}\\/holdfast-switch>`)],
        ['the ref is synced', new RegExp(`^fsync\\(\\d+<${ref}\\.lock>`)],
        ['the branch moves', new RegExp(`^rename.*${branch.split('/').at(-1)}\\.lock`)],
        ['the move is synced', new RegExp(`^fsync\\(\\d+<${folder}>`)],
        ...(branch.includes('/')
          ? [['folders above too', new RegExp(`^fsync\\(\\d+<${heads}>`)] as const]
          : []),
        ['the answer is sent', ANSWER],
      ]);
      // The pass that applies the write begins as soon as the branch has moved.
      expectInOrder(calls, [
        ['the branch moves', new RegExp(`^rename.*${branch.split('/').at(-1)}\\.lock`)],
        ['the store is synced', /^f(data)?sync\(\d+<[^>]*store\.sqlite-wal>/],
        ['the answer is sent', ANSWER],
      ]);
    },
  );

  it.skipIf(!canTrace())(
    'after the answer to a restart loses nothing: the store is synced before',
    async () => {
      const repository = await testRepository();
      await repository.commit({ 'desired-state/apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
      const top = await temporaryFolder();
      const trace = join(top, 'trace');
      const manager = await startProcessManager({
        repository,
        dataFolder: join(top, 'data'),
        wrapper: ['strace', '-f', '-y', '-s', '200', '-e', `trace=${CALLS}`, '-o', trace],
      });
      const before = (await readFile(trace, 'utf8')).length;
      expect((await manager.request('POST', '/api/v2/apps/web/restart')).status).toBe(202);
      await manager.kill();
      expectInOrder(successes((await readFile(trace, 'utf8')).slice(before)), [
        ['the store is synced', /^f(data)?sync\(\d+<[^>]*store\.sqlite-wal>/],
        ['the answer is sent', /^(write|writev|sendto|sendmsg)\(.*HTTP\/1\.1 202/],
      ]);
    },
  );
});
