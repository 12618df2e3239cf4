import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

type Files = Readonly<Record<string, string | null>>;

const BROKEN = 'container_image: nginx:1.26\nrunning: maybe\n';
const LONGER = { ...SMALL_FLEET, 'apps/third.yaml': 'container_image: third:1\n' };

interface Planned {
  steps: string[];
  err: string;
}

async function planOf(repository: TestRepository, ...more: string[]): Promise<Planned> {
  const folder = join(repository.folder, 'desired-state');
  const { out, err } = await runCli(['plan', folder, '--format', 'json', ...more]);
  const steps: { operation: string; name: string }[] = JSON.parse(out).steps;
  return { steps: steps.map(({ operation, name }) => `${operation} ${name}`).sort(), err };
}

describe('plan, where the base has invalid files', () => {
  it.each<[string, Files[], Files, string[]]>([
    [
      'an invalid app that goes is a deletion',
      [{ 'apps/web.yaml': BROKEN }],
      { 'apps/web.yaml': null, 'device-groups/edge.yaml': 'apps: [cron]\n' },
      ['delete web', 'update edge'],
    ],
    [
      'an invalid group that goes is a deletion, and its apps can go',
      [{ 'device-groups/edge.yaml': 'apps: 1\n' }],
      { 'device-groups/edge.yaml': null, 'apps/web.yaml': null },
      ['delete edge', 'delete web'],
    ],
    [
      'mending is no creation, and nothing where the content is as before',
      [{ 'apps/web.yaml': BROKEN, 'device-groups/edge.yaml': 'apps: 1\n' }],
      { 'apps/web.yaml': 'container_image: nginx:1.27\n', 'device-groups/edge.yaml': 'apps: [web, cron]\n' },
      ['update web'],
    ],
    [
      'a group that names a missing app has its last good list',
      [{ 'device-groups/edge.yaml': 'apps: [web, nope]\n' }],
      { 'device-groups/edge.yaml': 'apps: [web]\n' },
      ['update edge'],
    ],
    [
      'the last good content is the newest one, whatever else was committed since',
      [
        { 'apps/web.yaml': 'container_image: nginx:1.27\n' },
        { 'apps/web.yaml': BROKEN },
        { 'apps/cron.yaml': 'container_image: cron:4\n' },
        { 'apps/web.yaml': `${BROKEN}# still\n` },
      ],
      { 'apps/web.yaml': 'container_image: nginx:1.27\n' },
      [],
    ],
    [
      'an app that was deleted and came back invalid is created',
      [{ 'apps/third.yaml': null }, { 'apps/third.yaml': BROKEN }],
      { 'apps/third.yaml': 'container_image: third:1\n' },
      ['create third'],
    ],
    [
      'an app that an invalid group holds back is still there',
      [{ 'device-groups/edge.yaml': 'apps: 1\n', 'apps/cron.yaml': null }],
      { 'device-groups/edge.yaml': 'apps: [web]\n' },
      ['delete cron', 'update edge'],
    ],
  ])('%s, and a manager does the same', async (_name, commits, work, steps) => {
    const manager = await startManager({ files: LONGER });
    const { repository } = manager;
    for (const files of commits) {
      await repository.commit(inDesiredState(files));
      await manager.reconcile();
    }
    const base = await repository.git('rev-parse', 'HEAD');
    const logged = manager.log.length;
    await repository.commit(inDesiredState(work));
    const { steps: said, err } = await planOf(repository, '--against', base);
    expect(said).toEqual(steps);
    expect(err).toContain(`${base} has invalid files: `);
    await manager.reconcile();
    const applied = manager.log.slice(logged).flatMap(({ msg, kind, name }) => {
      const [, operation = 'update'] = /: (create|delete)/.exec(String(msg)) ?? [];
      return kind === undefined ? [] : [`${operation} ${name}`];
    });
    expect(applied.sort()).toEqual(steps);
  });

  it('a file that was never valid was never applied: no more is said than that', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState({ ...SMALL_FLEET }));
    await repository.commit(inDesiredState({ 'apps/new.yaml': BROKEN }));
    await repository.commit(inDesiredState({ 'apps/new.yaml': 'container_image: new:1\n' }));
    const { steps, err } = await planOf(repository, '--against', 'HEAD~1');
    expect(steps).toEqual(['create new']);
    expect(err).not.toContain('incomplete');
  });

  it('says what it cannot know where history is cut off', async () => {
    const origin = await testRepository();
    await origin.commit(inDesiredState(SMALL_FLEET));
    await origin.commit(inDesiredState({ 'apps/web.yaml': BROKEN }));
    const folder = join(await temporaryFolder(), 'clone');
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const { err } = await planOf({ ...origin, folder });
    expect(err).toContain(
      'the plan is incomplete: the available history has no valid content of apps/web.yaml',
    );
  });

  it('says nothing where all is valid', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState(SMALL_FLEET));
    expect((await planOf(repository)).err).toBe('');
  });
});

