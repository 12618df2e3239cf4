import { expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { createOriginWatch } from '../../src/reconcile/origin-watch.ts';

/** Watches an origin that cannot be reached while `isDown`. */
function watchOrigin() {
  const situation = { isDown: false };
  const origin = {
    refresh: async () => {
      if (situation.isDown) throw new HoldfastError('unavailable', 'origin is unreachable');
    },
    find: async () => null,
    interrupt: () => undefined,
    abandon: () => undefined,
    abandonRecord: () => undefined,
  };
  return { situation, watch: createOriginWatch({ origin, now: () => 5, random: () => 0 }) };
}

it('an origin that a pass fetches from counts as reached', async () => {
  const { watch } = watchOrigin();
  await watch.origin?.refresh();
  expect(watch.status()?.reachedAt).toBe(5);
});

it('a poll that fails is reported until origin is reached again', async () => {
  const { situation, watch } = watchOrigin();
  situation.isDown = true;
  await watch.refresh();
  await watch.refresh();
  expect(watch.status()).toMatchObject({ reachedAt: null, error: { kind: 'unavailable', failures: 2 } });
  situation.isDown = false;
  await watch.refresh();
  expect(watch.status()).toMatchObject({ reachedAt: 5, error: null });
});
