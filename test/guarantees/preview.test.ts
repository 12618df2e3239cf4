import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AppDefaults, appDefaults } from '../../src/desired/app.ts';
import { loadFile } from '../../src/desired/load.ts';
import { keyOf } from '../../src/desired/name.ts';
import { DesiredState } from '../../src/desired/state.ts';
import { AppliedState } from '../../src/plan/applied.ts';
import { makePlan } from '../../src/plan/plan.ts';
import type { Step } from '../../src/plan/step.ts';
import type { Reconciler } from '../../src/reconcile/reconciler.ts';
import type { CheckoutSource } from '../../src/source/git/checkout.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';
import { openSource } from '../source/git/support.ts';
import { runCli } from '../support/command.ts';
import { testReconciler } from '../support/engine.ts';
import { anyCommit, DEFAULTS, type Files } from '../support/fleet.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

/** A real repository, a real store, and the loop between them. */
interface Engine {
  repository: TestRepository;
  source: CheckoutSource;
  store: Store;
  reconciler: Reconciler;
}

async function engine(): Promise<Engine> {
  const repository = await testRepository();
  await repository.commit({ 'ds/README.md': 'a fleet\n' });
  const source = await openSource(join(repository.folder, 'ds'));
  const path = join(await temporaryFolder(), 'store.sqlite');
  const store = await openSqliteStore({ path, defaults: DEFAULTS, random: randomBytes });
  onTestFinished(() => store.close());
  return { repository, source, store, reconciler: loop(source, store, DEFAULTS) };
}

/** A loop that remembers nothing yet, as after a start. */
function loop(source: CheckoutSource, store: Store, defaults: AppDefaults): Reconciler {
  return testReconciler({ source, store, defaults });
}

async function commit({ repository }: Engine, files: Files): Promise<void> {
  const known = new Set((await repository.git('ls-files')).split('\n'));
  const changes = Object.entries(files)
    .map(([path, text]) => [`ds/${path}`, text] as const)
    .filter(([path, text]) => text !== null || known.has(path));
  await repository.commit(Object.fromEntries(changes));
}

/** What a preview says: the files of the head, read from the start, against what is applied. */
async function preview({ source, store }: Engine, defaults: AppDefaults): Promise<readonly Step[]> {
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

/** Every stored object by key: its content and its id. */
async function stored(store: Store): Promise<Map<string, { content: unknown; id: number }>> {
  const rows = new Map<string, { content: unknown; id: number }>();
  for (const { kind, name } of await store.appliedObjects()) {
    const app = kind === 'app' ? (await store.app(name)).value : null;
    const group = kind === 'app' ? null : (await store.group(name)).value;
    rows.set(keyOf(kind, name), {
      content: app?.content ?? group?.content,
      id: app?.appId ?? group?.deviceGroupId ?? 0,
    });
  }
  return rows;
}

const byKey = (steps: readonly Step[]): Map<string, Step> =>
  new Map(steps.map((step) => [keyOf(step.kind, step.name), step]));

async function pass(reconciler: Reconciler): Promise<readonly Step[] | 'refused'> {
  const outcome = await reconciler.reconcile();
  if (outcome.ok) return outcome.report.steps;
  expect(outcome.error.kind).toBe('refused');
  return 'refused';
}

/** The store differs from before in what the steps say, and in nothing else. */
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

describe('a preview that differs from what is applied', () => {
  it('cannot be: what the plan of a revision says is what applying that revision writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyCommit, { minLength: 1, maxLength: 5 }), async (commits) => {
        const parts = await engine();
        for (const files of commits) {
          await commit(parts, files);
          const [said, before] = [await preview(parts, DEFAULTS), await stored(parts.store)];
          const done = await pass(parts.reconciler);
          const after = await stored(parts.store);
          if (done === 'refused') {
            expect(after).toEqual(before);
            continue;
          }
          expect(byKey(done)).toEqual(byKey(said));
          expectWritten(before, after, said);
          expect(parts.reconciler.status().applied?.revision).toBe(
            await parts.repository.git('rev-parse', 'HEAD'),
          );
        }
      }),
      { numRuns: 12 },
    );
  });

  it('nor what the command says of a commit that is about to be pushed', async () => {
    const parts = await engine();
    await commit(parts, SMALL_FLEET);
    await pass(parts.reconciler);
    const base = await parts.repository.git('rev-parse', 'HEAD');
    await commit(parts, {
      'apps/web.yaml': 'container_image: nginx:1.27\n',
      'apps/cron.yaml': null,
      'apps/new.yaml': 'container_image: new:1\n',
      'device-groups/edge.yaml': 'apps: [web, new]\n',
    });
    const command = ['plan', join(parts.repository.folder, 'ds'), '--against', base, '--format', 'json'];
    const { out } = await runCli(command);
    const said: Pick<Step, 'kind' | 'name' | 'after'>[] = JSON.parse(out).steps;
    const done = await pass(parts.reconciler);
    if (done === 'refused') throw new Error('refused');
    const facts = ({ kind, name, after }: Pick<Step, 'kind' | 'name' | 'after'>) => ({ kind, name, after });
    expect(said.map(facts)).toEqual(done.map(facts));
    expect(said).toHaveLength(4);
  });
});

describe('a plan that never becomes empty', () => {
  const isDone = async (parts: Engine, reconciler: Reconciler, defaults: AppDefaults): Promise<void> => {
    expect(await preview(parts, defaults)).toEqual([]);
    const before = await stored(parts.store);
    expect(await pass(reconciler)).toEqual([]);
    expect(await stored(parts.store)).toEqual(before);
  };

  it('cannot be: right after an apply the second one is empty, also after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyCommit, { minLength: 1, maxLength: 4 }), async (commits) => {
        const parts = await engine();
        for (const files of commits) {
          await commit(parts, files);
          if ((await pass(parts.reconciler)) === 'refused') continue;
          await isDone(parts, parts.reconciler, DEFAULTS);
          await isDone(parts, loop(parts.source, parts.store, DEFAULTS), DEFAULTS);
        }
      }),
      { numRuns: 10 },
    );
  });

  it('nor after an upgrade that changes a default: one apply, of what it changes, and then none', async () => {
    const parts = await engine();
    await commit(parts, { ...SMALL_FLEET, 'apps/own.yaml': 'container_image: o:1\nnetworks: [mine]\n' });
    await pass(parts.reconciler);
    const changed = appDefaults(['other']);
    const upgraded = loop(parts.source, parts.store, changed);
    const [said, before] = [await preview(parts, changed), await stored(parts.store)];
    expect([...byKey(said).keys()].sort()).toEqual(['app/cron', 'app/web']);
    const done = await pass(upgraded);
    if (done === 'refused') throw new Error('refused');
    expect(byKey(done)).toEqual(byKey(said));
    expectWritten(before, await stored(parts.store), said);
    await isDone(parts, upgraded, changed);
    await isDone(parts, loop(parts.source, parts.store, changed), changed);
  });

  it('and a restart of the manager itself changes no id', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const info = (await manager.get('/api/v2/device_groups/edge/info')).text;
    const again = await manager.restart();
    await again.reconcile();
    expect((await again.get('/api/v2/device_groups/edge/info')).text).toBe(info);
  });
});
