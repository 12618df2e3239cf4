import { describe, expect, it } from 'vitest';
import { createRollbacks } from '../../src/change/rollback.ts';
import type { WriterDependencies } from '../../src/change/write.ts';
import { createWriter } from '../../src/change/writer.ts';
import { NO_FAULTS } from '../../src/faults.ts';
import { buildEngine, type Engine, wrap } from '../support/engine.ts';
import { DEFAULTS } from '../support/fleet.ts';
import { CONTEXT, failure, WEB } from '../support/writer-engine.ts';

const WEB_OBJECT = { kind: 'app', name: 'web' } as const;

/** A writer and rollbacks on an engine; `onPing` is called whenever they ask whether the store is there. */
async function writing(onPing: (engine: Engine) => Promise<unknown> = async () => undefined) {
  const engine = await buildEngine({ files: { [WEB]: 'container_image: web:1\n' } });
  const { source, store, reconciler } = engine;
  const ping = async (): Promise<void> => {
    await onPing(engine);
    await store.ping();
  };
  const dependencies: WriterDependencies = {
    ...{ reconciler, reader: source.reader, origin: null, publisher: source.publisher },
    store: wrap(store, { ping }),
    ...{ defaults: DEFAULTS, folder: 'desired-state', strict: false, now: Date.now, faults: NO_FAULTS },
    waitLimit: 60_000,
  };
  const writer = createWriter(dependencies);
  return { ...engine, writer, rollbacks: createRollbacks(writer, dependencies) };
}

describe('requireUnchanged', () => {
  it('refuses nothing as changed before a revision was read, and waits for the pass that reads it', async () => {
    const { writer, reconciler, repository, commit } = await writing();
    const head = await repository.git('rev-parse', 'HEAD');
    const error = await failure(writer.requireUnchanged(head, [WEB_OBJECT]));
    expect(error).toMatchObject({ kind: 'unavailable', message: 'no revision of the branch was read yet' });
    const pass = reconciler.reconcile();
    await expect(writer.requireUnchanged(head, [WEB_OBJECT])).resolves.toBeUndefined();
    await pass;
    await commit({ [WEB]: 'container_image: web:2\n' });
    await reconciler.reconcile();
    expect(await failure(writer.requireUnchanged(head, [WEB_OBJECT]))).toMatchObject({ kind: 'moved-on' });
  });
});

describe('a commit that is read while a request finds its head', () => {
  const overtaken = () =>
    writing(async ({ commit, reconciler }) => {
      await commit({ [WEB]: null, 'apps/moved/web.yaml': `container_image: web:2\n` }).catch(() => undefined);
      await reconciler.reconcile();
    });

  it('gives the file of an object the revision that has it', async () => {
    const { writer, repository } = await overtaken();
    const file = await writer.file(WEB_OBJECT);
    expect(file?.path).toBe('desired-state/apps/moved/web.yaml');
    expect(await repository.git('rev-parse', `${file?.revision}:${file?.path}`)).toBe(file?.blob);
  });

  it('gives a rollback the revision whose files it goes back from', async () => {
    const { rollbacks, repository, commit, reconciler } = await overtaken();
    const first = await repository.git('rev-parse', 'HEAD');
    await commit({ 'apps/new.yaml': 'container_image: new:1\n' });
    await reconciler.reconcile();
    const request = {
      ...{ to: first, withDependencies: false, allowDelete: false },
      selection: { objects: [{ kind: 'app', name: 'new' } as const] },
    };
    const { base, needs } = await rollbacks.preview(request, CONTEXT);
    expect(needs).toEqual([expect.objectContaining({ object: 'app/new' })]);
    expect(base).toBe(await repository.git('rev-parse', 'HEAD'));
  });
});
