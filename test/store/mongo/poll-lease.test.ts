import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseDocument } from '../../../src/store/mongo/documents.ts';
import { DocumentLease } from '../../../src/store/mongo/poll-lease.ts';
import type { PollLease } from '../../../src/store/poll-lease.ts';
import { drain, type Fate, type Mistake, ModelDatabase, ModelDocuments } from './model.ts';

/**
 * What a manager does in one interval: `poll` (its turn of the loop, in which origin answers), `fail` (the same, but origin
 * cannot be reached), `sleep` (nothing), `stop` (gives up the lease and ends) or `die` (ends at once).
 */
type Event = 'poll' | 'fail' | 'sleep' | 'stop' | 'die';

/** A random run of the model. */
interface Run {
  /** By manager and interval. */
  events: Event[][];
  fates: Fate[];
}

const RUNS = Number(process.env['HOLDFAST_TEST_RUNS'] ?? 400);
/** Milliseconds between two polls of a manager. */
const INTERVAL = 1000;
/** Intervals with random events; after them no command fails any more. */
const EVENTFUL = 8;
/** Intervals without faults, which are enough for the lease to settle; the last `CHECKED` of them are checked. */
const QUIET = 7;
const CHECKED = 2;
const MANAGERS = 3;

const anyEvent = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Event>('poll') },
  { weight: 2, arbitrary: fc.constantFrom<Event>('fail', 'sleep') },
  { weight: 1, arbitrary: fc.constantFrom<Event>('stop', 'die') },
);

const anyRun: fc.Arbitrary<Run> = fc.record({
  events: fc.array(fc.array(anyEvent, { minLength: EVENTFUL, maxLength: EVENTFUL }), {
    minLength: MANAGERS,
    maxLength: MANAGERS,
  }),
  fates: fc.array(
    fc.oneof(
      { weight: 10, arbitrary: fc.constant<Fate>('ok') },
      { weight: 1, arbitrary: fc.constantFrom<Fate>('before', 'after', 'late', 'late') },
    ),
    { maxLength: 60, size: 'max' },
  ),
});

/** What a manager does with the lease: the scheduled polls of `reconcile/origin-passes.ts`, without passes. */
class Poller {
  readonly lease: PollLease;
  readonly id: string;
  isAlive = true;
  hasFailed = false;
  /** The newest version of the lease that it has tried to replace. */
  #swapped = -1;

  constructor(id: string, documents: ModelDocuments, elapsed: () => number) {
    this.id = id;
    const swapLease: ModelDocuments['swapLease'] = (version, next) => {
      this.#swapped = Math.max(this.#swapped, version);
      return documents.swapLease(version, next);
    };
    const observed = { readLease: () => documents.readLease(), swapLease };
    this.lease = new DocumentLease({ documents: observed, id, name: id, interval: INTERVAL, elapsed });
  }

  /** Whether it can never hold the lease again: it has ended, and none of its swaps can still succeed. */
  isGone({ version, holder }: LeaseDocument): boolean {
    return !this.isAlive && version > this.#swapped && holder?.id !== this.id;
  }

  /** Carries out one event; resolves to whether it polled origin. */
  async act(event: Event): Promise<boolean> {
    if (!this.isAlive || event === 'sleep') return false;
    if (event === 'stop' || event === 'die') {
      this.isAlive = false;
      if (event === 'stop') await this.lease.release();
      return false;
    }
    if (!this.hasFailed && !(await this.lease.shouldPoll())) return false;
    this.hasFailed = event === 'fail';
    await (this.hasFailed ? this.lease.release() : this.lease.renew());
    return true;
  }
}

/** Several managers on one database whose commands run in the order of a scheduler. */
class World {
  readonly database = new ModelDatabase();
  readonly pollers: Poller[];
  readonly #scheduler: Scheduler;
  #now = 0;
  #fates: Fate[];

