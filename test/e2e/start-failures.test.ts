import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { spawnManager } from '../support/process-manager.ts';
import { runProgram, setUpFleet, stop } from './program.ts';

/** Root may read and write everything, so if the tests run as root, these programs run as `nobody`. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

/** A folder that belongs to the user of the programs. */
async function ownFolder(): Promise<string> {
  const folder = await temporaryFolder();
  if (NOBODY !== undefined) await chown(folder, NOBODY.uid, NOBODY.gid);
  return folder;
}

/** A folder of that user that may not be entered. */
async function closedFolder(): Promise<string> {
  const folder = join(await ownFolder(), 'closed');
  await mkdir(folder, { mode: 0o600 });
  return folder;
}

/** Starts a manager that must fail; `text` is its message. */
async function failureOf(dataFolder: string, env: Record<string, string> = {}) {
  const repository = { folder: await ownFolder() };
  const program = spawnManager({ repository, dataFolder, env, ...(NOBODY && { user: NOBODY }) });
  const code = await program.ended;
  return {
    code,
    text: program
      .output()
      .split('\n')
      .find((line) => line.startsWith('holdfast: ')),
  };
}

describe('a start that cannot use what a setting names', () => {
  it('names the folder around the repository that this user may not enter', async () => {
    const closed = await closedFolder();
    const env = { DESIRED_STATE: join(closed, 'fleet/desired-state') };
    const { code, text } = await failureOf(join(await ownFolder(), 'data'), env);
    expect([code, text]).toEqual([
      2,
      expect.stringContaining(`this user may not enter the folder ${closed} (EACCES)`),
    ]);
    expect(text).not.toContain('install git');
  });

  it('names a data folder that this user may not enter or create', async () => {
    const closed = await closedFolder();
    for (const folder of [closed, join(closed, 'data')]) {
      const { code, text } = await failureOf(folder);
      expect([code, text]).toEqual([
        3,
        expect.stringContaining(`DATA_DIR cannot be used: ${folder} may not be`),
      ]);
    }
  });

  it('names the mirror, or the settings of its transfers, if this user may not use them', async () => {
    const origin = await testOrigin();
    for (const name of ['mirror.git', 'transfer.gitconfig']) {
      const dataFolder = await ownFolder();
      await mkdir(join(dataFolder, name, 'objects'), { recursive: true });
      await chmod(join(dataFolder, name), 0);
      if (NOBODY !== undefined) await chown(join(dataFolder, name), NOBODY.uid, NOBODY.gid);
      const { code, text } = await failureOf(dataFolder, {
        GIT_REMOTE: origin.url,
        DESIRED_STATE: 'desired-state',
      });
      expect(code).toBe(3);
      expect(text).toMatch(new RegExp(`${name} in DATA_DIR cannot be used \\(E[A-Z]+\\)`));
    }
  });

  it('names the data folder if a folder stands in place of its lock', async () => {
    const { dataFolder, env } = await setUpFleet();
    await mkdir(join(dataFolder, 'manager.lock'), { recursive: true });
    await chmod(dataFolder, 0o700);
    const program = runProgram(['serve'], env);
    expect(await program.ended).toBe(3);
    expect(program.output()).toContain(`(DATA_DIR is ${dataFolder})`);
  });

  it('names a store that is not a database, and says how to get a new one', async () => {
    const { dataFolder, env } = await setUpFleet();
    await mkdir(dataFolder, { mode: 0o700 });
    await writeFile(join(dataFolder, 'store.sqlite'), 'a text, not a database'.repeat(99));
    const program = runProgram(['serve'], env);
    expect(await program.ended).toBe(2);
    expect(program.output()).toMatch(
      /is not a database; restore a backup, or [^;]* rebuilt from git \(.*\/store\.sqlite\)/,
    );
  });

  it('names a store that this user may not write, as after root restored it', async () => {
    const dataFolder = await ownFolder();
    const store = join(dataFolder, 'store.sqlite');
    const setup = await setUpFleet();
    const first = runProgram(['serve'], { ...setup.env, DATA_DIR: dataFolder });
    await first.waitFor(/"msg":"applied"/);
    expect(await stop(first)).toBe(0);
    for (const name of ['manager.json', 'manager.lock', 'admin.json']) await rm(join(dataFolder, name));
    await chmod(store, 0o444);
    await chmod(dataFolder, 0o700);
    const { code, text } = await failureOf(dataFolder);
    expect([code, text]).toEqual([
      3,
      expect.stringContaining(
        `may not be written by this user; make the user of the manager its owner (${store}, EACCES)`,
      ),
    ]);
  });
});

describe('a manager whose origin is behind ssh, on a machine without ssh', () => {
  it('starts and reports that ssh cannot be run', async () => {
    const programs = await temporaryFolder();
    const { stdout } = await promisify(execFile)('sh', ['-c', 'command -v git']);
    await symlink(stdout.trim(), join(programs, 'git'));
    const origin = { ...(await testOrigin()), url: 'ssh://git@127.0.0.1:1/fleet.git' };
    const manager = await startFollower(origin, { path: programs });
    expect((await manager.get('/api/v2/reconcile')).body.error).toMatchObject({
      message: expect.stringMatching(/ssh: (command )?not found|cannot run ssh/),
    });
  });
});
