import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { calmStore, ModelDatabase, type ModelStore } from '../store/mongo/model.ts';
import { testEvents, wrap } from '../support/engine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type FollowerEngine, startFollowerEngine } from '../support/follower-engine.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
const EDGE = 'desired-state/device-groups/edge.yaml';

/** The number of times that the second manager read all objects, or only the changed ones. */
interface Reads {
  all: number;
  changed: number;
}

interface TwoManagers {
  origin: TestOrigin;
  database: ModelDatabase;
  first: FollowerEngine;
  second: FollowerEngine;
  reads: Reads;
  /** The keys that the second manager reported as changed, by report. */
  reported: string[][];
}

/** Two managers on one store; `change` replaces methods of the second one's store. */
async function startTwo(
  change: (store: ModelStore) => Partial<ModelStore> = () => ({}),
): Promise<TwoManagers> {
  const origin = await testOrigin(SMALL_FLEET);
  const database = new ModelDatabase();
  const first = await startFollowerEngine(origin, calmStore(database));
  const reads: Reads = { all: 0, changed: 0 };
  const reported: string[][] = [];
  const inner = calmStore(database);
  const store = wrap(inner, {
    appliedObjects: () => {
      reads.all += 1;
      return inner.appliedObjects();
    },
    changedObjects: (mark) => {
      reads.changed += 1;
      return inner.changedObjects(mark);
    },
    ...change(inner),
  });
  const events = testEvents();
  events.on('changed', ({ keys }) => reported.push(keys === null ? ['any'] : [...keys].sort()));
  const second = await startFollowerEngine(origin, store, { emit: events.emit });
  Object.assign(reads, { all: 0, changed: 0 });
  reported.length = 0;
  return { origin, database, first, second, reads, reported };
}

async function webOf({ store }: FollowerEngine) {
  const { value } = await store.object('app', 'web');
  return { id: value?.appId, image: value?.content.container_image };
}

