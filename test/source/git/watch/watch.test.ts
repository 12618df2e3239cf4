import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { followedHead } from '../../../../src/source/git/refs/followed.ts';
import { watchRepository } from '../../../../src/source/git/watch/watch.ts';
import type { Watcher } from '../../../../src/source/source.ts';
import { newRepository, repositoryOf } from '../support.ts';

const watchers: Watcher[] = [];
afterEach(async () => {
  await Promise.all(watchers.splice(0).map((watcher) => watcher.close()));
});

/** A repository under watch; `events` counts the calls of the watch, each of which also calls `onChange`. */
async function watchedRepository(onChange: () => void = () => undefined) {
  const fleet = await newRepository();
  await fleet.commit({ 'a.txt': 'one\n' });
  await fleet.git('branch', 'other');
  const events = { count: 0 };
  const count = (): void => {
    events.count += 1;
    onChange();
  };
  const repository = repositoryOf(fleet.folder);
  const followed = async () => (await followedHead(repository)).branch;
  watchers.push(await watchRepository(repository, followed, { onChange: count, onTrouble: () => undefined }));
  return { ...fleet, events };
}

/** Resolves once the watch has reported something after the first `before` events. */
function nextEvent(events: { count: number }, before = 0): Promise<void> {
  return vi.waitFor(() => expect(events.count).toBeGreaterThan(before), { timeout: 60_000 });
}

/** Milliseconds after which an event that must not come would have come. */
const QUIET = 300;

describe('watchRepository', () => {
  it.each([
    ['a commit', [['commit', '--allow-empty', '-m', 'x']]],
    ['a switch to another branch', [['checkout', 'other']]],
    ['a packing of refs', [['pack-refs', '--all']]],
    [
      'a move of a branch in a new folder',
      [
        ['checkout', '-b', 'team/new'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
    ],
    [
      'a move of a branch deep in folders that were deleted and made again',
      [
        ['checkout', '-b', 'team/a/b/new'],
        ['checkout', 'main'],
        ['checkout', '-B', 'team/a/b/new'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
    ],
    [
      'a move of a branch whose name was first a branch and then a folder',
      [
        ['checkout', '-b', 'team'],
        ['branch', '-M', 'team', 'team/new'],
        ['branch', '-M', 'team/new', 'team'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
    ],
  ])('reports %s', async (_, commands) => {
    const { git, events } = await watchedRepository();
    for (const args of commands) {
      const before = events.count;
      await git(...args);
      await nextEvent(events, before);
    }
  });

  it('reports the last of many moves in quick succession', async () => {
    const heads: Promise<string>[] = [];
    const fleet = await watchedRepository(() =>
      heads.push(fleet.git('rev-parse', 'HEAD').catch(() => 'gone')),
    );
    for (let index = 0; index < 20; index++) await fleet.git('commit', '--allow-empty', '-m', 'x');
    const last = await fleet.git('rev-parse', 'HEAD');
    await vi.waitFor(async () => expect(await Promise.all(heads)).toContain(last), { timeout: 60_000 });
  });

  it('does not report changes that move no branch', async () => {
    const { git, events } = await watchedRepository();
    await git('rm', '--cached', 'a.txt');
    await git('add', '--all');
    await git('hash-object', '-w', 'a.txt');
    await git('config', 'user.name', 'Pat');
    await sleep(QUIET);
    expect(events.count).toBe(0);
  });

  it('reports nothing after it is closed', async () => {
    const { git, events } = await watchedRepository();
    await watchers.pop()?.close();
    await git('commit', '--allow-empty', '-m', 'x');
    await sleep(QUIET);
    expect(events.count).toBe(0);
  });
});
