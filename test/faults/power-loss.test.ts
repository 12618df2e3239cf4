import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { testOrigin } from '../support/origin.ts';
import { startProcessManager } from '../support/process-manager.ts';
import { canTrace, completedCalls } from './strace-log.ts';

const CALLS = 'fsync,fdatasync,rename,renameat,renameat2,link,linkat,write,writev,sendto,sendmsg';

/** A write of the status line of a successful reply to a socket. */
const ANSWER = /^(write|writev|sendto|sendmsg)\(.*HTTP\/1\.1 20[02]/;

/** So many bytes of each call are traced: a page of the store has 4,096. */
const PAGE = 4200;

const REPORTS = [{ hostname: 'a', device_group: 'b', report_creation_time: 1, updated: true, report: {} }];

/** The calls of a log of `strace` that did not fail, such as `fsync(5</path>) = 0`. */
function successes(log: string): string[] {
  return completedCalls(log).flatMap(([, call]) => (/= -1 E/.test(call) ? [] : [call]));
}

/** Checks that the calls contain the steps in this order; fails with the first step that is missing. */
function expectInOrder(calls: readonly string[], steps: readonly (readonly [string, RegExp])[]): void {
  let from = 0;
  for (const [what, pattern] of steps) {
    const found = calls.findIndex((call, index) => index >= from && pattern.test(call));
    expect(found, `${what} (${pattern}), after call ${from} of ${calls.length}`).toBeGreaterThanOrEqual(0);
    from = found + 1;
  }
}

/**
 * Waits until the trace has a reply after `from`, and resolves to the successful calls after `from`. The client can get the reply
 * before `strace` has logged it.
 */
async function callsUntilAnswer(trace: string, from = 0): Promise<string[]> {
  const calls = async () => successes((await readFile(trace, 'utf8')).slice(from));
  await expect.poll(async () => (await calls()).some((call) => ANSWER.test(call))).toBe(true);
  return calls();
}

/** Starts a manager under `strace`; `killAndRead` kills it, and resolves to the calls that succeeded since it was ready. */
async function traced(repository: TestRepository, names = CALLS, injections: readonly string[] = []) {
  const top = await temporaryFolder();
  const trace = join(top, 'trace');
  const manager = await startProcessManager({
    repository,
    dataFolder: join(top, 'data'),
    wrapper: [
      ...['strace', '-f', '-y', '-s', String(PAGE), '-e', `trace=${names}`, '-o', trace],
      ...injections.flatMap((injection) => ['-e', `inject=${injection}`]),
    ],
  });
  const hasAnswers = names.includes('sendto');
  // The first reply is the one to `isReady`.
  if (hasAnswers) await callsUntilAnswer(trace);
  const before = (await readFile(trace, 'utf8')).length;
  const killAndRead = async () => {
    if (hasAnswers) await callsUntilAnswer(trace, before);
    await manager.kill();
    return successes((await readFile(trace, 'utf8')).slice(before));
  };
  return { manager, killAndRead };
}

describe('so that a loss of power takes nothing back, a manager', () => {
  it.skipIf(!canTrace()).each(['main', 'team/blue'])(
    'syncs commit, branch and store before it replies to a write (branch %s)',
    async (branch) => {
      const repository = await testRepository();
      await repository.commit(inDesiredState(SMALL_FLEET));
      if (branch !== 'main') await repository.git('switch', '--quiet', '-c', branch);
      const { manager, killAndRead } = await traced(repository);
      const reply = await manager.request('PUT', '/api/v2/apps/web/update', { container_image: 'durable:1' });
      expect(reply.status).toBe(202);
      const calls = await killAndRead();
      const git = `${repository.folder}/.git`.replaceAll('/', '\\/');
      const heads = `${git}\\/refs\\/heads`;
      const folder = branch.includes('/') ? `${heads}\\/${branch.split('/')[0]}` : heads;
      const ref = `${heads}\\/${branch.replace('/', '\\/')}`;
      expectInOrder(calls, [
        [
          'the objects are synced',
          new RegExp(`^fsync\\(\\d+<${git}\\/objects\\/tmp_objdir-incoming-.*\\/tmp_obj_`),
        ],
        ['the folders of the objects are synced', new RegExp(`^fsync\\(\\d+<${git}\\/objects>`)],
        ['the names of the objects are synced', new RegExp(`^fsync\\(\\d+<${git}\\/objects\\/[0-9a-f]{2}>`)],
        ['the ref is synced', new RegExp(`^fsync\\(\\d+<${ref}\\.lock>`)],
        ['the branch moves', new RegExp(`^rename.*${branch.split('/').at(-1)}\\.lock`)],
        ['the move is synced', new RegExp(`^fsync\\(\\d+<${folder}>`)],
        ...(branch.includes('/')
          ? [['the folders above are synced', new RegExp(`^fsync\\(\\d+<${heads}>`)] as const]
          : []),
        ['the reply is sent', ANSWER],
      ]);
      // The pass that applies the write begins as soon as the branch has moved.
      expectInOrder(calls, [
        ['the branch moves', new RegExp(`^rename.*${branch.split('/').at(-1)}\\.lock`)],
        ['the store is synced', /^f(data)?sync\(\d+<[^>]*store\.sqlite-wal>/],
        ['the reply is sent', ANSWER],
      ]);
    },
  );

  it.skipIf(!canTrace())('syncs the file of a generated password before it shows the password', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState(SMALL_FLEET));
    const top = await temporaryFolder();
    const trace = join(top, 'trace');
    const manager = await startProcessManager({
      repository,
      dataFolder: join(top, 'data'),
      env: { BASIC_AUTH_USER: '', BASIC_AUTH_PASSWORD: '' },
      wrapper: ['strace', '-f', '-y', '-s', '1000', '-e', `trace=${CALLS}`, '-o', trace],
    });
    const calls = async () => successes(await readFile(trace, 'utf8'));
    const shown = /^writev?\(.*Sign in as/;
    await expect.poll(async () => (await calls()).some((call) => shown.test(call))).toBe(true);
    await manager.kill();
    expectInOrder(await calls(), [
      ['the file is synced', /^fsync\(\d+<[^>]*\/data\/admin\.json\.new>/],
      ['it gets its name', /^rename.*\/data\/admin\.json"/],
      ['the name is synced', /^fsync\(\d+<[^>]*\/data>/],
      ['the password is shown', shown],
    ]);
  });

  it.skipIf(!canTrace())('syncs no folder of objects in which a write puts none', async () => {
    const repository = await testRepository();
    const others = Array.from({ length: 500 }, (_, index) => [`others/${index}`, `${index}`]);
    await repository.commit({ ...inDesiredState(SMALL_FLEET), ...Object.fromEntries(others) });
    const { manager, killAndRead } = await traced(repository);
    for (const image of ['first:1', 'second:1'])
      await manager.request('PUT', '/api/v2/apps/web/update', { container_image: image });
    const calls = await killAndRead();
    const answered = calls.findIndex((call) => ANSWER.test(call));
    const folder = new RegExp(`^fsync\\(\\d+<(${repository.folder}/\\.git/objects/[0-9a-f]{2})>`);
    const synced = calls.slice(answered).flatMap((call) => folder.exec(call)?.[1] ?? []);
    // The blob, the commit and a tree for each of three folders; and the record of ids.
    expect(synced.length).toBeGreaterThan(3);
    expect(synced.length).toBeLessThan(40);
  });

  it.skipIf(!canTrace())(
    'syncs what a user has just committed before it moves the branch to a commit on top',
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
      const write = async (image: string): Promise<string[]> => {
        const before = (await readFile(trace, 'utf8')).length;
        const body = { container_image: image };
        expect((await manager.request('PUT', '/api/v2/apps/web/update', body)).status).toBe(202);
        return successes((await readFile(trace, 'utf8')).slice(before));
      };
      await write('first:1');
      const commit = await repository.commit({ 'notes.txt': 'of a user\n' });
      const ids = await repository.git('rev-parse', commit, `${commit}^{tree}`, `${commit}:notes.txt`);
      const calls = await write('second:1');
      for (const id of ids.split('\n')) {
        const folder = `\\/objects\\/${id.slice(0, 2)}`;
        for (const path of [`${folder}\\/${id.slice(2)}`, folder, '\\/objects']) {
          expectInOrder(calls, [
            ['the object and its name are synced', new RegExp(`^fsync\\(\\d+<[^>]*\\/\\.git${path}>`)],
            ['the branch moves', /^rename.*\/main\.lock/],
          ]);
        }
      }
      await manager.kill();
    },
  );

  it.skipIf(!canTrace())(
    'syncs what it fetched, and what it pushed to an origin at a path, before it replies',
    async () => {
      const origin = await testOrigin({ 'apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
      const top = await temporaryFolder();
      const trace = join(top, 'trace');
      const manager = await startProcessManager({
        repository: origin.user,
        dataFolder: join(top, 'data'),
        env: { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state' },
        wrapper: ['strace', '-f', '-y', '-s', '200', '-e', `trace=${CALLS}`, '-o', trace],
      });
      // The first reply is the one to `isReady`.
      await callsUntilAnswer(trace);
      const callsOf = async (...request: Parameters<typeof manager.request>): Promise<string[]> => {
        const before = (await readFile(trace, 'utf8')).length;
        expect((await manager.request(...request)).status).toBeLessThan(300);
        return callsUntilAnswer(trace, before);
      };
      await origin.push({ 'desired-state/apps/cron.yaml': SMALL_FLEET['apps/cron.yaml'] });
      const fetched = await callsOf('POST', '/api/v2/reconcile');
      const written = await callsOf('PUT', '/api/v2/apps/web/update', { container_image: 'durable:1' });
      await manager.kill();
      const packSynced = [
        'the name of their pack is synced',
        /^fsync\(\d+<[^>]*\/mirror\.git\/objects\/pack>/,
      ] as const;
      expectInOrder(fetched, [
        ['objects are fetched', /^(rename|link).*\/mirror\.git\/objects\/pack\/pack-/],
        packSynced,
        ['the reply is sent', /^(write|writev|sendto|sendmsg)\(.*HTTP\/1\.1 200/],
      ]);
      expectInOrder(written, [
        ['the objects are synced at origin', /^fsync\(\d+<[^>]*\/fleet\.git\/objects\//],
        ['the ref is synced at origin', /^fsync\(\d+<[^>]*\/fleet\.git\/refs\/heads\/main\.lock>/],
        ['the objects are synced in the mirror', /^fsync\(\d+<[^>]*\/mirror\.git\/objects\/\w\w\/tmp_obj_/],
        ['their names are synced in the mirror', /^fsync\(\d+<[^>]*\/mirror\.git\/objects\/\w\w>/],
        ['the ref is synced in the mirror', /^fsync\(\d+<[^>]*\/mirror\.git\/refs\/remotes/],
        ['the reply is sent', ANSWER],
      ]);
    },
  );

  it.skipIf(!canTrace()).each([
    ['a restart', '/api/v2/apps/web/restart', undefined, 202, ''],
    ['a list of reports', '/api/v2/reports', REPORTS, 200, 'report_creation_time'],
  ])('syncs the store before it replies to %s', async (_, path, body, status, text) => {
    const repository = await testRepository();
    await repository.commit({ 'desired-state/apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
    const { manager, killAndRead } = await traced(repository, `${CALLS},pwrite64`);
    expect((await manager.request('POST', path, body)).status).toBe(status);
    const calls = await killAndRead();
    const answered = calls.findIndex((call) => ANSWER.test(call));
    const before = calls.slice(0, answered);
    // Something else can be written meanwhile, such as the history of the first commit.
    const written = before.findLastIndex(
      (call) => /^pwrite64\(\d+<[^>]*store\.sqlite-wal>/.test(call) && call.includes(text),
    );
    const synced = before.findLastIndex((call) => /^f(data)?sync\(\d+<[^>]*store\.sqlite-wal>/.test(call));
    expect(written).toBeGreaterThanOrEqual(0);
    expect(synced).toBeGreaterThan(written);
  });

  it.skipIf(!canTrace())(
    'syncs a slow disk once for many lists of reports that arrive meanwhile',
    async () => {
      const repository = await testRepository();
      await repository.commit({ 'desired-state/apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
      const { manager, killAndRead } = await traced(repository, 'fdatasync', ['fdatasync:delay_exit=500000']);
      const posts = Array.from({ length: 40 }, async (_, index) => {
        await setTimeout(5 * index);
        return manager.request('POST', '/api/v2/reports', REPORTS);
      });
      for (const { status } of await Promise.all(posts)) expect(status).toBe(200);
      const syncs = (await killAndRead()).filter((call) =>
        /^fdatasync\(\d+<[^>]*store\.sqlite-wal>/.test(call),
      );
      expect(syncs.length).toBeLessThan(20);
    },
  );
});