it('a revision that a shallow clone lacks: says what to do', async () => {
  const repository = await testRepository();
  await repository.commit(inDesiredState(SMALL_FLEET));
  await repository.commit(inDesiredState(LONGER));
  const clone = join(await temporaryFolder(), 'clone');
  await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, clone);
  const planAgainst = (revision: string) =>
    runCli(['plan', join(clone, 'desired-state'), '--against', revision]);
  const missing = await planAgainst('HEAD~1');
  expect(missing.code).toBe(2);
  expect(missing.err).toMatch(/"HEAD~1" is not a commit .* shallow: fetch the whole history first/);
  expect((await planAgainst('')).err).toMatch(
    /--against is empty; .* shallow: fetch the whole history first/,
  );
  expect((await planAgainst('HEAD')).code).toBe(0);
});

describe('plan against what is no commit', () => {
  async function refusal(revision: string): Promise<string> {
    const origin = await testRepository();
    await origin.commit(inDesiredState(SMALL_FLEET));
    await origin.git('branch', 'topic');
    await origin.git('tag', 'v1');
    const clone = join(await temporaryFolder(), 'clone');
    await origin.git('clone', '--quiet', '--branch', 'topic', `file://${origin.folder}`, clone);
    const { code, out, err } = await runCli(['plan', join(clone, 'desired-state'), '--against', revision]);
    expect([code, out]).toEqual([2, '']);
    return err;
  }

  it('says that a branch is there under the name of its remote', async () => {
    expect(await refusal('main')).toBe(
      'holdfast: "main" is not a commit of this repository; did you mean origin/main?\n',
    );
  });

  it.each(['nope', 'v2', 'origin/nope', 'HEAD~9'])('says so: %s', async (revision) => {
    expect(await refusal(revision)).toBe(`holdfast: "${revision}" is not a commit of this repository\n`);
  });

  it('says of nothing that a command may have failed', async () => {
    expect(await refusal('')).toMatch(
      /^holdfast: --against is empty; if it is the output of a command, as in --against "\$\(git merge-base …\)", that command found no such commit/,
    );
  });
});

describe('plan against a branch that went on', () => {
  const LACKS = 'has changes that HEAD lacks; the plan shows them as undone';

  /** A branch `topic` that changes `web`, and `main`, on which others made a commit meanwhile. */
  async function parted(others: Files): Promise<{ repository: TestRepository; began: string }> {
    const repository = await testRepository();
    const began = await repository.commit(inDesiredState(SMALL_FLEET));
    await repository.git('switch', '--quiet', '--create', 'topic');
    await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: nginx:1.27\n' }));
    await repository.git('switch', '--quiet', 'main');
    await repository.commit(inDesiredState(others));
    await repository.git('switch', '--quiet', 'topic');
    return { repository, began };
  }

  it('says that the work of others is shown as undone, and against what to plan instead', async () => {
    const { repository, began } = await parted({ 'apps/cron.yaml': 'container_image: cron:4\n' });
    const { steps, err } = await planOf(repository, '--against', 'main');
    expect(steps).toEqual(['update cron', 'update web']);
    expect(err).toContain(`main ${LACKS}`);
    const [, remedy = ''] = /(--against \w+) \(git merge-base main HEAD\)/.exec(err) ?? [];
    expect(began.startsWith(remedy.slice('--against '.length))).toBe(true);
    expect(await planOf(repository, ...remedy.split(' '))).toEqual({ steps: ['update web'], err: '' });
  });

  it('says the same of a revision that is ahead of HEAD', async () => {
    const { repository, began } = await parted({ 'apps/cron.yaml': 'container_image: cron:4\n' });
    await repository.git('switch', '--quiet', '--detach', began);
    const { steps, err } = await planOf(repository, '--against', 'main');
    expect([steps, err]).toEqual([['update cron'], expect.stringContaining(LACKS)]);
  });

  it('says nothing where others changed nothing of the folder, or their work is merged', async () => {
    const { repository } = await parted({ '../notes.txt': 'x\n' });
    const planned = { steps: ['update web'], err: '' };
    expect(await planOf(repository, '--against', 'main')).toEqual(planned);
    await repository.git('switch', '--quiet', 'main');
    await repository.commit(inDesiredState({ 'apps/cron.yaml': 'container_image: cron:4\n' }));
    await repository.git('switch', '--quiet', 'topic');
    await repository.git('merge', '--quiet', '--no-edit', 'main');
    expect(await planOf(repository, '--against', 'main')).toEqual(planned);
  });

  it('says where there is no commit in common, and what a shallow clone needs', async () => {
    const { repository } = await parted({ 'apps/cron.yaml': 'container_image: cron:4\n' });
    const clone = { ...repository, folder: join(await temporaryFolder(), 'clone') };
    const source = `file://${repository.folder}`;
    await repository.git('clone', '--quiet', '--depth', '1', '--no-single-branch', source, clone.folder);
    const { err } = await planOf(clone, '--against', 'origin/main');
    expect(err).toMatch(/origin\/main and HEAD have no commit in common, .* \(git fetch --unshallow/);
    await repository.git('switch', '--quiet', '--orphan', 'other');
    await repository.commit(inDesiredState(LONGER));
    expect((await planOf(repository, '--against', 'main')).err).toContain('is it the right one?');
  });

  it.each([
    ['main..topic', '"$(git merge-base main topic)"'],
    ['main...', '"$(git merge-base main HEAD)"'],
  ])('takes no range such as %s, and says what to give', async (range, remedy) => {
    const { repository } = await parted({});
    const { code, err } = await runCli([
      'plan',
      join(repository.folder, 'desired-state'),
      '--against',
      range,
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining(remedy)]);
  });
});
