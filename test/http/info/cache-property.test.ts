import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createInfoCache, type InfoCache } from '../../../src/http/info/cache.ts';
import { renderInfo } from '../../../src/http/info/render.ts';
import { infoRecord } from '../../../src/http/records.ts';
import { contentHash } from '../../../src/ids/content-hash.ts';
import { createFollower } from '../../../src/reconcile/follower.ts';
import type { GroupInfo, Store } from '../../../src/store/objects/port.ts';
import { app, appStep, CONTEXT, group, groupStep, pass, seed } from '../../store/contract/support.ts';
import { calmStore, ModelDatabase } from '../../store/mongo/model.ts';

const LIFETIME = 10_000;
const GROUPS = ['edge', 'hall', 'lab'];
const APPS = ['web', 'db', 'cache'];

const KNOWN = contentHash('app', app('x:0'));

const pick = <T>(values: readonly T[], n: number): T => values[n % values.length] as T;
const someApps = (n: number): string[] => APPS.filter((_, index) => (n >> index) % 2 === 1);
const revision = (): string => randomBytes(20).toString('hex');

/** Changes of a store; most of them affect some groups and not others. */
const CHANGES: Record<string, (store: Store, n: number) => Promise<unknown>> = {
  image: (store, n) => pass(store, [appStep(pick(APPS, n), app(`x:${n >> 2}`))], revision()),
  members: (store, n) => pass(store, [groupStep(pick(GROUPS, n), group(...someApps(n)))], revision()),
  drop: (store, n) => pass(store, [groupStep(pick(GROUPS, n), null)], revision()),
  'an empty commit': (store) => pass(store, [], revision()),
  restart: (store, n) => store.restartApp(pick(APPS, n), CONTEXT),
  prune: (store, n) => store.pruneGroup(pick(GROUPS, n), CONTEXT),
  // The record has a later id with other content, so the store drops the app that it has.
  'a seeding': (store, n) =>
    seed(store, {
      seeds: [{ kind: 'app', name: pick(APPS, n), last: n, floor: 0, hash: KNOWN }],
      idSequence: 0,
    }),
  're-create': async (store, n) => {
    const step = appStep(pick(APPS, n), app('x:0'));
    await pass(store, [{ ...step, after: null, origin: null }], revision());
    await pass(store, [step], revision());
  },
};

const step = fc.record({
  change: fc.constantFrom(...Object.keys(CHANGES)),
  n: fc.nat(15),
  wait: fc.constantFrom(0, 4000, LIFETIME),
  polled: fc.constantFrom(...GROUPS, null),
});

const text = (info: GroupInfo): string => JSON.stringify(infoRecord(info));

/** Expects the cache to serve what the store has. While the store lacks an app of the group, it has nothing to compare with. */
async function expectCurrent(store: Store, cache: InfoCache, name: string, change: string): Promise<void> {
  const current = await store.groupInfo(name).catch(() => 'unavailable' as const);
  if (current === 'unavailable') return;
  const reply = await cache.read(name);
  const served = reply && [reply.body.toString(), reply.revision, reply.etag.split(/[.-]/)[1]];
  const expected = current && [text(current), current.revision, String(current.idSequence)];
  expect(served, `${name} after ${change}`).toEqual(expected);
}

it('the cache serves no reply older than its lifetime, after any changes that are not announced to it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const store = calmStore(new ModelDatabase());
      const clock = { now: 0 };
      const follower = createFollower({
        store,
        shared: store,
        lifetime: LIFETIME,
        elapsed: () => clock.now,
        emit: (_, { keys }) => cache.invalidate(keys),
      });
      const cache = createInfoCache({
        store,
        follower,
        isOff: false,
        render: renderInfo,
        storeTimeout: () => new Promise(() => undefined),
      });
      await pass(store, [...APPS.map((name) => appStep(name, app('x:0'))), groupStep('edge', group('web'))]);
      for (const { change, n, wait, polled } of steps) {
        // Concurrently, so that a reply can be read before, during and after the change.
        await Promise.all([
          CHANGES[change]?.(store, n),
          polled === null ? null : cache.read(polled).catch(() => null),
        ]);
        clock.now += wait;
        if (wait < LIFETIME) continue;
        for (const name of GROUPS) await expectCurrent(store, cache, name, change);
      }
      await store.close();
    }),
    { numRuns: 100 },
  );
});