describe('a manager that finds that another one has applied a commit', () => {
  it('reads and reports only the objects that changed', async () => {
    const { origin, first, second, reads, reported } = await startTwo();
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    const applied = await webOf(first);
    const outcome = await second.reconciler.pollOrigin();
    expect(outcome).toMatchObject({ ok: true, report: { steps: [], changedElsewhere: true } });
    expect([reads, reported]).toEqual([{ all: 0, changed: 1 }, [['app/web']]]);
    expect(second.reconciler.status().applied?.revision).toBe(revision);
    expect(await webOf(second)).toEqual(applied);
    await second.reconciler.pollOrigin();
    expect([reads, reported.length]).toEqual([{ all: 0, changed: 1 }, 1]);
  });

  it('applies the next commit on top, which the other manager then follows', async () => {
    const { origin, first, second, reads } = await startTwo();
    await origin.push({ [WEB]: null, [EDGE]: 'apps: [cron]\n' });
    await first.reconciler.pollOrigin();
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: true, report: { steps: [] } });
    await origin.push({ [WEB]: 'container_image: web:3\n', [EDGE]: 'apps: [web, cron]\n' });
    const outcome = await second.reconciler.pollOrigin();
    expect(outcome.ok && outcome.report.steps.map(({ name }) => name)).toEqual(['web', 'edge']);
    expect(await first.reconciler.pollOrigin()).toMatchObject({
      ok: true,
      report: { steps: [], changedElsewhere: true },
    });
    expect(reads).toEqual({ all: 0, changed: 1 });
  });

  it('reads only the changed objects even after long being the only one that changed the store', async () => {
    const { origin, first, second, reads } = await startTwo();
    for (let round = 0; round < 70; round += 1) await second.store.markAttempted('r', round);
    for (let round = 0; round < 70; round += 1) {
      if (round % 20 === 0) await second.reconciler.reconcile();
      await second.store.restartApp('web', { actor: 'a', requestId: 'r', at: 1 });
    }
    await second.reconciler.reconcile();
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    await second.reconciler.pollOrigin();
    expect(reads).toEqual({ all: 0, changed: 1 });
  });

  it('reads all objects if the mark is too old, the rules differ, or the store was restored', async () => {
    const { origin, database, first, second, reads, reported } = await startTwo();
    const backup = structuredClone(database.primary);
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    for (let round = 0; round < 70; round += 1) await first.store.markAttempted('r', round);
    await second.reconciler.pollOrigin();
    expect([reads, reported.pop()]).toEqual([{ all: 1, changed: 1 }, ['any']]);
    const { sequence, applied } = await first.store.state();
    const revision = applied?.revision ?? '';
    const claimed = await first.store.claimHead(sequence, revision, 5);
    await first.store.apply({ revision, sequence: claimed, at: 5, steps: [], origins: [], rules: 'other' });
    await second.reconciler.pollOrigin();
    expect(reads).toEqual({ all: 2, changed: 1 });
    database.restore(backup);
    expect(await second.reconciler.pollOrigin()).toMatchObject({
      ok: true,
      report: { steps: [{ name: 'web' }] },
    });
    expect(reads).toEqual({ all: 3, changed: 2 });
  });

  it('reads all objects after a write of its own with an unknown outcome', async () => {
    const faults = { left: 0 };
    const { origin, second, reads } = await startTwo((store) => ({
      apply: async (batch) => {
        const ids = await store.apply(batch);
        if (faults.left === 0) return ids;
        faults.left -= 1;
        throw new HoldfastError('unavailable', 'the connection broke');
      },
    }));
    const before = await webOf(second);
    faults.left = 1;
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: false });
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: true, report: { steps: [] } });
    expect(reads).toEqual({ all: 1, changed: 0 });
    expect(await webOf(second)).toEqual({ id: (before.id ?? 0) + 1, image: 'web:2' });
  });

  it('loses a claim to the other manager, then reads and reports what that one changed', async () => {
    const beforeClaim: { run: () => Promise<unknown> } = { run: async () => undefined };
    const { origin, first, second, reads, reported } = await startTwo((store) => ({
      claimHead: async (...args) => {
        await beforeClaim.run();
        return store.claimHead(...args);
      },
    }));
    beforeClaim.run = () => first.reconciler.pollOrigin();
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    const outcome = await second.reconciler.pollOrigin();
    expect(outcome).toMatchObject({ ok: true, report: { steps: [], changedElsewhere: true } });
    expect([reads, reported]).toEqual([{ all: 0, changed: 1 }, [['app/web']]]);
  });

  it('reports what changed even if the pass fails, and then that anything may have changed', async () => {
    const faults = { left: 0 };
    const { origin, first, second, reported } = await startTwo((store) => ({
      claimHead: async (...args) => {
        faults.left -= 1;
        if (faults.left >= 0) throw new HoldfastError('unavailable', 'the store is unreachable');
        return store.claimHead(...args);
      },
    }));
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    await origin.push({ 'desired-state/apps/cron.yaml': 'container_image: cron:4\n' });
    faults.left = 1;
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: false });
    expect(reported.splice(0)).toEqual([['app/web'], ['any']]);
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: true });
    expect(reported).toEqual([['app/cron']]);
  });

  it('applies an object again that the seeding of another manager dropped', async () => {
    const { first, second, reads } = await startTwo();
    const before = await webOf(second);
    const seed = { kind: 'app' as const, name: 'web', last: (before.id ?? 0) + 5, floor: 0, hash: 'ab' };
    await first.store.seedCounters({
      from: { line: 'fleet', source: 'aa', revision: null },
      seeds: [seed],
      idSequence: 0,
    });
    expect(await second.reconciler.pollOrigin()).toMatchObject({
      ok: true,
      report: { steps: [{ name: 'web' }] },
    });
    expect(reads).toEqual({ all: 1, changed: 0 });
    expect(await webOf(second)).toEqual({ id: seed.last + 1, image: before.image });
  });
});

describe('managers of one store with different addresses of the repository', () => {
  it('walk the history at their starts alone, not again with each commit', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const database = new ModelDatabase();
    let seedings = 0;
    const start = (url: string): Promise<FollowerEngine> => {
      const store = calmStore(database);
      const seedCounters: ModelStore['seedCounters'] = (batch) => {
        seedings += 1;
        return store.seedCounters(batch);
      };
      return startFollowerEngine({ ...origin, url }, wrap(store, { seedCounters }));
    };
    const other = join(await temporaryFolder(), 'other.git');
    await symlink(origin.url, other);
    const managers = [await start(origin.url), await start(other)];
    const atStart = seedings;
    for (const image of ['web:2', 'web:3']) {
      await origin.push({ [WEB]: `container_image: ${image}\n` });
      for (const { reconciler } of managers)
        expect(await reconciler.pollOrigin()).toMatchObject({ ok: true });
    }
    expect([atStart, seedings]).toEqual([2, 2]);
  });
});
