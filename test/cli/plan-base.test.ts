import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

type Files = Readonly<Record<string, string | null>>;

const INVALID = 'container_image: nginx:1.26\nrunning: maybe\n';
const LONGER = { ...SMALL_FLEET, 'apps/third.yaml': 'container_image: third:1\n' };

/** The steps of a plan, sorted, and its warnings. */
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

describe('plan against a base with invalid files', () => {
  it.each<[string, Files[], Files, string[]]>([
    [
      'deletes an invalid app whose file is removed',
      [{ 'apps/web.yaml': INVALID }],
      { 'apps/web.yaml': null, 'device-groups/edge.yaml': 'apps: [cron]\n' },
      ['delete web', 'update edge'],
    ],
    [
      'deletes an invalid group and its app whose files are removed',
      [{ 'device-groups/edge.yaml': 'apps: 1\n' }],
      { 'device-groups/edge.yaml': null, 'apps/web.yaml': null },
      ['delete edge', 'delete web'],
    ],
    [
      'updates a repaired app, and plans nothing for a group that is repaired to its last good content',
      [{ 'apps/web.yaml': INVALID, 'device-groups/edge.yaml': 'apps: 1\n' }],
      { 'apps/web.yaml': 'container_image: nginx:1.27\n', 'device-groups/edge.yaml': 'apps: [web, cron]\n' },
      ['update web'],
    ],
    [
      'compares a group that listed a missing app with its last good list',
      [{ 'device-groups/edge.yaml': 'apps: [web, nope]\n' }],
      { 'device-groups/edge.yaml': 'apps: [web]\n' },
      ['update edge'],
    ],
    [
      'compares with the newest good content, even if other commits followed it',
      [
        { 'apps/web.yaml': 'container_image: nginx:1.27\n' },
        { 'apps/web.yaml': INVALID },
        { 'apps/cron.yaml': 'container_image: cron:4\n' },
        { 'apps/web.yaml': `${INVALID}# still\n` },
      ],
      { 'apps/web.yaml': 'container_image: nginx:1.27\n' },
      [],
    ],
    [
      'creates an app that was deleted and added again as an invalid file',
      [{ 'apps/third.yaml': null }, { 'apps/third.yaml': INVALID }],
      { 'apps/third.yaml': 'container_image: third:1\n' },
      ['create third'],
    ],
    [
      'deletes an app that the invalid group retained',
      [{ 'device-groups/edge.yaml': 'apps: 1\n', 'apps/cron.yaml': null }],
      { 'device-groups/edge.yaml': 'apps: [web]\n' },
      ['delete cron', 'update edge'],
    ],
  ])('%s, as a manager does', async (_name, commits, work, steps) => {
    const manager = await startManager({ files: LONGER });
    const { repository } = manager;
    for (const files of commits) {
      await repository.commit(inDesiredState(files));
      await manager.reconcile();
    }
    const base = await repository.git('rev-parse', 'HEAD');
    const logged = manager.log.length;
    await repository.commit(inDesiredState(work));
    const { steps: planned, err } = await planOf(repository, '--against', base);
    expect(planned).toEqual(steps);
    expect(err).toContain(`${base} has invalid files: `);
    await manager.reconcile();
    const applied = manager.log.slice(logged).flatMap(({ msg, kind, name }) => {
      const [, operation = 'update'] = /: (create|delete)/.exec(String(msg)) ?? [];
      return kind === undefined ? [] : [`${operation} ${name}`];
    });
    expect(applied.sort()).toEqual(steps);
  });

  it('creates an app that was never valid, without a warning of an incomplete plan', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState({ ...SMALL_FLEET }));
    await repository.commit(inDesiredState({ 'apps/new.yaml': INVALID }));
    await repository.commit(inDesiredState({ 'apps/new.yaml': 'container_image: new:1\n' }));
    const { steps, err } = await planOf(repository, '--against', 'HEAD~1');
    expect(steps).toEqual(['create new']);
    expect(err).not.toContain('incomplete');
  });

  it('warns that it is incomplete if a shallow clone lacks the last good content', async () => {
    const origin = await testRepository();
    await origin.commit(inDesiredState(SMALL_FLEET));
    await origin.commit(inDesiredState({ 'apps/web.yaml': INVALID }));
    const folder = join(await temporaryFolder(), 'clone');
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const { err } = await planOf({ ...origin, folder });
    expect(err).toContain(
      'the plan is incomplete: the available history has no valid content of apps/web.yaml',
    );
  });

  it('does not warn if all files are valid', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState(SMALL_FLEET));
    expect((await planOf(repository)).err).toBe('');
  });
});

