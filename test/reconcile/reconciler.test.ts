import { describe, expect, it, onTestFinished } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import type { Source } from '../../src/source/source.ts';
import type { Store } from '../../src/store/objects/port.ts';
import { buildEngine, type Engine, testReconciler, wrap } from '../support/engine.ts';

const WEB = 'apps/web.yaml';
const FILES = { [WEB]: 'container_image: web:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };

async function imageIn({ store }: Engine): Promise<string | undefined> {
  return (await store.object('app', 'web')).value?.content.container_image;
}

/** Wraps a store so that its next `faults.left` calls of `apply` fail. */
function failingApply(kind: 'unavailable' | 'internal') {
  const faults = { left: 0 };
  const wrapStore = (store: Store): Store =>
    wrap(store, {
      apply: (batch) => {
        if (faults.left === 0) return store.apply(batch);
        faults.left -= 1;
        const error =
          kind === 'internal' ? new TypeError('a bug') : new HoldfastError(kind, 'the disk is full');
        return Promise.reject(error);
      },
    });
  return { faults, wrapStore };
}

describe('a reconciler', () => {
  it('runs a pass at its start, for a commit, for a checkout of another branch, and on request', async () => {
    const engine = await buildEngine({ files: FILES });
    expect(await engine.reconciler.start()).toMatchObject({ ok: true });
    expect(await imageIn(engine)).toBe('web:1');
    await engine.commit({ [WEB]: 'container_image: web:2\n' });
    await expect.poll(() => imageIn(engine)).toBe('web:2');
    await engine.repository.git('checkout', '--quiet', '-b', 'other', 'HEAD~1');
    await expect.poll(() => imageIn(engine)).toBe('web:1');
    await expect.poll(() => engine.reconciler.status().branch).toBe('other');
    await engine.commit({ [WEB]: 'container_image: web:3\n' });
    expect(await engine.reconciler.reconcile()).toMatchObject({ ok: true });
    expect(await imageIn(engine)).toBe('web:3');
  });

  it('says that the watch has died, once in an event and from then on in the status', async () => {
    const engine = await buildEngine({ files: FILES });
    let failures = 0;
    engine.events.on('watchFailed', () => (failures += 1));
    const watch: Source['watch'] = async ({ onTrouble }) => {
      onTrouble(new Error('ENOSPC: no watches are left'));
      onTrouble(new Error('another one'));
      return { close: async () => undefined };
    };
    const source = wrap(engine.source, { watch });
    const reconciler = testReconciler({
      source,
      store: engine.store,
      emit: engine.events.emit,
      now: () => 5,
    });
    onTestFinished(() => reconciler.close());
    await reconciler.start();
    await reconciler.reconcile();
    expect(reconciler.status()).toMatchObject({
      state: 'applied',
      watchProblem: { message: 'ENOSPC: no watches are left', since: 5 },
    });
    expect(failures).toBe(1);
  });

  it('runs a pass after the poll interval even if no change is noticed', async () => {
    const engine = await buildEngine({ files: FILES, settings: { pollInterval: 50 } });
    await engine.reconciler.reconcile();
    await engine.commit({ [WEB]: 'container_image: web:2\n' });
    await expect.poll(() => imageIn(engine)).toBe('web:2');
  });

  it('shows a bug at the end of a pass as its failure, and still polls', async () => {
    let bugs = 2;
    const takeSeeding = (): null => {
      bugs -= 1;
      if (bugs >= 0) throw new TypeError('a bug');
      return null;
    };
    const seedIfNeeded = async (): Promise<boolean> => false;
    const keeper = { seedIfNeeded, followHead: seedIfNeeded, takeSeeding, addFirstCommit: () => undefined };
    const engine = await buildEngine({
      files: FILES,
      settings: { pollInterval: 50, keeper: { ...keeper, flush: async () => undefined } },
    });
    expect(await engine.reconciler.reconcile()).toMatchObject({ ok: false, error: { kind: 'internal' } });
    expect(engine.reconciler.status()).toMatchObject({
      state: 'failing',
      error: { message: 'a bug', failures: 1 },
    });
    await engine.commit({ [WEB]: 'container_image: web:2\n' });
    await expect.poll(() => imageIn(engine)).toBe('web:2');
    await expect.poll(() => engine.reconciler.status()).toMatchObject({ state: 'applied', error: null });
  });

  it('runs no pass after it is closed', async () => {
    const engine = await buildEngine({ files: FILES, settings: { pollInterval: 20 } });
    await engine.reconciler.start();
    await engine.reconciler.close();
    const count = engine.passes.length;
    await engine.commit({ [WEB]: 'container_image: web:2\n' });
    expect(await engine.reconciler.reconcile()).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
    expect(engine.passes).toHaveLength(count);
    expect(await imageIn(engine)).toBe('web:1');
  });
});

describe('a seeding', () => {
  it('says whether devices are served from the store: not before a revision was applied', async () => {
    const served: boolean[] = [];
    const { repository, reconciler, events, commit } = await buildEngine({ files: FILES });
    events.on('seeded', ({ isServed }) => served.push(isServed));
    expect(await reconciler.reconcile()).toMatchObject({ ok: true });
    expect(served).toEqual([false]);
    await repository.git('checkout', '--quiet', '--orphan', 'unrelated');
    await commit({ [WEB]: 'container_image: web:2\n' });
    expect(await reconciler.reconcile()).toMatchObject({ ok: true });
    expect(served).toEqual([false, true]);
  });
});

describe('a start while origin does not answer', () => {
  it('is reported as the start of a manager that has not reached its origin yet', async () => {
    let answer: () => void = () => undefined;
    const refresh = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    const origin = {
      refresh,
      find: async () => null,
      interrupt: () => undefined,
      abandon: () => undefined,
      abandonRecord: () => undefined,
    };
    const { reconciler } = await buildEngine({ files: FILES, origin });
    const started = reconciler.start();
    await expect
      .poll(() => reconciler.status())
      .toMatchObject({ state: 'starting', origin: { reachedAt: null, error: null } });
    await expect
      .poll(() => {
        answer();
        return reconciler.status().origin?.reachedAt ?? null;
      })
      .not.toBeNull();
    await started;
  });
});

describe('a pass that the store fails to apply', () => {
  it.each(['unavailable', 'internal'] as const)(
    'is retried until it succeeds, and no id rises twice: %s',
    async (kind) => {
      const { faults, wrapStore } = failingApply(kind);
      // An internal error happens only once, since the delays after it are long.
      const engine = await buildEngine({ files: FILES, wrapStore });
      await engine.reconciler.reconcile();
      const before = (await engine.store.object('app', 'web')).value?.appId ?? 0;
      faults.left = kind === 'internal' ? 1 : 2;
      const revision = await engine.commit({ [WEB]: 'container_image: web:2\n' });
      expect(await engine.reconciler.reconcile()).toMatchObject({ ok: false, error: { kind } });
      expect(engine.reconciler.status()).toMatchObject({
        state: 'failing',
        attempted: { revision },
        error: { kind, failures: 1, retryAt: expect.any(Number) },
      });
      expect(engine.reconciler.status().applied?.revision).not.toBe(revision);
      await expect.poll(() => imageIn(engine)).toBe('web:2');
      await expect.poll(() => engine.reconciler.status().state).toBe('applied');
      expect(engine.reconciler.status()).toMatchObject({ applied: { revision }, error: null });
      expect((await engine.store.object('app', 'web')).value?.appId).toBe(before + 1);
      expect(faults.left).toBe(0);
    },
  );

  it('reports that any object may have changed', async () => {
    const { faults, wrapStore } = failingApply('unavailable');
    const engine = await buildEngine({ files: FILES, wrapStore });
    await engine.reconciler.reconcile();
    const changed: unknown[] = [];
    engine.events.on('changed', ({ keys }) => changed.push(keys));
    faults.left = 1;
    await engine.commit({ [WEB]: 'container_image: web:2\n' });
    await engine.reconciler.reconcile();
    expect(changed).toEqual([null]);
  });

  it('does not clear problems, and raises the number of failures since the first one', async () => {
    const { faults, wrapStore } = failingApply('unavailable');
    const files = { ...FILES, 'apps/bad.yaml': 'ports: [80]\n', 'device-groups/lab.yaml': 'apps: [ghost]\n' };
    const engine = await buildEngine({ files, wrapStore });
    await engine.reconciler.reconcile();
    const { problems } = engine.reconciler.status();
    expect(problems.map(({ code }) => code)).toContain('app-unknown');
    faults.left = 2;
    await engine.commit({ [WEB]: 'container_image: web:2\n' });
    await engine.reconciler.reconcile();
    const first = engine.reconciler.status();
    await engine.reconciler.reconcile();
    const second = engine.reconciler.status();
    expect([first.problems, second.problems]).toEqual([problems, problems]);
    expect(second.error).toMatchObject({ failures: 2, since: first.error?.since });
  });
});

describe('a revision that is refused', () => {
  it('is not retried: the next commit is applied', async () => {
    const engine = await buildEngine({ files: FILES, settings: { strict: true } });
    await engine.reconciler.start();
    const applied = await engine.repository.git('rev-parse', 'HEAD');
    const refused = await engine.commit({ 'apps/bad.yaml': 'ports: [80]\n' });
    await expect.poll(() => engine.reconciler.status().state).toBe('refused');
    expect(engine.reconciler.status()).toMatchObject({
      attempted: { revision: refused },
      applied: { revision: applied },
      error: { kind: 'refused', retryAt: null },
    });
    expect((await engine.store.state()).attempted?.revision).toBe(refused);
    const fixed = await engine.commit({ 'apps/bad.yaml': 'container_image: good:1\n' });
    await expect.poll(() => engine.reconciler.status().applied?.revision).toBe(fixed);
    expect(engine.reconciler.status()).toMatchObject({ state: 'applied', error: null, problems: [] });
  });
});

it('a pass reports what changed before it resolves', async () => {
  const changed: string[] = [];
  const engine = await buildEngine({ files: FILES });
  engine.events.on('changed', ({ keys }) => changed.push(...(keys ?? ['any'])));
  const first = engine.reconciler.reconcile().then(() => [...changed]);
  expect((await first).sort()).toEqual(['app/web', 'device_group/edge']);
  changed.length = 0;
  await engine.reconciler.reconcile();
  expect(changed).toEqual([]);
});

describe('passAt', () => {
  it('returns the pass under way, or the latest one, if it reads the revision', async () => {
    const engine = await buildEngine({ files: FILES });
    await engine.reconciler.reconcile();
    const revision = await engine.commit({ [WEB]: 'container_image: web:2\n' });
    const underWay = engine.reconciler.reconcile();
    const count = engine.passes.length + 1;
    expect(await engine.reconciler.passAt(revision)).toBe(await underWay);
    expect(await engine.reconciler.passAt(revision)).toBe(await underWay);
    expect(engine.passes).toHaveLength(count);
    expect(await imageIn(engine)).toBe('web:2');
  });

  it('runs a new pass if the latest one read another revision or failed', async () => {
    const { faults, wrapStore } = failingApply('unavailable');
    const engine = await buildEngine({ files: FILES, wrapStore });
    await engine.reconciler.reconcile();
    const second = await engine.commit({ [WEB]: 'container_image: web:2\n' });
    expect(await engine.reconciler.passAt(second)).toMatchObject({ report: { head: { revision: second } } });
    const third = await engine.commit({ [WEB]: 'container_image: web:3\n' });
    faults.left = 1;
    expect(await engine.reconciler.passAt(third)).toMatchObject({ ok: false });
    expect(await engine.reconciler.passAt(third)).toMatchObject({ ok: true });
    expect(await imageIn(engine)).toBe('web:3');
    expect(await engine.reconciler.passAt(second)).toMatchObject({ report: { head: { revision: third } } });
  });
});
