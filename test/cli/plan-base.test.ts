import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

type Files = Readonly<Record<string, string | null>>;

const BROKEN = 'container_image: nginx:1.26\nrunning: maybe\n';
const LONGER = { ...SMALL_FLEET, 'apps/third.yaml': 'container_image: third:1\n' };

function below(files: Files): Record<string, string | null> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`desired-state/${path}`, text]));
}

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
      await repository.commit(below(files));
      await manager.reconcile();
    }
    const base = await repository.git('rev-parse', 'HEAD');
    const logged = manager.log.length;
    await repository.commit(below(work));
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
    await repository.commit(below({ ...SMALL_FLEET }));
    await repository.commit(below({ 'apps/new.yaml': BROKEN }));
    await repository.commit(below({ 'apps/new.yaml': 'container_image: new:1\n' }));
    const { steps, err } = await planOf(repository, '--against', 'HEAD~1');
    expect(steps).toEqual(['create new']);
    expect(err).not.toContain('incomplete');
  });

  it('says what it cannot know where history is cut off', async () => {
    const origin = await testRepository();
    await origin.commit(below(SMALL_FLEET));
    await origin.commit(below({ 'apps/web.yaml': BROKEN }));
    const folder = join(await temporaryFolder(), 'clone');
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const { err } = await planOf({ ...origin, folder });
    expect(err).toContain(
      'the plan is incomplete: the history at hand has no valid content of apps/web.yaml',
    );
  });

  it('says nothing where all is valid', async () => {
    const repository = await testRepository();
    await repository.commit(below(SMALL_FLEET));
    expect((await planOf(repository)).err).toBe('');
  });
});

it('a revision that a shallow clone lacks: says what to do', async () => {
  const repository = await testRepository();
  await repository.commit(below(SMALL_FLEET));
  await repository.commit(below(LONGER));
  const clone = join(await temporaryFolder(), 'clone');
  await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, clone);
  const planAgainst = (revision: string) =>
    runCli(['plan', join(clone, 'desired-state'), '--against', revision]);
  const missing = await planAgainst('HEAD~1');
  expect(missing.code).toBe(2);
  expect(missing.err).toMatch(/"HEAD~1" is no commit .* shallow; fetch the whole history first/);
  expect((await planAgainst('HEAD')).code).toBe(0);
});
