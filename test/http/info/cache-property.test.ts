import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { appDefaults } from '../../../src/desired/app.ts';
import { createInfoCache, type InfoCache } from '../../../src/http/info/cache.ts';
import { renderInfo } from '../../../src/http/info/render.ts';
import { infoRecord } from '../../../src/http/records.ts';
import { contentHash } from '../../../src/store/content-hash.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import type { GroupInfo, Store } from '../../../src/store/store.ts';
import { app, appStep, CONTEXT, group, groupStep, pass, seed } from '../../store/contract/support.ts';
import { temporaryFolder } from '../../support/folder.ts';

const LIFETIME = 10_000;
const GROUPS = ['edge', 'hall', 'lab'];
const APPS = ['web', 'db', 'cache'];

const KNOWN = contentHash('app', app('x:0'));

const pick = <T>(values: readonly T[], n: number): T => values[n % values.length] as T;
const someApps = (n: number): string[] => APPS.filter((_, index) => (n >> index) % 2 === 1);
const revision = (): string => randomBytes(20).toString('hex');

/** What can happen to a store; most of it is a change for some devices and none for others. */
const ACTS: Record<string, (store: Store, n: number) => Promise<unknown>> = {
  image: (store, n) => pass(store, [appStep(pick(APPS, n), app(`x:${n >> 2}`))], revision()),
  members: (store, n) => pass(store, [groupStep(pick(GROUPS, n), group(...someApps(n)))], revision()),
  drop: (store, n) => pass(store, [groupStep(pick(GROUPS, n), null)], revision()),
  'a commit of nothing': (store) => pass(store, [], revision()),
  restart: (store, n) => store.restartApp(pick(APPS, n), CONTEXT),
  prune: (store, n) => store.pruneGroup(pick(GROUPS, n), CONTEXT),
  // The record knows of a later id, and of the content that has it; the store drops what it has instead.
  'a seeding': (store, n) =>
    seed(store, {
      seeds: [{ kind: 'app', name: pick(APPS, n), last: n, floor: 0, hash: KNOWN }],
      idSequence: 0,
    }),
  'an app made again': async (store, n) => {
    const step = appStep(pick(APPS, n), app('x:0'));
    await pass(store, [{ ...step, after: null, origin: null }], revision());
    await pass(store, [step], revision());
  },
};

const step = fc.record({
  act: fc.constantFrom(...Object.keys(ACTS)),
  n: fc.nat(15),
  wait: fc.constantFrom(0, 4000, LIFETIME),
  polled: fc.constantFrom(...GROUPS, null),
});

const text = (info: GroupInfo): string => JSON.stringify(infoRecord(info));

/** While the store has dropped an app, the last good reply is given, and nobody can say what is true. */
async function expectTruth(store: Store, cache: InfoCache, name: string, act: string): Promise<void> {
  const truth = await store.groupInfo(name).catch(() => 'unknown' as const);
  if (truth === 'unknown') return;
  const reply = await cache.read(name);
  const served = reply && [reply.body.toString(), reply.revision];
  expect(served, `${name} after ${act}`).toEqual(truth && [text(truth), truth.revision]);
}

it('serves no reply that is older than it may be, whatever happened to the store untold', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const path = join(await temporaryFolder(), 'store.sqlite');
      const store = await openSqliteStore({ path, defaults: appDefaults(['nebula']), random: randomBytes });
      const clock = { now: 0 };
      const cache = createInfoCache({
        store,
        render: renderInfo,
        lifetime: LIFETIME,
        elapsed: () => clock.now,
        storeTimeout: () => new Promise(() => undefined),
      });
      await pass(store, [...APPS.map((name) => appStep(name, app('x:0'))), groupStep('edge', group('web'))]);
      for (const { act, n, wait, polled } of steps) {
        // At once: a reply can be made before, amid and after the change.
        await Promise.all([
          ACTS[act]?.(store, n),
          polled === null ? null : cache.read(polled).catch(() => null),
        ]);
        clock.now += wait;
        if (wait < LIFETIME) continue;
        for (const name of GROUPS) await expectTruth(store, cache, name, act);
      }
      await store.close();
    }),
    { numRuns: 100 },
  );
});
