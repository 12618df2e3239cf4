import { describe, expect, it } from 'vitest';
import type { RollbackRequest } from '../../src/change/rollback.ts';
import { buildWriterEngine, CONTEXT, failure, WEB, type WriterEngine } from '../support/writer-engine.ts';

const OPTIONS = { withDependencies: false, allowDelete: false };
const WEB_1 = 'container_image: web:1\n';
const WEB_2 = 'container_image: web:2\n';

const restoreTo = (to: string): RollbackRequest => ({
  ...OPTIONS,
  to,
  selection: { objects: [{ kind: 'app', name: 'web' }] },
});
const undoOf = (undo: string): RollbackRequest => ({ ...OPTIONS, undo });

/** The subjects of all commits but the first, oldest first. */
async function subjects({ repository }: WriterEngine): Promise<string[]> {
  return (await repository.git('log', '--format=%s', '--reverse')).split('\n').slice(1);
}

/** An engine at `WEB_2` in which users commit these texts of `WEB`, each while a rollback is about to be published. */
async function racing(...texts: string[]): Promise<{ engine: WriterEngine; first: string; second: string }> {
  const engine = await buildWriterEngine({
    beforePublish: async ({ commit }) => {
      const text = texts.shift();
      if (text !== undefined) await commit({ [WEB]: text }, 'push');
    },
  });
  const first = await engine.repository.git('rev-parse', 'HEAD');
  return { engine, first, second: await engine.commit({ [WEB]: WEB_2 }, 'two') };
}

describe('a rollback during which somebody pushes to the same file', () => {
  it('restores the file on top of the push, in one commit', async () => {
    const { engine, first } = await racing('container_image: web:3\n');
    const { revision } = await engine.rollbacks.commit(restoreTo(first), CONTEXT);
    expect(revision).toBe(await engine.repository.git('rev-parse', 'HEAD'));
    expect(await engine.repository.show(`desired-state/${WEB}`)).toBe(WEB_1);
    const restored = `app web: restore to ${first.slice(0, 12)} (container_image 3 -> 1)`;
    expect(await subjects(engine)).toEqual(['two', 'push', restored]);
  });

  it('undoes a commit on top of a push to another field, and keeps that', async () => {
    const { engine, second } = await racing(`${WEB_2}privileged: true\n`);
    await engine.rollbacks.commit(undoOf(second), CONTEXT);
    expect(await engine.repository.show(`desired-state/${WEB}`)).toBe(`${WEB_1}privileged: true\n`);
    expect(await subjects(engine)).toEqual(['two', 'push', expect.stringContaining('undo')]);
  });

  it('is a conflict if it undoes a commit, and the push changed the same field', async () => {
    const { engine, second } = await racing('container_image: web:3\n');
    const error = await failure(engine.rollbacks.commit(undoOf(second), CONTEXT));
    const by = await engine.repository.git('rev-parse', 'HEAD');
    const conflicts = [{ object: 'app/web', field: 'container_image', by, actor: 'Pat' }];
    expect(error).toMatchObject({ kind: 'conflict', details: { conflicts } });
    expect(await subjects(engine)).toEqual(['two', 'push']);
  });

  it('is not needed if the push went back, too', async () => {
    const { engine, second } = await racing(WEB_1);
    expect((await engine.rollbacks.commit(undoOf(second), CONTEXT)).revision).toBeNull();
    expect(await subjects(engine)).toEqual(['two', 'push']);
  });

  it('is refused with a base, since the file is not as it was seen', async () => {
    const { engine, first, second } = await racing('container_image: web:3\n');
    const context = { ...CONTEXT, base: second };
    expect((await failure(engine.rollbacks.commit(restoreTo(first), context))).kind).toBe('moved-on');
    expect(await subjects(engine)).toEqual(['two', 'push']);
  });

  it('gives up as a conflict if the pushes do not end', async () => {
    const texts = Array.from({ length: 100 }, (_, index) => `container_image: web:${index + 3}\n`);
    const { engine, first } = await racing(...texts);
    expect((await failure(engine.rollbacks.commit(restoreTo(first), CONTEXT))).kind).toBe('conflict');
    expect(new Set((await subjects(engine)).slice(1))).toEqual(new Set(['push']));
  });
});
