import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { calmStore, ModelDatabase } from '../store/mongo/model.ts';
import { wrap } from '../support/engine.ts';
import { type FollowerEngine, startFollowerEngine } from '../support/follower-engine.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
const EDGE = 'desired-state/device-groups/edge.yaml';
const ALL = ['app/cron', 'app/web', 'device_group/edge'];

/** What the second manager read from the store since it was asked last. */
interface Reads {
  whole: number;
  changed: number;
}

interface Two {
  origin: TestOrigin;
  database: ModelDatabase;
  first: FollowerEngine;
  second: FollowerEngine;
  reads: Reads;
  /** Keys that the second one was told of, pass by pass. */
  told: string[][];
}

async function startTwo(change: (store: Store) => Partial<Store> = () => ({})): Promise<Two> {
  const origin = await testOrigin(SMALL_FLEET);
  const database = new ModelDatabase();
  const first = await startFollowerEngine(origin, calmStore(database));
  const reads: Reads = { whole: 0, changed: 0 };
  const told: string[][] = [];
  const inner = calmStore(database);
  const store = wrap(inner, {
    appliedObjects: () => {
      reads.whole += 1;
      return inner.appliedObjects();
    },
    changedObjects: (mark) => {
      reads.changed += 1;
      return inner.changedObjects(mark);
    },
    ...change(inner),
  });
  const onApplied = (keys: string[]): void => void told.push([...keys].sort());
  const second = await startFollowerEngine(origin, store, { onApplied });
  Object.assign(reads, { whole: 0, changed: 0 });
  told.length = 0;
  return { origin, database, first, second, reads, told };
}

async function webOf({ store }: FollowerEngine) {
  const { value } = await store.app('web');
  return { id: value?.appId, image: value?.content.container_image };
}

/** A manager that finds that another one has applied a commit. */
describe('a manager that follows another one', () => {
  it('reads what changed and no more, and is told of these objects alone', async () => {
    const { origin, first, second, reads, told } = await startTwo();
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    const applied = await webOf(first);
    const outcome = await second.reconciler.pollOrigin();
    expect(outcome).toMatchObject({ ok: true, report: { steps: [], changedElsewhere: ['app/web'] } });
    expect([reads, told]).toEqual([{ whole: 0, changed: 1 }, [['app/web']]]);
    expect(second.reconciler.status().applied?.revision).toBe(revision);
    expect(await webOf(second)).toEqual(applied);
    await second.reconciler.pollOrigin();
    expect([reads, told.length]).toEqual([{ whole: 0, changed: 1 }, 1]);
  });

  it('goes on from there: its own commit is on top, and the other follows that', async () => {
    const { origin, first, second, reads } = await startTwo();
    await origin.push({ [WEB]: null, [EDGE]: 'apps: [cron]\n' });
    await first.reconciler.pollOrigin();
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: true, report: { steps: [] } });
    await origin.push({ [WEB]: 'container_image: web:3\n', [EDGE]: 'apps: [web, cron]\n' });
    const outcome = await second.reconciler.pollOrigin();
    expect(outcome.ok && outcome.report.steps.map(({ name }) => name)).toEqual(['web', 'edge']);
    expect(await first.reconciler.pollOrigin()).toMatchObject({
      ok: true,
      report: { steps: [], changedElsewhere: ['app/web', 'device_group/edge'] },
    });
    expect(reads).toEqual({ whole: 0, changed: 1 });
  });

  it('keeps what it was the only one to change for years from making the next foreign change a whole read', async () => {
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
    expect(reads).toEqual({ whole: 0, changed: 1 });
  });

  it('reads everything where the mark is too old, the rules are others, or the store was restored', async () => {
    const { origin, database, first, second, reads, told } = await startTwo();
    const backup = structuredClone(database.primary);
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    for (let round = 0; round < 70; round += 1) await first.store.markAttempted('r', round);
    await second.reconciler.pollOrigin();
    expect([reads, told.pop()]).toEqual([{ whole: 1, changed: 1 }, ALL]);
    const { sequence, applied } = await first.store.state();
    const revision = applied?.revision ?? '';
    const claimed = await first.store.claimHead(sequence, revision, 5);
    await first.store.apply({ revision, sequence: claimed, at: 5, steps: [], origins: [], rules: 'other' });
    await second.reconciler.pollOrigin();
    expect([reads, told.pop()]).toEqual([{ whole: 2, changed: 1 }, ALL]);
    database.restore(backup);
    expect(await second.reconciler.pollOrigin()).toMatchObject({
      ok: true,
      report: { steps: [{ name: 'web' }] },
    });
    expect(reads).toEqual({ whole: 3, changed: 2 });
  });

  it('reads everything after an outcome that it does not know', async () => {
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
    expect(reads).toEqual({ whole: 1, changed: 0 });
    expect(await webOf(second)).toEqual({ id: (before.id ?? 0) + 1, image: 'web:2' });
  });

  it('loses a claim, reads what the other one did with it, and tells of that', async () => {
    const other: { look: () => Promise<unknown> } = { look: async () => undefined };
    const { origin, first, second, reads, told } = await startTwo((store) => ({
      claimHead: async (...args) => {
        await other.look();
        return store.claimHead(...args);
      },
    }));
    other.look = () => first.reconciler.pollOrigin();
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    const outcome = await second.reconciler.pollOrigin();
    expect(outcome).toMatchObject({ ok: true, report: { steps: [], changedElsewhere: ['app/web'] } });
    expect([reads, told]).toEqual([{ whole: 0, changed: 1 }, [['app/web']]]);
  });

  it('tells of what it followed in a pass that failed with the next one that does not', async () => {
    const faults = { left: 0 };
    const { origin, first, second, told } = await startTwo((store) => ({
      claimHead: async (...args) => {
        faults.left -= 1;
        if (faults.left >= 0) throw new HoldfastError('unavailable', 'the store is away');
        return store.claimHead(...args);
      },
    }));
    await origin.push({ [WEB]: 'container_image: web:2\n' });
    await first.reconciler.pollOrigin();
    await origin.push({ 'desired-state/apps/cron.yaml': 'container_image: cron:4\n' });
    faults.left = 1;
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: false });
    expect(told).toEqual([]);
    expect(await second.reconciler.pollOrigin()).toMatchObject({ ok: true });
    expect(told).toEqual([['app/cron', 'app/web']]);
  });

  it('applies again what another manager’s seeding has dropped', async () => {
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
    expect(reads).toEqual({ whole: 1, changed: 0 });
    expect(await webOf(second)).toEqual({ id: seed.last + 1, image: before.image });
  });
});