  constructor(scheduler: Scheduler, fates: readonly Fate[], mistake: Mistake | null) {
    this.#scheduler = scheduler;
    this.#fates = [...fates];
    const nextFate = (): Fate => this.#fates.shift() ?? 'ok';
    this.pollers = Array.from({ length: MANAGERS }, (_, index) => {
      const documents = new ModelDocuments({ database: this.database, scheduler, nextFate, mistake });
      // The clocks of no two machines agree.
      return new Poller(`m${index}`, documents, () => this.#now + index * 1_000_000);
    });
  }

  get holder(): string | null {
    return this.database.primary.lease.holder?.id ?? null;
  }

  /** From now on every command succeeds. */
  endFaults(): void {
    this.#fates = [];
  }

  /** Runs one interval; resolves to the ids of the managers that polled origin. */
  async interval(events: readonly Event[]): Promise<string[]> {
    const gone = this.pollers.filter((poller) => poller.isGone(this.database.primary.lease));
    const acts = this.pollers.map((poller, index) => poller.act(events[index] ?? 'poll'));
    const polled = await this.#scheduler.waitFor(Promise.all(acts));
    this.#now += INTERVAL;
    for (const { id } of gone) expect(this.holder, 'a lease that was given up came back').not.toBe(id);
    return this.pollers.filter((_, index) => polled[index]).map(({ id }) => id);
  }
}

function property(mistake: Mistake | null) {
  return fc.asyncProperty(fc.scheduler(), anyRun, async (scheduler, { events, fates }) => {
    const world = new World(scheduler, fates, mistake);
    let version = 0;
    for (let round = 0; round < EVENTFUL; round += 1) {
      await world.interval(events.map((ofManager) => ofManager[round] ?? 'poll'));
      expect(world.database.primary.lease.version).toBeGreaterThanOrEqual(version);
      ({ version } = world.database.primary.lease);
    }
    world.endFaults();
    await drain(scheduler);
    const polled: string[][] = [];
    for (let round = 0; round < QUIET; round += 1) polled.push(await world.interval([]));
    const isAnyAlive = world.pollers.some(({ isAlive }) => isAlive);
    for (const ids of polled.slice(-CHECKED)) expect(ids).toEqual(isAnyAlive ? [world.holder] : []);
    // A holder that stops leaves no gap: another manager polls in the next interval.
    await world.interval(world.pollers.map(({ id }) => (id === world.holder ? 'stop' : 'poll')));
    const others = world.pollers.filter(({ isAlive }) => isAlive).length;
    expect((await world.interval([])).length).toBeGreaterThanOrEqual(Math.min(others, 1));
    expect(await world.interval([])).toHaveLength(Math.min(others, 1));
  });
}

describe('the lease of several managers whose commands run in any order and can fail', { retry: 0 }, () => {
  it('ends up with a running manager, which alone polls; a lease that was given up does not come back', async () => {
    await fc.assert(property(null), { numRuns: RUNS });
  }, 120_000);

  it('breaks these rules if its swaps are not guarded by the version', async () => {
    const runs = { numRuns: 20_000, endOnFailure: true, seed: 2 };
    const result = await fc.check(property('unguarded lease'), runs);
    expect(result.failed).toBe(true);
  }, 120_000);
});

/** The leases of two managers, `m0` and `m1`, whose commands never fail and run one after another; `wait` moves the clock. */
function twoLeases(intervalOfFirst = INTERVAL) {
  const database = new ModelDatabase();
  let now = 0;
  const scheduler = { schedule: (task: Promise<unknown>) => task } as unknown as Scheduler;
  const documents = new ModelDocuments({ database, scheduler, nextFate: () => 'ok', mistake: null });
  const lease = (name: string, interval: number): PollLease =>
    new DocumentLease({ documents, id: `id-${name}`, name, interval, elapsed: () => now });
  return {
    first: lease('m0', intervalOfFirst),
    second: lease('m1', INTERVAL),
    wait: (milliseconds: number): void => {
      now += milliseconds;
    },
  };
}

describe('DocumentLease', () => {
  it('stays given up if a renewal from before arrives afterwards', async () => {
    const database = new ModelDatabase();
    const held: (() => void)[] = [];
    let isHeld = true;
    // A late command waits until the test releases it.
    const schedule = (task: Promise<unknown>, label?: string) =>
      label === 'late' && isHeld ? new Promise((resolve) => held.push(() => resolve(task))) : task;
    const fates: Fate[] = ['ok', 'late'];
    const documents = new ModelDocuments({
      database,
      scheduler: { schedule } as unknown as Scheduler,
      nextFate: () => fates.shift() ?? 'ok',
      mistake: null,
    });
    const lease = new DocumentLease({ documents, id: 'id', name: 'm', interval: INTERVAL, elapsed: () => 0 });
    await lease.renew();
    await lease.release();
    isHeld = false;
    for (const release of held) release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(database.primary.lease.holder).toBeNull();
  });

  it('is free at first, so that every manager polls, and belongs to the first manager that renews it', async () => {
    const { first, second } = twoLeases();
    expect([await first.shouldPoll(), await second.shouldPoll()]).toEqual([true, true]);
    await first.renew();
    await second.renew();
    expect([await first.shouldPoll(), await second.shouldPoll()]).toEqual([true, false]);
    expect(first.holder()).toEqual({ name: 'm0', isThisOne: true });
    expect(second.holder()).toEqual({ name: 'm0', isThisOne: false });
  });

  it('reports the holder of the last read during the next read, and none from a failed read until the next good one', async () => {
    const reads: (() => Promise<LeaseDocument>)[] = [];
    const holder = { id: 'other', name: 'm1', interval: INTERVAL };
    const documents = {
      readLease: () => reads.shift()?.() ?? Promise.reject(new Error('no read was expected')),
      swapLease: () => Promise.resolve(false),
    };
    const lease = new DocumentLease({
      documents,
      id: 'id',
      name: 'm0',
      interval: INTERVAL,
      elapsed: () => 0,
    });
    reads.push(() => Promise.resolve({ _id: 'poll', version: 1, holder }));
    await lease.shouldPoll();
    let fail: (error: Error) => void = () => undefined;
    reads.push(() => new Promise((_, reject) => (fail = reject)));
    const read = lease.shouldPoll();
    expect(lease.holder()).toEqual({ name: 'm1', isThisOne: false });
    fail(new Error('the database is away'));
    await read;
    expect(lease.holder()).toBeNull();
    reads.push(() => Promise.resolve({ _id: 'poll', version: 1, holder }));
    await lease.shouldPoll();
    expect(lease.holder()).toEqual({ name: 'm1', isThisOne: false });
  });

  it('can be taken after three intervals without a renewal, and not before; then only the new holder can give it up', async () => {
    const { first, second, wait } = twoLeases();
    await first.renew();
    expect(await second.shouldPoll()).toBe(false);
    wait(2 * INTERVAL);
    await first.renew();
    wait(INTERVAL);
    expect(await second.shouldPoll()).toBe(false);
    wait(3 * INTERVAL - 1);
    expect(await second.shouldPoll()).toBe(false);
    wait(1);
    expect(await second.shouldPoll()).toBe(true);
    await second.renew();
    expect(await first.shouldPoll()).toBe(false);
    await first.release();
    expect(await first.shouldPoll()).toBe(false);
  });

  it('waits three of the holder’s own intervals if the holder polls less often', async () => {
    const { first: slow, second: quick, wait } = twoLeases(60 * INTERVAL);
    await slow.renew();
    expect(await quick.shouldPoll()).toBe(false);
    wait(179 * INTERVAL);
    expect(await quick.shouldPoll()).toBe(false);
    wait(INTERVAL);
    expect(await quick.shouldPoll()).toBe(true);
  });

  it('is free as soon as its holder releases it, and not if another manager does', async () => {
    const { first, second } = twoLeases();
    await first.renew();
    await second.release();
    expect(await second.shouldPoll()).toBe(false);
    await second.release();
    expect(await second.shouldPoll()).toBe(false);
    await first.release();
    expect(await second.shouldPoll()).toBe(true);
    expect(second.holder()).toBeNull();
  });

  it('is given up in at most three attempts, and with none by a manager that cannot hold it', async () => {
    let reads = 0;
    const documents = {
      readLease: () => {
        reads += 1;
        return Promise.resolve<LeaseDocument>({ _id: 'poll', version: reads, holder });
      },
      swapLease: () => Promise.resolve(false),
    };
    const lease = new DocumentLease({ documents, id: 'a', name: 'm0', interval: INTERVAL, elapsed: () => 0 });
    let holder: LeaseDocument['holder'] = { id: 'b', name: 'm1', interval: INTERVAL };
    await lease.shouldPoll();
    await lease.release();
    expect(reads).toBe(1);
    holder = { id: 'a', name: 'm0', interval: INTERVAL };
    await lease.shouldPoll();
    await lease.release();
    expect(reads).toBe(5);
  });
});
