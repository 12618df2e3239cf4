import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { watchRepository } from '../../../../src/source/git/repository/watch.ts';
import type { Watcher } from '../../../../src/source/source.ts';
import { contextAt, newRepository } from '../support.ts';

const watchers: Watcher[] = [];
afterEach(async () => {
  await Promise.all(watchers.splice(0).map((watcher) => watcher.close()));
});

/** A repository under watch; `heard` counts what the watch tells, and `onChange` is called each time. */
async function watched(onChange: () => void = () => undefined) {
  const fleet = await newRepository();
  await fleet.commit({ 'a.txt': 'one\n' });
  await fleet.git('branch', 'other');
  const gitFolder = `${fleet.folder}/.git`;
  const context = contextAt(fleet.folder);
  const repository = {
    context,
    gitFolder,
    commonFolder: gitFolder,
    prefix: '',
  };
  const heard = { count: 0 };
  const count = (): void => {
    heard.count += 1;
    onChange();
  };
  watchers.push(await watchRepository(repository, count));
  return { ...fleet, heard };
}

/** Resolves when something came true, after any time. */
function until(isTrue: () => void): Promise<void> {
  return vi.waitFor(isTrue, { timeout: 60_000 });
}

/** Milliseconds in which an event that should not come would have come. */
const QUIET = 300;

describe('watchRepository', () => {
  it.each([
    { name: 'a commit', act: [['commit', '--allow-empty', '-m', 'x']] },
    { name: 'another branch that is checked out', act: [['checkout', 'other']] },
    { name: 'refs that are packed', act: [['pack-refs', '--all']] },
    { name: 'a branch in a folder of its own', act: [['branch', 'team/new']] },
    {
      name: 'the move of a branch whose folder is new',
      act: [
        ['checkout', '-b', 'team/new'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
    },
    { name: 'a branch that goes', act: [['branch', '-D', 'other']] },
    {
      name: 'the move of a branch deep in folders that went and came again',
      act: [
        ['branch', 'team/a/b/new'],
        ['branch', '-D', 'team/a/b/new'],
        ['checkout', '-b', 'team/a/b/new'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
    },
    {
      name: 'the move of a branch whose name was one of a folder, and before that of a branch',
      act: [
        ['branch', 'team'],
        ['branch', '-M', 'team', 'team/new'],
        ['branch', '-M', 'team/new', 'team'],
        ['checkout', 'team'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
    },
  ])('tells of $name', async ({ act }) => {
    const { git, heard } = await watched();
    for (const args of act) {
      const before = heard.count;
      await git(...args);
      await until(() => expect(heard.count).toBeGreaterThan(before));
    }
  });

  it('follows no link, which could lead back to where it lies', async () => {
    const { folder, git, heard } = await watched();
    await symlink('..', join(folder, '.git/refs/heads/loop'));
    await until(() => expect(heard.count).toBeGreaterThan(0));
    await sleep(QUIET);
    const before = heard.count;
    await git('commit', '--allow-empty', '-m', 'x');
    await until(() => expect(heard.count).toBeGreaterThan(before));
  });

  it('tells of the last of many moves in quick succession', async () => {
    const seen: Promise<string>[] = [];
    const fleet = await watched(() => seen.push(fleet.git('rev-parse', 'HEAD').catch(() => 'gone')));
    for (let index = 0; index < 20; index++) await fleet.git('commit', '--allow-empty', '-m', 'x');
    const last = await fleet.git('rev-parse', 'HEAD');
    await vi.waitFor(async () => expect(await Promise.all(seen)).toContain(last), { timeout: 60_000 });
  });

  it('says nothing of what leaves every branch where it is', async () => {
    const { git, heard } = await watched();
    await git('rm', '--cached', 'a.txt');
    await git('add', '--all');
    await git('hash-object', '-w', 'a.txt');
    await git('config', 'user.name', 'Pat');
    await sleep(QUIET);
    expect(heard.count).toBe(0);
  });

  it('hears nothing more once closed', async () => {
    const { git, heard } = await watched();
    await watchers.pop()?.close();
    await git('commit', '--allow-empty', '-m', 'x');
    await sleep(QUIET);
    expect(heard.count).toBe(0);
  });
});
