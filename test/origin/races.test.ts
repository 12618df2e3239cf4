import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { TestRepository } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { randomNumbers } from '../support/random.ts';

const random = randomNumbers();

/** Keeps committing and pushing as a user does, and rebases after a lost race. Resolves to the pushed apps. */
async function keepPushing(clone: TestRepository, name: string, until: () => boolean): Promise<string[]> {
  const pushed: string[] = [];
  for (let round = 1; !until(); round++) {
    const app = `${name}-${round}`;
    await clone.commit({ [`desired-state/apps/${app}.yaml`]: `container_image: ${app}\n` }, app);
    await sleep(random() * 200);
    for (;;) {
      try {
        await clone.git('push', '--quiet', 'origin', 'HEAD:main');
        pushed.push(app);
        break;
      } catch {
        await clone.git('pull', '--quiet', '--rebase', 'origin', 'main');
      }
    }
  }
  return pushed;
}

describe('writes beside two clones that push all the time', { retry: 0 }, () => {
  it('lose nothing: every acknowledged change of all three is there at the end', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    let isOver = false;
    const clones = [await origin.clone(), await origin.clone()];
    const pushing = clones.map((clone, index) =>
      keepPushing(clone, ['ann', 'bob'][index] ?? '', () => isOver),
    );
    const acknowledged: string[] = [];
    const refused: number[] = [];
    // On a slow machine fewer writes: the pushes go on until the last write is done.
    const enough = performance.now() + 20_000;
    const isEnough = (): boolean => performance.now() > enough && acknowledged.length > 0;
    for (let index = 1; index <= 30 && !isEnough(); index++) {
      const name = `api-${index}`;
      const reply = await manager.post(`/api/v2/apps/${name}`, { container_image: name });
      if (reply.status === 200) acknowledged.push(name);
      else refused.push(reply.status);
    }
    isOver = true;
    const pushed = (await Promise.all(pushing)).flat();
    expect(pushed.length).toBeGreaterThan(0);
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(new Set(refused)).toEqual(refused.length > 0 ? new Set([409]) : new Set());
    await manager.reconcile();
    const names: string[] = (await manager.get('/api/v2/apps')).body.apps;
    for (const name of [...acknowledged, ...pushed]) {
      expect(names).toContain(name);
      expect(await origin.bare.show(`desired-state/apps/${name}.yaml`, 'main')).toBe(
        `container_image: ${name}\n`,
      );
    }
    expect(names.filter((name) => name.startsWith('api-')).sort()).toEqual([...acknowledged].sort());
    await expectIntact(origin.url);
  });
});

describe('a write and a push to the same field', { retry: 0 }, () => {
  it.each([1, 2, 3, 4, 5, 6])('are both in the history, or the push was refused (round %i)', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const clone = await origin.clone();
    const id = await clone.commit({ 'desired-state/apps/web.yaml': 'container_image: user:1\n' });
    const [reply, push] = await Promise.all([
      manager.put('/api/v2/apps/web/update', { container_image: 'api:1' }),
      clone.git('push', '--quiet', 'origin', 'HEAD:main').then(
        () => 'pushed',
        () => 'refused',
      ),
    ]);
    expect(reply.status).toBe(202);
    const history = (await origin.bare.git('log', '--format=%H', 'main')).split('\n');
    expect(history).toContain(reply.headers.get('holdfast-revision'));
    expect(history.includes(id)).toBe(push === 'pushed');
    expect((await manager.reconcile()).body.revision_applied).toBe(history[0]);
  });
});
