import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, writeFiles } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';

const BEFORE = {
  'apps/web.yaml': 'container_image: web:1\nenv_vars:\n  A: "1"\n  B: "2"\n',
  'apps/cron.yaml': 'container_image: cron:1\nrunning: false\n',
  'apps/old.yaml': 'container_image: old:1\n',
  'apps/moved.yaml': 'container_image: moved:1\n',
  'device-groups/edge.yaml': 'apps: [web, cron, old, moved]\n',
  'device-groups/lab.yaml': 'apps: [web]\n',
};

const AFTER = {
  'apps/web.yaml': '# now with C\ncontainer_image: web:2\nenv_vars:\n  A: "1"\n  C: "a b\\e[31m"\n',
  'apps/cron.yaml': 'container_image: cron:1\n',
  'apps/old.yaml': null,
  'apps/new.yaml': 'container_image: old:1\n',
  'apps/moved.yaml': null,
  'apps/shop/moved.yaml': 'container_image: moved:1 # only elsewhere\n',
  'device-groups/edge.yaml': 'apps: [cron, web, new, moved]\n',
  'device-groups/lab.yaml': null,
};

async function changedFleet(): Promise<TestRepository> {
  const repository = await testRepository();
  await repository.commit(inDesiredState(BEFORE));
  await repository.commit(inDesiredState(AFTER));
  return repository;
}

const TEXT = `~ app cron  (desired-state/apps/cron.yaml)
-   running: false
+   running: true

+ app new  (desired-state/apps/new.yaml)
+   container_image: old:1
+   containers_per:
+     server: 1
+   running: true
+   networks:
+     - nebula
+     - bridge
+   privileged: false
+   rolling_restart: false

~ app web  (desired-state/apps/web.yaml)
-   container_image: web:1
+   container_image: web:2
    env_vars:
-     B: "2"
+     C: "a b\\u001b[31m"

~ device group edge  (desired-state/device-groups/edge.yaml)
    apps:
-     - web
-     - cron
-     - old
-     - moved
+     - cron
+     - web
+     - new
+     - moved

- device group lab
-   apps:
-     - web

- app old
-   container_image: old:1
-   containers_per:
-     server: 1
-   running: true
-   networks:
-     - nebula
-     - bridge
-   privileged: false
-   rolling_restart: false

What devices will do:
  cron starts on edge
  web restarts on edge
  new starts on edge
  old stops on edge
  web stops on lab

! device group lab is DELETED: its devices stop all their apps
Plan: 1 to create, 3 to update, 2 to delete.
`;

/** Plans the last commit; in colours if `more` has `--exit-code`. Paths in `out` are relative to the repository. */
async function planned(repository: TestRepository, ...more: string[]) {
  const folder = join(repository.folder, 'desired-state');
  const result = await runCli(['plan', folder, '--against', 'HEAD~1', ...more], {
    hasColors: more.includes('--exit-code'),
  });
  return { ...result, out: result.out.replaceAll(`${repository.folder}/`, '') };
}

describe('plan', () => {
  it('shows changes and their effects on devices as text, without files that only moved', async () => {
    expect(await planned(await changedFleet())).toMatchObject({ code: 0, out: TEXT, err: '' });
  });

  it('shows the same in colours on a terminal, and exits with 1 for changes with --exit-code', async () => {
    const { code, out } = await planned(await changedFleet(), '--exit-code');
    expect(code).toBe(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what colours are made of
    expect(out.replace(/\u001b\[\d+m/g, '')).toBe(TEXT);
    expect(out).toContain('\u001b[31m- app old\u001b[39m');
  });

  it('writes the same as JSON', async () => {
    const { out } = await planned(await changedFleet(), '--format', 'json');
    const { problems, steps, effects } = JSON.parse(out);
    expect(problems).toEqual([]);
    expect(
      steps.map((step: Record<string, unknown>) => [
        step['operation'],
        step['kind'],
        step['name'],
        step['file'],
      ]),
    ).toEqual([
      ['update', 'app', 'cron', 'desired-state/apps/cron.yaml'],
      ['create', 'app', 'new', 'desired-state/apps/new.yaml'],
      ['update', 'app', 'web', 'desired-state/apps/web.yaml'],
      ['update', 'device_group', 'edge', 'desired-state/device-groups/edge.yaml'],
      ['delete', 'device_group', 'lab', null],
      ['delete', 'app', 'old', null],
    ]);
    expect(effects).toContainEqual({ app: 'web', action: 'restart', groups: ['edge'] });
  });

  it('begins with a line of totals if the change is large', async () => {
    const repository = await testRepository();
    const apps = Array.from({ length: 12 }, (_, index) => `a${index}`);
    const files = (tag: string) =>
      inDesiredState({
        ...Object.fromEntries(apps.map((app) => [`apps/${app}.yaml`, `container_image: ${app}:${tag}\n`])),
        'device-groups/edge.yaml': `apps: [${apps.join(', ')}]\n`,
        'device-groups/lab.yaml': 'apps: [a0]\n',
      });
    await repository.commit(files('1'));
    await repository.commit(files('2'));
    const { out } = await planned(repository);
    expect(out).toMatch(/^12 apps restart on 2 groups\.\n\n~ app a0 /);
  });

  it('begins with a line of totals if one change concerns many apps', async () => {
    const repository = await testRepository();
    const apps = Array.from({ length: 12 }, (_, index) => `a${index}`);
    const files = apps.map((app) => [`apps/${app}.yaml`, `container_image: ${app}:1\n`]);
    const group = 'device-groups/edge.yaml';
    await repository.commit(
      inDesiredState({ ...Object.fromEntries(files), [group]: `apps: [${apps.join(', ')}]\n` }),
    );
    await repository.commit(inDesiredState({ [group]: null }));
    const { out } = await planned(repository);
    expect(out).toMatch(/^12 apps stop on 1 group\.\n\n- device group edge\n/);
  });

  it('warns that managers refuse a folder without objects', async () => {
    const repository = await testRepository();
    await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: web:1\n' }));
    await repository.commit(inDesiredState({ 'apps/web.yaml': null, 'apps/README.md': '' }));
    const { code, out } = await planned(repository);
    expect(code).toBe(0);
    expect(out).toMatch(/^desired-state:1:1: warning: no objects are left .* \[folder-empty\]\n- app web\n/);
  });

  it('fills in the networks of DEFAULT_NETWORKS', async () => {
    const repository = await testRepository();
    await repository.commit({ 'README.md': '' });
    await writeFiles(repository.folder, inDesiredState({ 'apps/web.yaml': 'container_image: web:1\n' }));
    const { code, out } = await runCli(['plan', join(repository.folder, 'desired-state')], {
      env: { DEFAULT_NETWORKS: 'fleet' },
    });
    expect([code, out]).toEqual([0, expect.stringContaining('+   networks:\n+     - fleet\n+   privileged')]);
  });
});
