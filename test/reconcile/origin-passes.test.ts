import { describe, expect, it } from 'vitest';
import { type ErrorKind, HoldfastError } from '../../src/errors.ts';
import { createOriginPasses } from '../../src/reconcile/origin-passes.ts';
import { createOriginWatch } from '../../src/reconcile/origin-watch.ts';
import type { PassOutcome } from '../../src/reconcile/pass/pass.ts';
import type { PollLease } from '../../src/store/poll-lease.ts';

/** What happened, in its order; and what is to happen next. */
interface World {
  told: string[];
  isOurTurn: boolean;
  isOriginAway: boolean;
  passFails: ErrorKind | null;
}

function passesIn(world: World) {
  const lease: PollLease = {
    shouldPoll: async () => world.isOurTurn,
    renew: async () => void world.told.push('keep'),
    release: async () => void world.told.push('give up'),
    holder: () => ({ name: 'm', isThisOne: world.isOurTurn }),
  };
  const origin = {
    refresh: async () => {
      world.told.push('ask');
      if (world.isOriginAway) throw new HoldfastError('unavailable', 'away');
    },
    interrupt: () => undefined,
    abandon: () => undefined,
    abandonRecord: () => undefined,
  };
  const watch = createOriginWatch({ origin, lease, pollInterval: 1000, now: () => 5, random: () => 0 });
  const pass = async (): Promise<PassOutcome> => {
    world.told.push('pass');
    const error = world.passFails === null ? null : new HoldfastError(world.passFails, 'failed');
    return error === null ? ({ ok: true } as PassOutcome) : { ok: false, error };
  };
  return { watch, passes: createOriginPasses(watch, pass, () => false) };
}

function newWorld(changes: Partial<World> = {}): World {
  return { told: [], isOurTurn: true, isOriginAway: false, passFails: null, ...changes };
}

describe('a look by the clock', () => {
  it('asks origin where it is this manager’s turn, and keeps the lease', async () => {
    const world = newWorld();
    const { passes, watch } = passesIn(world);
    await passes.runScheduled();
    expect(world.told).toEqual(['ask', 'pass', 'keep']);
    expect(watch.polling()).toEqual({ isOurs: true, by: 'm' });
  });

  it('looks at the store alone where another manager asks, and does not say that it reached origin', async () => {
    const world = newWorld({ isOurTurn: false });
    const { passes, watch } = passesIn(world);
    await passes.runScheduled();
    expect(world.told).toEqual(['pass']);
    expect(watch.status()).toMatchObject({ reachedAt: null, error: null });
    expect(watch.polledAt()).toBe(5);
    expect(watch.polling()).toEqual({ isOurs: false, by: 'm' });
  });

  it('goes on asking after origin was not reached, until it is', async () => {
    const world = newWorld({ isOriginAway: true });
    const { passes, watch } = passesIn(world);
    await passes.runScheduled();
    Object.assign(world, { isOurTurn: false });
    await passes.runScheduled();
    world.isOriginAway = false;
    await passes.runScheduled();
    await passes.runScheduled();
    const failed = ['ask', 'pass', 'give up'];
    expect(world.told).toEqual([...failed, ...failed, 'ask', 'pass', 'keep', 'pass']);
    expect(watch.status()?.error).toBeNull();
  });

  it.each([
    ['refused', 'keep'],
    ['unavailable', 'give up'],
    ['internal', 'give up'],
  ] as const)('whose pass fails as %s makes the manager %s the lease', async (kind, act) => {
    const world = newWorld({ passFails: kind });
    await passesIn(world).passes.runScheduled();
    expect(world.told).toEqual(['ask', 'pass', act]);
  });
});

it('any other look asks origin, whoever holds the lease', async () => {
  const world = newWorld({ isOurTurn: false });
  await passesIn(world).passes.request();
  expect(world.told).toEqual(['ask', 'pass', 'keep']);
});

it('an origin that a pass asked by itself counts as reached', async () => {
  const world = newWorld();
  const { watch } = passesIn(world);
  await watch.origin?.refresh();
  expect(watch.status()?.reachedAt).toBe(5);
});
