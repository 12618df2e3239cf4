import { describe, expect, it } from 'vitest';
import { asHoldfastError, type ErrorKind, HoldfastError } from '../../src/errors.ts';
import { createOriginPasses } from '../../src/reconcile/origin-passes.ts';
import { createOriginWatch } from '../../src/reconcile/origin-watch.ts';
import type { PassOutcome } from '../../src/reconcile/pass/pass.ts';
import type { PollLease } from '../../src/store/poll-lease.ts';

/** The calls that were made, in their order, and how the next ones end. */
interface Situation {
  calls: string[];
  /** Whether this manager may poll. */
  holdsLease: boolean;
  isOriginDown: boolean;
  /** The kind of the error of the next pass; null if it succeeds. */
  passError: ErrorKind | null;
}

function passesIn(situation: Situation) {
  const lease: PollLease = {
    shouldPoll: async () => situation.holdsLease,
    renew: async () => void situation.calls.push('renew'),
    release: async () => void situation.calls.push('release'),
    holder: () => ({ name: 'm', isThisOne: situation.holdsLease }),
  };
  const origin = {
    refresh: async () => {
      situation.calls.push('refresh');
      if (situation.isOriginDown) throw new HoldfastError('unavailable', 'origin is unreachable');
    },
    find: async () => null,
    interrupt: () => undefined,
    abandon: () => undefined,
    abandonRecord: () => undefined,
  };
  const watch = createOriginWatch({ origin, lease, pollInterval: 1000, now: () => 5, random: () => 0 });
  const pass = async (): Promise<PassOutcome> => {
    situation.calls.push('pass');
    const error =
      situation.passError === null ? null : asHoldfastError(new HoldfastError(situation.passError, 'failed'));
    return error === null ? ({ ok: true } as PassOutcome) : { ok: false, error };
  };
  return { watch, passes: createOriginPasses(watch, pass, () => false) };
}

function newSituation(changes: Partial<Situation> = {}): Situation {
  return { calls: [], holdsLease: true, isOriginDown: false, passError: null, ...changes };
}

describe('a scheduled pass', () => {
  it('polls origin and renews the lease if this manager holds it', async () => {
    const situation = newSituation();
    const { passes, watch } = passesIn(situation);
    await passes.runScheduled();
    expect(situation.calls).toEqual(['refresh', 'pass', 'renew']);
    expect(watch.polling()).toEqual({ isOurs: true, by: 'm' });
  });

  it('does not poll origin while another manager holds the lease, and does not report origin as reached', async () => {
    const situation = newSituation({ holdsLease: false });
    const { passes, watch } = passesIn(situation);
    await passes.runScheduled();
    expect(situation.calls).toEqual(['pass']);
    expect(watch.status()).toMatchObject({ reachedAt: null, error: null });
    expect(watch.polledAt()).toBe(5);
    expect(watch.polling()).toEqual({ isOurs: false, by: 'm' });
  });

  it('polls origin without the lease after a failure, until origin is reached', async () => {
    const situation = newSituation({ isOriginDown: true });
    const { passes, watch } = passesIn(situation);
    await passes.runScheduled();
    Object.assign(situation, { holdsLease: false });
    await passes.runScheduled();
    situation.isOriginDown = false;
    await passes.runScheduled();
    await passes.runScheduled();
    const failed = ['refresh', 'pass', 'release'];
    expect(situation.calls).toEqual([...failed, ...failed, 'refresh', 'pass', 'renew', 'pass']);
    expect(watch.status()?.error).toBeNull();
  });

  it.each([
    ['refused', 'renew'],
    ['unavailable', 'release'],
    ['internal', 'release'],
  ] as const)('that fails as %s makes the manager %s the lease', async (kind, call) => {
    const situation = newSituation({ passError: kind });
    await passesIn(situation).passes.runScheduled();
    expect(situation.calls).toEqual(['refresh', 'pass', call]);
  });
});

it('a requested pass polls origin even if another manager holds the lease', async () => {
  const situation = newSituation({ holdsLease: false });
  await passesIn(situation).passes.request();
  expect(situation.calls).toEqual(['refresh', 'pass', 'renew']);
});

it('an origin that a pass fetches from counts as reached', async () => {
  const situation = newSituation();
  const { watch } = passesIn(situation);
  await watch.origin?.refresh();
  expect(watch.status()?.reachedAt).toBe(5);
});
