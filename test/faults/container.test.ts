import { existsSync } from 'node:fs';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProcessManager } from '../support/process-manager.ts';
import { works } from '../support/tools.ts';
import { changeWeb, newFleet } from './small-fleet.ts';

/** Runs a command where it sees no other processes, as in a container. */
const CONTAINER = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'];

/**
 * Runs a command with `ProtectProc=invisible` and `PrivateUsers=yes` of examples/holdfast.service, as systemd does it. The
 * group root would see all processes.
 */
const UNIT = [
  ...['unshare', '--mount', 'sh', '-c'],
  'mount -t proc -o hidepid=2 proc /proc && exec setpriv --regid 65534 --clear-groups unshare --user --map-current-user "$@"',
  'sh',
];

const isMissing = process.platform !== 'linux' || !works(CONTAINER[0] ?? '', [...CONTAINER.slice(1), 'true']);

/** Starts a manager in a container, with a lock of the index that is this many seconds old. */
async function startWithLock(age: number, wrapper = CONTAINER) {
  const { repository, dataFolder } = await newFleet();
  const manager = await startProcessManager({ repository, dataFolder, wrapper });
  expect((await changeWeb(manager, 'before:1')).status).toBe(202);
  const lock = join(repository.folder, '.git/index.lock');
  await writeFile(lock, '');
  const then = Date.now() / 1000 - age;
  await utimes(lock, then, then);
  return { manager, lock };
}

describe.skipIf(isMissing)('a manager in a container', () => {
  it('leaves a lock alone that a git outside of the container may hold', async () => {
    const { manager, lock } = await startWithLock(60);
    const reply = await changeWeb(manager, 'blocked:1');
    expect([reply.status, reply.body.error]).toEqual([409, expect.stringContaining('locked')]);
    expect(existsSync(lock)).toBe(true);
    await manager.kill();
  });
});

const cannotHide = process.platform !== 'linux' || !works(UNIT[0] ?? '', [...UNIT.slice(1), 'true']);

describe.skipIf(cannotHide)('a manager that sees only processes of its own user namespace', () => {
  it('leaves a lock alone that a git of somebody else may hold', async () => {
    const { manager, lock } = await startWithLock(60, UNIT);
    const reply = await changeWeb(manager, 'blocked:1');
    expect([reply.status, reply.body.error]).toEqual([409, expect.stringContaining('locked')]);
    expect(existsSync(lock)).toBe(true);
    await manager.kill();
  });
});