it('plan advises to fetch the history if a shallow clone lacks the revision', async () => {
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

describe('plan against a revision that is not a commit', () => {
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

  it('suggests the remote branch of that name', async () => {
    expect(await refusal('main')).toBe(
      'holdfast: "main" is not a commit of this repository; did you mean origin/main?\n',
    );
  });

  it.each(['nope', 'v2', 'origin/nope', 'HEAD~9'])('names the revision: %s', async (revision) => {
    expect(await refusal(revision)).toBe(`holdfast: "${revision}" is not a commit of this repository\n`);
  });

  it.each([
    ['HEAD@{99}', /^holdfast: .*fatal: log for 'HEAD' only has/],
    ['nope@{upstream}', /^holdfast: .*fatal: no such branch: 'nope'/],
  ])('passes on what git says about %s', async (revision, reason) => {
    expect(await refusal(revision)).toMatch(reason);
  });

  it('explains an empty revision by a command that found no commit', async () => {
    expect(await refusal('')).toMatch(
      /^holdfast: --against is empty; if it is the output of a command, as in --against "\$\(git merge-base …\)", that command found no such commit/,
    );
  });
});

describe('plan against a branch with newer commits', () => {
  const LACKS = 'has changes that HEAD lacks; the plan shows them as undone';

  /** A repository with a branch `topic` that changes `web`, and with a later commit of others on `main`. */
  async function divergedBranches(others: Files): Promise<{ repository: TestRepository; base: string }> {
    const repository = await testRepository();
    const base = await repository.commit(inDesiredState(SMALL_FLEET));
    await repository.git('switch', '--quiet', '--create', 'topic');
    await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: nginx:1.27\n' }));
    await repository.git('switch', '--quiet', 'main');
    await repository.commit(inDesiredState(others));
    await repository.git('switch', '--quiet', 'topic');
    return { repository, base };
  }

  it('warns that it shows the changes of others as undone, and names the base that avoids this', async () => {
    const { repository, base } = await divergedBranches({ 'apps/cron.yaml': 'container_image: cron:4\n' });
    const { steps, err } = await planOf(repository, '--against', 'main');
    expect(steps).toEqual(['update cron', 'update web']);
    expect(err).toContain(`main ${LACKS}`);
    const [, remedy = ''] = /(--against \w+) \(git merge-base main HEAD\)/.exec(err) ?? [];
    expect(base.startsWith(remedy.slice('--against '.length))).toBe(true);
    expect(await planOf(repository, ...remedy.split(' '))).toEqual({ steps: ['update web'], err: '' });
  });

  it('warns in the same way if the revision is ahead of HEAD', async () => {
    const { repository, base } = await divergedBranches({ 'apps/cron.yaml': 'container_image: cron:4\n' });
    await repository.git('switch', '--quiet', '--detach', base);
    const { steps, err } = await planOf(repository, '--against', 'main');
    expect([steps, err]).toEqual([['update cron'], expect.stringContaining(LACKS)]);
  });

  it('does not warn if others changed nothing in the folder, or their changes are merged', async () => {
    const { repository } = await divergedBranches({ '../notes.txt': 'x\n' });
    const planned = { steps: ['update web'], err: '' };
    expect(await planOf(repository, '--against', 'main')).toEqual(planned);
    await repository.git('switch', '--quiet', 'main');
    await repository.commit(inDesiredState({ 'apps/cron.yaml': 'container_image: cron:4\n' }));
    await repository.git('switch', '--quiet', 'topic');
    await repository.git('merge', '--quiet', '--no-edit', 'main');
    expect(await planOf(repository, '--against', 'main')).toEqual(planned);
  });

  it('warns if there is no commit in common, and names what a shallow clone needs', async () => {
    const { repository } = await divergedBranches({ 'apps/cron.yaml': 'container_image: cron:4\n' });
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
  ])('refuses a range such as %s, and names the base to use instead', async (range, remedy) => {
    const { repository } = await divergedBranches({});
    const { code, err } = await runCli([
      'plan',
      join(repository.folder, 'desired-state'),
      '--against',
      range,
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining(remedy)]);
  });
});
