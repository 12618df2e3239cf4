import { describe, expect, it } from 'vitest';
import type { TroubleCode } from '../../src/protocol/report.ts';
import { containersOf, imageId } from '../support/engine/containers.ts';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import type { Registry } from '../support/engine/registry.ts';
import { engineSuite } from '../support/engine/suite.ts';

const TROUBLES: readonly { trouble: string; code: TroubleCode; begin(registry: Registry): unknown }[] = [
  { trouble: 'does not have the tag', code: 'image-missing', begin: (registry) => registry.drop('v2') },
  { trouble: 'is down', code: 'pull-failed', begin: (registry) => registry.down() },
  {
    trouble: 'cuts layers off',
    code: 'pull-failed',
    begin: (registry) => registry.trouble('blob-truncated'),
  },
  {
    trouble: 'sends other bytes',
    code: 'pull-failed',
    begin: (registry) => registry.trouble('blob-corrupt'),
  },
  { trouble: 'fails', code: 'pull-failed', begin: (registry) => registry.trouble('500') },
  {
    trouble: 'wants an account',
    code: 'pull-unauthorized',
    begin: (registry) => registry.trouble('unauthorized'),
  },
  { trouble: 'answers with a page', code: 'pull-failed', begin: (registry) => registry.trouble('html') },
];

describe('a worker whose registry', () => {
  const suite = engineSuite({ downloadAttempts: 1 });

  it.each(TROUBLES)(
    '$trouble keeps the old version and says $code and when it tries again',
    async ({ code, begin }) => {
      const { real, registry } = suite();
      const [old, next] = [registry.reference('v1'), registry.reference('v2')];
      const fleet = await startFleet();
      await fleet.apply({ web: { container_image: old } });
      const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
      await worker.until(runs('web', old));
      const before = await containersOf(real);

      await begin(registry);
      await fleet.apply({ web: { container_image: next } });
      const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'kept');
      const { wanted_id, running_id, image, running, error } = apps[0] ?? {};
      expect({ image, running }).toEqual({ image: old, running: 1 });
      expect(running_id).toBeLessThan(wanted_id ?? 0);
      expect(error).toMatchObject({ code, attempts: 1, text: expect.stringMatching(/\w/) });
      expect(error?.next_try).toBeGreaterThan(error?.since ?? Number.POSITIVE_INFINITY);
      expect(await containersOf(real)).toEqual(before);
    },
  );

  it('is slow keeps the old version until all of the new one is there, and a newer order ends it', async () => {
    const { real, registry } = suite();
    const old = registry.reference('v1');
    registry.push('big', { version: 'big', ballast: 200_000 }, 'slow');
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: old }, db: { container_image: old } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until((status) => runs('web', old)(status) && runs('db', old)(status));
    const before = await containersOf(real);

    registry.trouble('blob-slow', 'slow');
    await fleet.apply({
      web: { container_image: registry.reference('big', 'slow') },
      db: { container_image: old },
    });
    await worker.until(({ apps: [web] }) => web?.state === 'pulling');
    await expect
      .poll(() => registry.requests.some((line) => line.startsWith('GET /v2/slow/blobs/')))
      .toBe(true);
    await real.api('DELETE', `/containers/${before['db-1']?.id}?force=true`);
    await worker.until(({ containers }) =>
      containers.some(
        ({ id, app, state }) => app === 'db' && state === 'running' && id !== before['db-1']?.id,
      ),
    );
    const after = await containersOf(real);
    expect(after['web-1']).toEqual(before['web-1']);
    expect((await worker.status())?.apps[0]).toMatchObject({ state: 'pulling', running: 1 });

    // A newer order cancels the slow pull.
    await fleet.apply({ web: { container_image: registry.reference('v2') }, db: { container_image: old } });
    await worker.until(runs('web', registry.reference('v2')));
  });

  it('has nothing of one app updates the other, whose trouble it is not', async () => {
    const { real, registry } = suite();
    const old = registry.reference('v1');
    const next = registry.reference('v2');
    const fleet = await startFleet();
    const apps = {
      bad: { container_image: old },
      good: { container_image: old },
      calm: { container_image: old },
    };
    await fleet.apply(apps);
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(({ apps }) => apps.length === 3 && apps.every(({ state }) => state === 'running'));
    const before = await containersOf(real);

    await fleet.apply({
      ...apps,
      bad: { container_image: registry.reference('wrong') },
      good: { container_image: next },
    });
    const status = await worker.until(
      (status) => runs('good', next)(status) && status.apps.some(({ state }) => state === 'kept'),
    );
    expect(status.apps).toMatchObject([
      { name: 'bad', state: 'kept', image: old, error: { code: 'image-missing' } },
      { name: 'good', state: 'running', image: next, error: null },
      { name: 'calm', state: 'running', image: old, error: null },
    ]);
    const after = await containersOf(real);
    expect(Object.keys(after)).toEqual(['bad-1', 'calm-1', 'good-1']);
    expect(after['bad-1']).toEqual(before['bad-1']);
    expect(after['calm-1']).toEqual(before['calm-1']);
    expect(after['good-1']?.image).toBe(await imageId(real, next));
  });

  it('has moved a tag pulls it when the app is restarted', async () => {
    const { real, registry } = suite();
    const tag = registry.reference('latest');
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: tag }, db: { container_image: registry.reference('v3') } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(({ apps }) => apps.length === 2 && apps.every(({ state }) => state === 'running'));
    const before = await containersOf(real);

    registry.move('latest', 'v2');
    registry.requests.length = 0;
    expect(await fleet.manager.request('POST', '/api/v2/apps/web/restart')).toMatchObject({ status: 202 });
    await expect.poll(async () => (await containersOf(real))['web-1']?.id).not.toBe(before['web-1']?.id);
    await worker.until(runs('web', tag));
    const after = await containersOf(real);
    expect(registry.requests.some((line) => line.endsWith('/v2/web/manifests/latest'))).toBe(true);
    expect(after['web-1']?.image).toBe(await imageId(real, tag));
    expect(after['web-1']?.image).not.toBe(before['web-1']?.image);
    expect(after['db-1']).toEqual(before['db-1']);
  });
});
