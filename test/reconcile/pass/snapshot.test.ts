import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StateFile } from '../../../src/desired/state.ts';
import { HoldfastError } from '../../../src/errors.ts';
import { createSnapshot } from '../../../src/reconcile/pass/snapshot.ts';
import { buildEngine, wrap } from '../../support/engine.ts';
import { DEFAULTS } from '../../support/fleet.ts';
import { onTickingClock } from '../../support/yielding.ts';

/** Nothing is known about any file before it is read. */
const nothingKnown = () => () => undefined;

/** A snapshot of a real repository, and the blobs that it reads. */
async function openSnapshot(files: Readonly<Record<string, string>>) {
  const engine = await buildEngine({ files });
  const { reader } = engine.source;
  const read: string[] = [];
  const faults = { blob: false };
  const counting = wrap(reader, {
    blob: (id, maxBytes) => {
      if (faults.blob) return Promise.reject(new HoldfastError('unavailable', 'git was ended'));
      read.push(id);
      return reader.blob(id, maxBytes);
    },
  });
  const head = () => engine.repository.git('rev-parse', 'HEAD');
  return { ...engine, snapshot: createSnapshot(counting, DEFAULTS, () => undefined), read, faults, head };
}

const FILES = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => [`apps/a${index}.yaml`, `container_image: a:${index}\n`]),
);

describe('a snapshot', () => {
  it('reads all files once, and then only those that differ', async () => {
    const { snapshot, read, head, commit } = await openSnapshot(FILES);
    expect((await snapshot.advance(await head(), nothingKnown)).size).toBe(30);
    expect(read.splice(0)).toHaveLength(30);
    const revision = await commit({
      'apps/a3.yaml': 'container_image: a:33\n',
      'apps/a4.yaml': null,
      'apps/new.yaml': 'container_image: new:1\n',
    });
    const touched = await snapshot.advance(revision, nothingKnown);
    expect([...touched].sort()).toEqual(['app/a3', 'app/a4', 'app/new']);
    expect(read.splice(0)).toHaveLength(2);
    expect(snapshot.state.app('a3')?.content?.container_image).toBe('a:33');
    expect(snapshot.state.app('a4')).toBeUndefined();
  });

  it('reads a blob once, whatever its names', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `apps/twin${index}.yaml`);
    const files = Object.fromEntries(names.map((path) => [path, 'container_image: twin:1\n']));
    const { snapshot, read, head } = await openSnapshot({
      ...files,
      'device-groups/g.yaml': 'apps: [twin7]\n',
    });
    await snapshot.advance(await head(), nothingKnown);
    expect(read).toHaveLength(2);
    expect(snapshot.state.app('twin7')?.content?.container_image).toBe('twin:1');
    expect(snapshot.state.app('twin19')?.content?.container_image).toBe('twin:1');
  });

  it('reads nothing for a commit that does not change the folder', async () => {
    const { snapshot, read, head, repository } = await openSnapshot(FILES);
    await snapshot.advance(await head(), nothingKnown);
    read.splice(0);
    const revision = await repository.commit({ 'elsewhere.txt': 'a\n' });
    expect(await snapshot.advance(revision, nothingKnown)).toEqual(new Set());
    expect(read).toEqual([]);
  });

  it('moves back and forth between revisions, and to no revision', async () => {
    const { snapshot, head, commit } = await openSnapshot(FILES);
    const first = await head();
    const second = await commit({ 'apps/a0.yaml': 'container_image: b:1\n' });
    for (const [revision, image] of [
      [first, 'a:0'],
      [second, 'b:1'],
      [first, 'a:0'],
    ] as const) {
      await snapshot.advance(revision, nothingKnown);
      expect(snapshot.state.app('a0')?.content?.container_image).toBe(image);
    }
    expect((await snapshot.advance(null, nothingKnown)).size).toBe(30);
    expect(snapshot.state.isEmpty).toBe(true);
    expect((await snapshot.advance(second, nothingKnown)).size).toBe(30);
  });

  it('has a new reading after each change, and none during a change', async () => {
    const { snapshot, head, commit, repository } = await openSnapshot(FILES);
    const first = await head();
    expect(snapshot.reading()).toBeNull();
    await snapshot.advance(first, nothingKnown);
    const reading = snapshot.reading();
    await snapshot.advance(first, nothingKnown);
    expect(snapshot.reading()).toBe(reading);
    // So many that the state is updated in several turns of the event loop.
    const second = await commit(
      Object.fromEntries(
        Array.from({ length: 200 }, (_, index) => [`device-groups/g${index}.yaml`, 'apps: [a0]\n']),
      ),
    );
    const during: unknown[] = [];
    let isOver = false;
    const advanced = onTickingClock(() => snapshot.advance(second, nothingKnown)).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const isChanging = snapshot.state.group('g0') !== undefined;
      if (isChanging && snapshot.state.group('g199') === undefined) during.push(snapshot.reading());
      await setImmediate();
    }
    await advanced;
    expect([during.length > 0, new Set(during)]).toEqual([true, new Set([null])]);
    expect(snapshot.reading()).toEqual({ revision: second });
    await snapshot.advance(first, nothingKnown);
    expect(snapshot.reading()).toEqual({ revision: first });
    expect(snapshot.reading()).not.toBe(reading);
    await repository.git('reset', '--quiet', '--hard', first);
    const third = await repository.commit({ 'elsewhere.txt': 'a\n' });
    await snapshot.advance(third, nothingKnown);
    expect(snapshot.reading()).toEqual({ revision: third });
  });

  it('uses remembered contents only in its first advance', async () => {
    const { snapshot, read, head, commit } = await openSnapshot({
      'apps/web.yaml': 'container_image: web:1\n',
    });
    const known = (path: string, blob: string): StateFile => {
      const content = { ...DEFAULTS, container_image: 'remembered:1' };
      return { path, blob, kind: 'app', name: 'web', parsed: { ok: true, content, memberPositions: [] } };
    };
    await snapshot.advance(await head(), () => known);
    expect([read, snapshot.state.app('web')?.content?.container_image]).toEqual([[], 'remembered:1']);
    await snapshot.advance(await commit({ 'apps/web.yaml': 'container_image: web:2\n' }), () => known);
    expect(snapshot.state.app('web')?.content?.container_image).toBe('web:2');
  });

  it('is unchanged after a failure, and the next advance returns the missed changes', async () => {
    const { snapshot, faults, head, commit } = await openSnapshot(FILES);
    await snapshot.advance(await head(), nothingKnown);
    const revision = await commit({ 'apps/a1.yaml': 'container_image: b:1\n', 'apps/a2.yaml': null });
    faults.blob = true;
    await expect(snapshot.advance(revision, nothingKnown)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(snapshot.state.app('a1')?.content?.container_image).toBe('a:1');
    expect(snapshot.state.app('a2')).toBeDefined();
    faults.blob = false;
    expect([...(await snapshot.advance(revision, nothingKnown))].sort()).toEqual(['app/a1', 'app/a2']);
  });
});
