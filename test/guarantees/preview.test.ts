import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadFile } from '../../src/desired/load.ts';
import { DesiredState } from '../../src/desired/state.ts';
import { AppliedState } from '../../src/plan/applied.ts';
import { makePlan } from '../../src/plan/plan.ts';
import type { Step } from '../../src/plan/step.ts';
import { type AppDefaults, appDefaults } from '../../src/protocol/app.ts';
import { keyOf } from '../../src/protocol/name.ts';
import type { Reconciler } from '../../src/reconcile/reconciler.ts';
import type { CloneSource } from '../../src/source/git/clone/clone.ts';
import type { Store, StoredObject } from '../../src/store/objects/port.ts';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import { openSource } from '../source/git/support.ts';
import { runCli } from '../support/command.ts';
import { testReconciler } from '../support/engine.ts';
import { flat } from '../support/flat-store.ts';
import { anyCommit, DEFAULTS, type Files } from '../support/fleet.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

/** A repository, a store, and a reconciler between them. */
interface Engine {
  repository: TestRepository;
  source: CloneSource;
  store: Store;
  reconciler: Reconciler;
}

async function buildEngine(): Promise<Engine> {
  const repository = await testRepository();
  await repository.commit({ 'ds/README.md': 'a fleet\n' });
  const source = await openSource(join(repository.folder, 'ds'));
  const path = join(await temporaryFolder(), 'store.sqlite');
  const store = flat(await openSqliteStore({ path, defaults: DEFAULTS, random: randomBytes }));
  onTestFinished(() => store.close());
  return { repository, source, store, reconciler: testReconciler({ source, store, defaults: DEFAULTS }) };
}

/** A new reconciler without any state in memory, as after a restart of the manager. */
function restarted({ source, store }: Engine, defaults = DEFAULTS): Reconciler {
  return testReconciler({ source, store, defaults });
}

/** Commits changes of files below `ds/`; deletions of files that do not exist are left out. */
async function commit({ repository }: Engine, files: Files): Promise<void> {
  const known = new Set((await repository.git('ls-files')).split('\n'));
  const changes = Object.entries(files)
    .map(([path, text]) => [`ds/${path}`, text] as const)
    .filter(([path, text]) => text !== null || known.has(path));
  await repository.commit(Object.fromEntries(changes));
}

/** The steps of a plan of the head, for which all files are read, against the applied objects. */
async function planHead({ source, store }: Engine, defaults: AppDefaults): Promise<readonly Step[]> {
  const { revision } = await source.reader.head();
  const tree = await source.reader.folderTree(revision as string);
  const desired = new DesiredState();
  for (const entry of tree === null ? [] : await source.reader.list(tree)) {
    const file = await loadFile(entry, (id, max) => source.reader.blob(id, max), defaults);
    desired.apply([{ path: entry.path, file }]);
  }
  const applied = new AppliedState();
  for (const { kind, name, content } of await store.appliedObjects()) applied.set(kind, name, content);
  return makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied).steps;
}

/** Every stored object by key. */
async function stored(store: Store): Promise<Map<string, { content: unknown; id: number }>> {
  const rows = new Map<string, { content: unknown; id: number }>();
  for (const { kind, name } of await store.appliedObjects()) {
    const { value } = await store.object(kind, name);
    if (value !== null) rows.set(keyOf(kind, name), { content: value.content, id: idOf(value) });
  }
  return rows;
}

function idOf(object: StoredObject): number {
  if (object.kind === 'app') return object.appId;
  return object.kind === 'device' ? object.deviceId : object.deviceGroupId;
}

const byKey = (steps: readonly Step[]): Map<string, Step> =>
  new Map(steps.map((step) => [keyOf(step.kind, step.name), step]));

/** The steps that a pass applied. */
async function pass(reconciler: Reconciler): Promise<readonly Step[] | 'refused'> {
  const outcome = await reconciler.reconcile();
  if (outcome.ok) return outcome.report.steps;
  expect(outcome.error.kind).toBe('refused');
  return 'refused';
}

