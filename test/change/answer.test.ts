import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { buildWriterEngine, CONTEXT, failure, setImage } from '../support/writer-engine.ts';

describe('the result of a write', () => {
  it('has the object as this write made it, even if further writes follow at once', async () => {
    const { writer } = await buildWriterEngine();
    const name = 'new';
    const [created, stopped, same, deleted, again] = await Promise.all([
      writer.write({ kind: 'app', op: 'create', name, fields: { container_image: 'new:1' } }, CONTEXT),
      writer.write({ kind: 'app', op: 'change', name, fields: { running: false } }, CONTEXT),
      writer.write({ kind: 'app', op: 'change', name, fields: { running: false } }, CONTEXT),
      writer.write({ kind: 'app', op: 'delete', name }, CONTEXT),
      writer.write({ kind: 'app', op: 'create', name, fields: { container_image: 'new:2' } }, CONTEXT),
    ]);
    expect(created.object).toMatchObject({
      revision: created.revision,
      value: { appId: 1, content: { container_image: 'new:1', running: true } },
    });
    const second = { revision: stopped.revision, value: { appId: 2, content: { running: false } } };
    expect(stopped.object).toMatchObject(second);
    expect(same).toMatchObject({ revision: null, object: second });
    expect(deleted.object).toEqual({ revision: deleted.revision, value: null });
    expect(again.object.value).toMatchObject({ appId: 3, content: { container_image: 'new:2' } });
  });

  it('is a conflict that names the revision if a user has deleted the object meanwhile', async () => {
    let revision = '';
    const { writer } = await buildWriterEngine({
      afterPublish: async ({ repository, commit }) => {
        revision = await repository.git('rev-parse', 'HEAD');
        await commit({ 'apps/web.yaml': null });
      },
    });
    expect(await failure(writer.write(setImage('web', '2'), CONTEXT))).toMatchObject({
      kind: 'conflict',
      details: { revision, applied: true },
    });
  });

  it('has no object if nothing had to change and a commit has deleted the object meanwhile', async () => {
    const { writer } = await buildWriterEngine({
      store: ({ store, commit, reconciler }) => ({
        object: async (kind, name) => {
          await commit({ 'apps/web.yaml': null });
          await reconciler.reconcile();
          return store.object(kind, name);
        },
      }),
    });
    const written = await writer.write(setImage('web', '1'), CONTEXT);
    expect(written).toMatchObject({ revision: null, object: { value: null } });
  });

  it('is an error that names the revision if the store fails after it has applied it', async () => {
    let isApplied = false;
    const { writer, repository } = await buildWriterEngine({
      afterPublish: async () => {
        isApplied = true;
      },
      store: ({ store }) => ({
        object: async (kind, name) => {
          if (isApplied) throw new HoldfastError('unavailable', 'the disk is gone');
          return store.object(kind, name);
        },
      }),
    });
    const refused = await failure(writer.write(setImage('web', '2'), CONTEXT));
    const revision = await repository.git('rev-parse', 'HEAD');
    expect(refused).toMatchObject({ kind: 'unavailable', details: { revision, applied: true } });
    expect(refused.message).toContain('the disk is gone');
  });

  it('is an error without a revision if nothing had to change and the store fails', async () => {
    const { writer } = await buildWriterEngine({
      store: () => ({ object: () => Promise.reject(new HoldfastError('unavailable', 'the disk is gone')) }),
    });
    expect(await failure(writer.write(setImage('web', '1'), CONTEXT))).toMatchObject({
      message: 'the disk is gone',
      details: {},
    });
  });
});
