import { posix } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { classifyPath, newFilePath } from '../../src/desired/file.ts';
import type { Step } from '../../src/plan/step.ts';
import { keyOf } from '../../src/protocol/name.ts';
import { createBranchPlans } from '../../src/reconcile/branch-plan.ts';
import { buildEngine, type Engine } from '../support/engine.ts';
import { DEFAULTS } from '../support/fleet.ts';
import { seedOfRun } from '../support/random.ts';

/** Milliseconds for a longer search (`HOLDFAST_TEST_SEARCH`, in seconds). */
const SEARCH = Number(process.env['HOLDFAST_TEST_SEARCH'] ?? 0) * 1000;

type Files = Map<string, string>;

const appText = (tag: string, name = ''): string =>
  `# App ${name}\ncontainer_image: "image:${tag}"\n# Lines between\n# two fields\nrunning: true\n# keep changes\n# apart\nprivileged: false\n# and\n# more\nenv_vars:\n  A: "1"\n`;
const groupText = (apps: readonly string[]): string => `apps:\n${apps.map((app) => `  - ${app}\n`).join('')}`;

const BEGUN: Files = new Map([
  ['apps/anchor.yaml', appText('0', 'anchor')],
  ...['a', 'b', 'c', 'd'].map((app) => [`apps/shop/${app}.yaml`, appText(app, app)] as const),
  ['apps/e.yaml', appText('e', 'e')],
  ['device-groups/one.yaml', groupText(['a', 'b', 'c', 'd', 'e'])],
  ['device-groups/two.yaml', groupText(['a', 'e'])],
]);

type Edit = (files: Files) => void;

const anyApp = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'n', 'm');
const anyGroup = fc.constantFrom('one', 'two', 'three');

const pathOf = (files: Files, name: string): string | undefined =>
  [...files.keys()].find((path) => posix.basename(path, '.yaml') === name);

function rewritten(name: string, rewrite: (text: string) => string): Edit {
  return (files) => {
    const path = pathOf(files, name);
    if (path !== undefined) files.set(path, rewrite(files.get(path) ?? ''));
  };
}

const fieldEdit = fc
  .tuple(anyApp, fc.constantFrom('container_image', 'running', 'privileged', 'A'), fc.nat(2))
  .map(([app, field, value]) =>
    rewritten(app, (text) =>
      text.replace(
        new RegExp(`(${field}: ).*`),
        `$1${field === 'container_image' || field === 'A' ? `"i:${value}"` : value > 0}`,
      ),
    ),
  );
const breakingEdit = anyApp.map((app) => rewritten(app, (text) => `${text}broken: [\n`));
const listEdit = fc.tuple(anyGroup, anyApp, fc.boolean(), fc.nat(5)).map(([group, app, isAdded, index]) =>
  rewritten(group, (text) => {
    const apps = [...text.matchAll(/- (\w+)/g)].map(([, name]) => name ?? '').filter((name) => name !== app);
    return groupText(isAdded ? apps.toSpliced(index, 0, app) : apps);
  }),
);
const moveEdit = fc
  .tuple(anyApp, fc.constantFrom('apps', 'apps/shop', 'apps/new/deep'))
  .map(([app, folder]): Edit => {
    return (files) => {
      const path = pathOf(files, app);
      const text = path === undefined ? undefined : files.get(path);
      if (path === undefined || text === undefined) return;
      files.delete(path);
      files.set(`${folder}/${app}.yaml`, text);
    };
  });
const folderEdit = fc.constantFrom('apps/tills/', 'apps/').map((to): Edit => {
  return (files) => {
    for (const [path, text] of [...files].filter(([path]) => path.startsWith('apps/shop/'))) {
      files.delete(path);
      files.set(path.replace('apps/shop/', to), text);
    }
  };
});
const removal = fc.oneof(anyApp, anyGroup).map(
  (name): Edit =>
    (files) =>
      void files.delete(pathOf(files, name) ?? ''),
);
const addition = fc.tuple(fc.constantFrom('n', 'm'), fc.constantFrom('apps', 'apps/shop'), fc.nat(1)).map(
  ([app, folder, tag]): Edit =>
    (files) => {
      if (pathOf(files, app) === undefined) files.set(`${folder}/${app}.yaml`, appText(String(tag), app));
    },
);
const newGroup = fc.array(anyApp, { maxLength: 3 }).map(
  (apps): Edit =>
    (files) =>
      void files.set(newFilePath('device_group', 'three'), groupText([...new Set(apps)])),
);

