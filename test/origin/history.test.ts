import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import { PASSWORD, SMALL_FLEET, startManager, type TestManager, USER } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
const CRON = 'desired-state/apps/cron.yaml';
const image = (tag: string): string => `container_image: nginx:${tag}\n`;

interface Listed {
  n: number;
  kind: string;
  subject: string;
  changes: {
    object: string;
    change: string;
    ids: Record<string, number> | null;
    moved_from: string | null;
  }[];
}

/** Newest first, without the first one: `commit: subject`, and what gave an id or moved. */
async function lines(manager: TestManager): Promise<string[]> {
  const { entries } = (await manager.get('/api/v2/history')).body as { entries: Listed[] };
  return entries.slice(0, -1).map(({ kind, subject, changes }) => {
    const what = changes.flatMap(({ object, ids, moved_from: from }) => [
      ...(Object.keys(ids ?? {}).length > 0 ? [object] : []),
      ...(from === null ? [] : [`moved ${from}`]),
    ]);
    return `${kind}: ${kind === 'commit' ? subject : ''}; ${what.join(', ')}`;
  });
}

/** What a user does in a clone before one push, and what the history has of it. */
const ROWS: [string, (user: TestRepository) => Promise<unknown>, string[]][] = [
  [
    'has each commit of a fast-forward, with ids only at the last',
    async (user) => {
      for (const tag of ['3', '4', '5']) await user.commit({ [WEB]: image(tag) }, tag);
    },
    ['commit: 5; app/web', 'commit: 4; ', 'commit: 3; '],
  ],
  [
    'has a change and its revert in one push, which gave no ids',
    async (user) => {
      await user.commit({ [WEB]: image('3') }, '3');
      await user.git('revert', '--no-edit', 'HEAD');
    },
    ['commit: Revert "3"; ', 'commit: 3; '],
  ],
  [
    'has a squashed branch once',
    async (user) => {
      await user.git('switch', '--quiet', '--create', 'side');
      await user.commit({ [WEB]: image('3') }, '3');
      await user.commit({ [CRON]: 'container_image: cron:9\n' }, '9');
      await user.git('switch', '--quiet', '-');
      await user.git('merge', '--quiet', '--squash', 'side');
      await user.commit({}, 'squashed (#4)');
    },
    ['commit: squashed (#4); app/cron, app/web'],
  ],
  [
    'has a merge once, without its side commits',
    async (user) => {
      await user.git('switch', '--quiet', '--create', 'side');
      await user.commit({ [WEB]: image('3') }, '3');
      await user.git('switch', '--quiet', '-');
      await user.git('merge', '--quiet', '--no-ff', '--message', 'merged', 'side');
    },
    ['commit: merged; app/web'],
  ],
  [
    'has the side commits of a foxtrot merge, whose first parent is the side',
    async (user) => {
      await user.git('branch', 'before');
      await user.git('switch', '--quiet', '--create', 'side', 'HEAD~1');
      await user.commit({ [CRON]: 'container_image: cron:9\n' }, 'side');
      await user.git('merge', '--quiet', '--no-ff', '--message', 'foxtrot', 'before');
    },
    ['commit: foxtrot; ', 'commit: side; app/cron'],
  ],
  [
    'has a moved file as one object',
    async (user) => {
      await user.git('mv', WEB, 'desired-state/apps/web.yml');
      await user.commit({}, 'move');
    },
    ['commit: move; moved desired-state/apps/web.yaml'],
  ],
  [
    'has a rewrite with the ids that no commit tells, and then the new commit',
    async (user) => {
      await user.git('reset', '--quiet', '--hard', 'HEAD~1');
      await user.commit({ [CRON]: 'container_image: cron:9\n' }, 'instead');
    },
    ['commit: instead; app/cron', 'rewrite: ; app/web'],
  ],
];

describe('the history of a manager that follows an origin', () => {
  it.each(ROWS)('%s', async (_, act, expected) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.push({ [WEB]: image('2') }, 'two');
    await manager.reconcile();
    await act(origin.user);
    await origin.user.git('push', '--quiet', '--force', 'origin', 'HEAD:refs/heads/main');
    await manager.reconcile();
    expect(await lines(manager)).toEqual([...expected, 'commit: two; app/web']);
  });
});

describe('the history of a shallow clone', () => {
  it('stays incomplete and says since when it is known, also on the command line', async () => {
    const full = await testRepository();
    for (const tag of ['1', '2', '3', '4']) await full.commit({ [WEB]: image(tag) }, tag);
    const folder = join(await temporaryFolder(), 'shallow');
    await full.git('clone', '--quiet', '--depth', '3', `file://${full.folder}`, folder);
    const manager = await startManager({ repository: repositoryAt(folder) });
    await expect.poll(async () => (await manager.get('/api/v2/history')).body.entries.length).toBe(2);
    const { body } = await manager.get('/api/v2/history');
    expect(body).toMatchObject({ complete: false, indexed_until: body.entries.at(-1).at });
    const env = { HOLDFAST: manager.service.address, CREDENTIALS: `${USER}:${PASSWORD}` };
    const { out, err } = await runCli(['history'], { env });
    expect(`${out}${err}`).toMatch(/has read only the commits since \d.*shallow/);
  });

  it('begins with what was applied, if no commit of it says what that changed', async () => {
    const full = await testRepository();
    await full.commit({ [WEB]: image('1') }, 'the only one');
    const folder = join(await temporaryFolder(), 'shallow');
    await full.git('commit', '--quiet', '--allow-empty', '--message', 'nothing');
    await full.git('clone', '--quiet', '--depth', '1', `file://${full.folder}`, folder);
    const manager = await startManager({ repository: repositoryAt(folder) });
    const start = (await full.git('rev-parse', '--short=10', 'HEAD')).trim();
    const list = async () => (await manager.get('/api/v2/history')).body.entries as Listed[];
    await expect.poll(list).toMatchObject([{ kind: 'switch', subject: `start at ${start}` }]);
    expect((await list())[0]?.changes.map(({ object }) => object)).toEqual(['app/web']);
    const env = { HOLDFAST: manager.service.address, CREDENTIALS: `${USER}:${PASSWORD}` };
    const { err } = await runCli(['history'], { env });
    expect(err).toMatch(/has read no older commits yet: .*shallow/);
  });
});
