import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PUBLISHING_REF } from '../../src/source/git/write/commit-writer.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import {
  type ProcessManager,
  type ProcessOptions,
  spawnManager,
  startProcessManager,
} from '../support/process-manager.ts';
import { REMOTE_RECORD } from '../support/record-files.ts';
import {
  areAlive,
  ENDLESS_MESSAGES,
  SILENCE,
  type SshOrigin,
  serveSsh,
  waitForFirstRecord,
} from '../support/ssh-origin.ts';

/** An origin behind a stand-in for ssh, and the options of a manager that follows it. */
interface Fleet {
  origin: TestOrigin;
  ssh: SshOrigin;
  options: ProcessOptions;
}

async function newFleet(): Promise<Fleet> {
  const origin = await testOrigin(SMALL_FLEET);
  const ssh = await serveSsh(origin.url);
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { GIT_REMOTE: ssh.url, DESIRED_STATE: 'desired-state', PATH: ssh.path, GIT_TIMEOUT: '60' };
  return { origin, ssh, options: { repository: origin.user, dataFolder, env } };
}

/** Starts a poll or a write whose ssh behaves this way; resolves once ssh was called for it. */
async function startHanging({ ssh }: Fleet, behaviour: string, act: () => Promise<unknown>): Promise<void> {
  const before = (await ssh.calls()).length;
  await ssh.behave(behaviour);
  void act().catch(() => undefined);
  await expect.poll(async () => (await ssh.calls()).length).toBeGreaterThan(before);
}

/** A manager that is pushing its record of ids to an origin that hangs; `before` is the version that origin has. */
async function managerPushingRecord() {
  const fleet = await newFleet();
  const manager = await startProcessManager(fleet.options);
  await waitForFirstRecord(fleet.origin);
  const mirror = repositoryAt(join(fleet.options.dataFolder, 'mirror.git'));
  const before = await fleet.origin.bare.git('rev-parse', REMOTE_RECORD);
  await startHanging(fleet, HANGS_PUSHES, () => manager.request('POST', '/api/v2/apps/web/restart'));
  return { fleet, manager, mirror, before };
}

/** Checks that every ssh ends. */
async function expectNoSsh({ ssh }: Fleet): Promise<void> {
  const calls = await ssh.calls();
  await expect.poll(() => areAlive(calls)).toBe(false);
}

/** A search path with a git whose given command hangs once `hang` was called. */
async function gitThatHangs(command: string): Promise<{ path: string; hang(): Promise<void> }> {
  const folder = await temporaryFolder();
  const [path = '', mark] = [process.env['PATH'], join(folder, 'hang')];
  const hangs = `test -e '${mark}' && test "$1" = ${command} && exec sleep 600`;
  await writeFile(join(folder, 'git'), `#!/bin/sh\n${hangs}\nPATH='${path}' exec git "$@"\n`, {
    mode: 0o755,
  });
  return { path: `${folder}:${path}`, hang: () => writeFile(mark, '') };
}

const HANGS_PUSHES = `case "$command" in *receive-pack*) ${SILENCE}esac\n`;
const poll = (manager: ProcessManager) => () => manager.request('POST', '/api/v2/reconcile');
const write = (manager: ProcessManager) => () =>
  manager.request('POST', '/api/v2/apps/new', { container_image: 'new:1' });

/** How ssh behaves instead of connecting to origin. */
const HANGING = [
  ['is silent', SILENCE],
  ['sends messages without end', ENDLESS_MESSAGES],
] as const;

describe('a manager that is stopped', () => {
  it.each(HANGING)(
    'ends with 0 and leaves no ssh running during its first fetch, if origin %s',
    async (_, behaviour) => {
      const fleet = await newFleet();
      await fleet.ssh.behave(behaviour);
      const started = spawnManager(fleet.options);
      await expect.poll(async () => (await fleet.ssh.calls()).length).toBeGreaterThan(0);
      started.child.kill('SIGTERM');
      expect(await started.ended).toBe(0);
      await expectNoSsh(fleet);
    },
  );

  it.each(HANGING)(
    'ends with 0 and leaves no ssh running during a poll, if origin %s',
    async (_, behaviour) => {
      const fleet = await newFleet();
      const manager = await startProcessManager(fleet.options);
      await waitForFirstRecord(fleet.origin);
      await startHanging(fleet, behaviour, poll(manager));
      expect(await manager.stop()).toBe(0);
      expect(manager.process.output()).not.toContain('did not stop in time');
      await expectNoSsh(fleet);
    },
  );

  it('during a push of the record of ids keeps the record in the mirror, and logs that', async () => {
    const { fleet, manager, mirror, before } = await managerPushingRecord();
    expect(await manager.stop()).toBe(0);
    expect(manager.process.output()).toMatch(/kept only in the mirror.*the manager is shutting down/);
    expect(await mirror.git('rev-parse', REMOTE_RECORD)).not.toBe(before);
    await expectNoSsh(fleet);
  });

  it('during a push of the record of ids answers a write that waits behind it with 503, and keeps the record in the mirror', async () => {
    const { fleet, manager, mirror, before } = await managerPushingRecord();
    const replies = Promise.all([poll, write].map(async (act) => (await act(manager)()).status));
    replies.catch(() => undefined);
    const staging = repositoryAt(join(fleet.options.dataFolder, 'staging.git'));
    const waitingCommit = () => staging.git('rev-parse', '--verify', PUBLISHING_REF).catch(() => null);
    await expect.poll(waitingCommit).not.toBe(null);
    expect(await manager.stop()).toBe(0);
    expect((await replies)[1]).toBe(503);
    expect(await mirror.git('rev-parse', REMOTE_RECORD)).not.toBe(before);
    await expectNoSsh(fleet);
  });

  it('logs that it could not record the last ids in time', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState(SMALL_FLEET));
    const { path, hang: hangGit } = await gitThatHangs('fast-import');
    const dataFolder = join(await temporaryFolder(), 'data');
    const manager = await startProcessManager({ repository, dataFolder, env: { PATH: path } });
    await waitForFirstRecord({ bare: repository });
    await hangGit();
    expect((await manager.request('POST', '/api/v2/apps/web/restart')).status).toBe(202);
    expect(await manager.stop()).toBe(0);
    expect(manager.process.output()).toContain('the last ids were not recorded in time');
  });

  it('during the push of a write answers the write with 503, and origin has no commit of it', async () => {
    const fleet = await newFleet();
    const manager = await startProcessManager(fleet.options);
    await waitForFirstRecord(fleet.origin);
    const replies: number[] = [];
    const act = async (): Promise<unknown> => replies.push((await write(manager)()).status);
    await startHanging(fleet, HANGS_PUSHES, act);
    expect(await manager.stop()).toBe(0);
    await expect.poll(() => replies).toEqual([503]);
    await expectNoSsh(fleet);
    expect(await fleet.origin.bare.git('log', '--format=%s', 'main')).toBe('the first fleet');
  });
});

it('a manager that gets a second signal during its stop ends at once with 3, and leaves no ssh running', async () => {
  const fleet = await newFleet();
  const manager = await startProcessManager(fleet.options);
  await waitForFirstRecord(fleet.origin);
  await startHanging(fleet, HANGS_PUSHES, write(manager));
  manager.process.child.kill('SIGTERM');
  await manager.process.waitFor(/"msg":"stopping"/);
  // Within a second, two signals count as one.
  await sleep(1200);
  manager.process.child.kill('SIGINT');
  expect(await manager.process.ended).toBe(3);
  await expectNoSsh(fleet);
});