/** Expects that the store differs from before in what the steps say, and in nothing else. */
function expectWritten(
  before: Awaited<ReturnType<typeof stored>>,
  after: Awaited<ReturnType<typeof stored>>,
  steps: readonly Step[],
): void {
  const planned = byKey(steps);
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const step = planned.get(key);
    if (step === undefined) expect(after.get(key)).toEqual(before.get(key));
    else expect(after.get(key)?.content ?? null).toEqual(step.after);
    const [old, now] = [before.get(key)?.id, after.get(key)?.id];
    if (step !== undefined && old !== undefined && now !== undefined) expect(now).toBe(old + 1);
  }
}

/** Expects that plan and pass find nothing to do, and that the pass writes nothing. */
async function expectEmptyPlan(engine: Engine, reconciler: Reconciler, defaults: AppDefaults): Promise<void> {
  expect(await planHead(engine, defaults)).toEqual([]);
  const before = await stored(engine.store);
  expect(await pass(reconciler)).toEqual([]);
  expect(await stored(engine.store)).toEqual(before);
}

describe('a plan', () => {
  it('of any revision is exactly what applying it writes, and is empty after that, also after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyCommit, { minLength: 1, maxLength: 5 }), async (commits) => {
        const engine = await buildEngine();
        for (const files of commits) {
          await commit(engine, files);
          const [planned, before] = [await planHead(engine, DEFAULTS), await stored(engine.store)];
          const applied = await pass(engine.reconciler);
          const after = await stored(engine.store);
          if (applied === 'refused') {
            expect(after).toEqual(before);
            continue;
          }
          expect(byKey(applied)).toEqual(byKey(planned));
          expectWritten(before, after, planned);
          expect(engine.reconciler.status().applied?.revision).toBe(
            await engine.repository.git('rev-parse', 'HEAD'),
          );
          await expectEmptyPlan(engine, engine.reconciler, DEFAULTS);
          await expectEmptyPlan(engine, restarted(engine), DEFAULTS);
        }
      }),
      { numRuns: 12 },
    );
  });

  it('that `holdfast plan` prints before a push is what is applied after it', async () => {
    const engine = await buildEngine();
    await commit(engine, SMALL_FLEET);
    await pass(engine.reconciler);
    const base = await engine.repository.git('rev-parse', 'HEAD');
    await commit(engine, {
      'apps/web.yaml': 'container_image: nginx:1.27\n',
      'apps/cron.yaml': null,
      'apps/new.yaml': 'container_image: new:1\n',
      'device-groups/edge.yaml': 'apps: [web, new]\n',
    });
    const command = ['plan', join(engine.repository.folder, 'ds'), '--against', base, '--format', 'json'];
    const { out } = await runCli(command);
    const printed: Pick<Step, 'kind' | 'name' | 'after'>[] = JSON.parse(out).steps;
    const applied = await pass(engine.reconciler);
    if (applied === 'refused') throw new Error('refused');
    const facts = ({ kind, name, after }: Pick<Step, 'kind' | 'name' | 'after'>) => ({ kind, name, after });
    expect(printed.map(facts)).toEqual(applied.map(facts));
    expect(printed).toHaveLength(4);
  });

  it('has only the apps that use a default after that default was changed, and is empty once applied', async () => {
    const engine = await buildEngine();
    await commit(engine, { ...SMALL_FLEET, 'apps/own.yaml': 'container_image: o:1\nnetworks: [mine]\n' });
    await pass(engine.reconciler);
    const changed = appDefaults(['other']);
    const upgraded = restarted(engine, changed);
    const [planned, before] = [await planHead(engine, changed), await stored(engine.store)];
    expect([...byKey(planned).keys()].sort()).toEqual(['app/cron', 'app/web']);
    const applied = await pass(upgraded);
    if (applied === 'refused') throw new Error('refused');
    expect(byKey(applied)).toEqual(byKey(planned));
    expectWritten(before, await stored(engine.store), planned);
    await expectEmptyPlan(engine, upgraded, changed);
    await expectEmptyPlan(engine, restarted(engine, changed), changed);
  });
});

describe('a restart of the manager', () => {
  it('changes no id and nothing else that devices get', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const info = (await manager.get('/api/v2/device_groups/edge/info')).text;
    const again = await manager.restart();
    await again.reconcile();
    expect((await again.get('/api/v2/device_groups/edge/info')).text).toBe(info);
  });
});
