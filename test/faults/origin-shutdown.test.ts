import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PUBLISHING_REF } from '../../src/source/git/write/commit-writer.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { RECORD } from '../support/lost-store.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import {
  type ProcessManager,
  type ProcessOptions,
  spawnManager,
  startProcessManager,
} from '../support/process-manager.ts';
import {
  areAlive,
  ENDLESS_MESSAGES,
  firstRecord,
  SILENCE,
  type SshOrigin,
  serveSsh,
} from '../support/ssh-origin.ts';

interface Place {
  origin: TestOrigin;
  ssh: SshOrigin;
  options: ProcessOptions;
}

async function newPlace(timeout = '60'): Promise<Place> {
  const origin = await testOrigin(SMALL_FLEET);
  const ssh = await serveSsh(origin.url);
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { GIT_REMOTE: ssh.url, DESIRED_STATE: 'desired-state', PATH: ssh.path, GIT_TIMEOUT: timeout };
  return { origin, ssh, options: { repository: origin.person, dataFolder, env } };
}

/** Starts a look or a write that hangs; resolves when ssh was called for it. */
async function hang({ ssh }: Place, behaviour: string, act: () => Promise<unknown>): Promise<void> {
  const before = (await ssh.calls()).length;
  await ssh.behave(behaviour);
  void act().catch(() => undefined);
  await expect.poll(async () => (await ssh.calls()).length).toBeGreaterThan(before);
}

/** A manager whose record is on its way to an origin that does not take it; `before` is the version that is there. */
async function sendingRecord() {
  const place = await newPlace();
  const manager = await startProcessManager(place.options);
  await firstRecord(place.origin);
  const mirror = repositoryAt(join(place.options.dataFolder, 'mirror.git'));
  const before = await place.origin.bare.git('rev-parse', RECORD);
  await hang(place, HANGS_PUSHES, () => manager.request('POST', '/api/v2/apps/web/restart'));
  return { place, manager, mirror, before };
}

async function expectGone({ ssh }: Place): Promise<void> {
  const calls = await ssh.calls();
  await expect.poll(() => areAlive(calls)).toBe(false);
}

/** A search path on which a command of git hangs from the moment that this is asked for. */
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
const look = (manager: ProcessManager) => () => manager.request('POST', '/api/v2/reconcile');
const write = (manager: ProcessManager) => () =>
  manager.request('POST', '/api/v2/apps/new', { container_image: 'new:1' });

describe('a manager that is told to stop ends by itself, and leaves no git behind', () => {
  it.each([SILENCE, ENDLESS_MESSAGES])('in the middle of the first fetch: %j', async (behaviour) => {
    const place = await newPlace();
    await place.ssh.behave(behaviour);
    const started = spawnManager(place.options);
    await expect.poll(async () => (await place.ssh.calls()).length).toBeGreaterThan(0);
    started.child.kill('SIGTERM');
    expect(await started.ended).toBe(0);
    await expectGone(place);
  });

  it.each([SILENCE, ENDLESS_MESSAGES])('in the middle of a look: %j', async (behaviour) => {
    const place = await newPlace();
    const manager = await startProcessManager(place.options);
    await firstRecord(place.origin);
    await hang(place, behaviour, look(manager));
    expect(await manager.stop()).toBe(0);
    expect(manager.process.output()).not.toContain('did not stop in time');
    await expectGone(place);
  });

  it('in the middle of sending the record of ids: it is in the mirror then, and the log says so', async () => {
    const { place, manager, mirror, before } = await sendingRecord();
    expect(await manager.stop()).toBe(0);
    expect(manager.process.output()).toMatch(/kept only in the mirror.*the manager is shutting down/);
    expect(await mirror.git('rev-parse', RECORD)).not.toBe(before);
    await expectGone(place);
  });

  it('in the middle of sending the record of ids, with a write and a look behind that: who waits is told', async () => {
    const { place, manager, mirror, before } = await sendingRecord();
    const replies = Promise.all([look, write].map(async (act) => (await act(manager)()).status));
    replies.catch(() => undefined);
    const isMade = () => mirror.git('rev-parse', '--verify', PUBLISHING_REF).catch(() => null);
    await expect.poll(isMade).not.toBe(null);
    expect(await manager.stop()).toBe(0);
    expect((await replies)[1]).toBe(503);
    expect(await mirror.git('rev-parse', RECORD)).not.toBe(before);
    await expectGone(place);
  });

  it('and cannot record the last ids in time: the log says so', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState(SMALL_FLEET));
    const { path, hang: hangGit } = await gitThatHangs('fast-import');
    const dataFolder = join(await temporaryFolder(), 'data');
    const manager = await startProcessManager({ repository, dataFolder, env: { PATH: path } });
    await firstRecord({ bare: repository });
    await hangGit();
    expect((await manager.request('POST', '/api/v2/apps/web/restart')).status).toBe(202);
    expect(await manager.stop()).toBe(0);
    expect(manager.process.output()).toContain('the last ids were not recorded in time');
  });

  it('in the middle of a push: who waits is told', async () => {
    const place = await newPlace();
    const manager = await startProcessManager(place.options);
    await firstRecord(place.origin);
    const replies: number[] = [];
    const act = async (): Promise<unknown> => replies.push((await write(manager)()).status);
    await hang(place, HANGS_PUSHES, act);
    expect(await manager.stop()).toBe(0);
    await expect.poll(() => replies).toEqual([503]);
    await expectGone(place);
    expect(await place.origin.bare.git('log', '--format=%s', 'main')).toBe('the first fleet');
  });
});

it('a second signal ends it at once, and no git is left', async () => {
  const place = await newPlace();
  const manager = await startProcessManager(place.options);
  await firstRecord(place.origin);
  await hang(place, HANGS_PUSHES, write(manager));
  manager.process.child.kill('SIGTERM');
  await manager.process.waitFor(/"msg":"stopping"/);
  manager.process.child.kill('SIGINT');
  expect(await manager.process.ended).toBe(3);
  await expectGone(place);
});