const anyEdits = fc.array(
  fc.oneof(
    fieldEdit,
    fieldEdit,
    listEdit,
    listEdit,
    moveEdit,
    folderEdit,
    removal,
    addition,
    newGroup,
    breakingEdit,
  ),
  { minLength: 1, maxLength: 5 },
);

/** Commits what the edits make of the files of the work tree; resolves to the files. */
async function commitEdits({ commit }: Engine, before: Files, edits: readonly Edit[]): Promise<Files> {
  const after = new Map(before);
  for (const edit of edits) edit(after);
  const gone = [...before.keys()].filter((path) => !after.has(path)).map((path) => [path, null] as const);
  await commit(Object.fromEntries([...gone, ...after]));
  return after;
}

const ownerOf = (path: string): string => {
  const role = classifyPath(path);
  return role.role === 'object' ? keyOf(role.kind, role.name) : path;
};

/** Merges a branch as a person does who keeps what `HEAD` has of each object in conflict; resolves to the conflicts. */
async function mergeKeepingHead({ repository }: Engine, branch: string): Promise<string[]> {
  const { git } = repository;
  if (
    await git('merge', '--quiet', '--no-edit', branch).then(
      () => true,
      () => false,
    )
  )
    return [];
  const lines = async (...args: string[]) => (await git(...args)).split('\n').filter(Boolean);
  const below = (path: string): string => posix.relative('desired-state', path);
  const conflicts = [...new Set(await lines('diff', '--name-only', '--diff-filter=U'))].map(below).sort();
  const held = new Set(conflicts.map(ownerOf));
  await git('add', '--all');
  const ours = new Set(await lines('ls-tree', '-r', '--name-only', 'HEAD'));
  const all = new Set([...ours, ...(await lines('ls-files'))]);
  for (const path of [...all].filter((each) => held.has(ownerOf(below(each))))) {
    if (ours.has(path)) await git('checkout', '--quiet', 'HEAD', '--', path);
    else await git('rm', '--quiet', '--force', '--', path);
  }
  await git('commit', '--quiet', '--allow-empty', '--no-edit');
  return conflicts;
}

const byKey = (steps: readonly Step[]): Step[] =>
  steps.toSorted((a, b) => (keyOf(a.kind, a.name) < keyOf(b.kind, b.name) ? -1 : 1));

it(
  'the plan of a branch is what a merge by git then does, except to objects in conflict',
  async () => {
    const engine = await buildEngine({ files: Object.fromEntries(BEGUN) });
    const { repository, source, reconciler } = engine;
    await repository.git('tag', 'begun');
    const { plan } = createBranchPlans({ source, reconciler, defaults: DEFAULTS, maxTime: 60_000 });
    const seen = { clean: 0, conflicts: 0 };
    const tryOut = async (ofTopic: readonly Edit[], ofMain: readonly Edit[]): Promise<void> => {
      await repository.git('switch', '--quiet', '--force-create', 'topic', 'begun');
      await commitEdits(engine, BEGUN, ofTopic);
      await repository.git('switch', '--quiet', '--force-create', 'main', 'begun');
      await commitEdits(engine, BEGUN, ofMain);
      await reconciler.reconcile();
      const before = await reconciler.passes.problems();
      const planned = await plan('topic');
      const conflicts = await mergeKeepingHead(engine, 'topic');
      const isConflict = ({ code }: { code: string }): boolean => code === 'merge-conflict';
      expect(planned.problems.filter(isConflict).map(({ file }) => file)).toEqual(conflicts);
      const outcome = await reconciler.reconcile();
      expect(byKey(planned.steps)).toEqual(outcome.ok ? byKey(outcome.report.steps) : null);
      const after = await reconciler.passes.problems();
      expect(after).toEqual(expect.arrayContaining(planned.problems.filter((each) => !isConflict(each))));
      const isOld = (text: string): boolean => before.some((each) => JSON.stringify(each) === text);
      const fresh = after.filter((each) => !isOld(JSON.stringify(each)));
      expect(planned.problems).toEqual(expect.arrayContaining(fresh));
      seen[conflicts.length > 0 ? 'conflicts' : 'clean'] += 1;
    };
    let running = Promise.resolve();
    const property = fc.asyncProperty(anyEdits, anyEdits, (ofTopic, ofMain) => {
      running = tryOut(ofTopic, ofMain);
      return running;
    });
    const limits = SEARCH > 0 ? { interruptAfterTimeLimit: SEARCH, numRuns: 100_000 } : { numRuns: 30 };
    await fc.assert(property, { ...limits, seed: seedOfRun(), endOnFailure: false });
    // At the end of its time, the search leaves its last example running.
    await running;
    expect(Math.min(seen.clean, seen.conflicts)).toBeGreaterThan(0);
  },
  120_000 + SEARCH,
);
