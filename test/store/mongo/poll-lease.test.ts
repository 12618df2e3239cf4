import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseDocument } from '../../../src/store/mongo/documents.ts';
import { DocumentLease } from '../../../src/store/mongo/poll-lease.ts';
import type { PollLease } from '../../../src/store/poll-lease.ts';
import { drain, type Fate, type Mistake, ModelDatabase, ModelDocuments } from './model.ts';

/** What happens to a manager in one interval. */
type Event = 'well' | 'away' | 'asleep' | 'stop' | 'die';

interface Life {
  /** By manager and interval. */
  events: Event[][];
  fates: Fate[];
}

const RUNS = Number(process.env['HOLDFAST_TEST_RUNS'] ?? 400);
const INTERVAL = 1000;
/** Intervals in which nothing fails any more; the last ones are looked at. */
const QUIET = 7;
const LOOKED_AT = 2;
const MANAGERS = 3;

const anyEvent = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Event>('well') },
  { weight: 2, arbitrary: fc.constantFrom<Event>('away', 'asleep') },
  { weight: 1, arbitrary: fc.constantFrom<Event>('stop', 'die') },
);

const anyLife: fc.Arbitrary<Life> = fc.record({
  events: fc.array(fc.array(anyEvent, { minLength: 8, maxLength: 8 }), {
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

/** A manager as far as it looks at origin: the loop of `reconcile/origin-passes.ts`, without passes. */
class Asker {
  readonly lease: PollLease;
  readonly id: string;
  isAlive = true;
  hasFailed = false;
  /** The newest version that it ever wanted to replace. */
  swapped = -1;

  constructor(id: string, documents: ModelDocuments, elapsed: () => number) {
    this.id = id;
    const swapLease: ModelDocuments['swapLease'] = (version, next) => {
      this.swapped = Math.max(this.swapped, version);
      return documents.swapLease(version, next);
    };
    const told = { readLease: () => documents.readLease(), swapLease };
    this.lease = new DocumentLease({ documents: told, id, name: id, interval: INTERVAL, elapsed });
  }

  /** Whether it is gone for good: all that it ever asked for came to its end, and it does not hold the lease. */
  isGone({ version, holder }: LeaseDocument): boolean {
    return !this.isAlive && version > this.swapped && holder?.id !== this.id;
  }

  /** Whether it asked origin. */
  async live(event: Event): Promise<boolean> {
    if (!this.isAlive || event === 'asleep') return false;
    if (event === 'stop' || event === 'die') {
      this.isAlive = false;
      if (event === 'stop') await this.lease.release();
      return false;
    }
    if (!this.hasFailed && !(await this.lease.shouldPoll())) return false;
    this.hasFailed = event === 'away';
    await (this.hasFailed ? this.lease.release() : this.lease.renew());
    return true;
  }
}

class World {
  readonly database = new ModelDatabase();
  readonly askers: Asker[];
  readonly #scheduler: Scheduler;
  #now = 0;
  #fates: Fate[];

  constructor(scheduler: Scheduler, fates: readonly Fate[], mistake: Mistake | null) {
    this.#scheduler = scheduler;
    this.#fates = [...fates];
    const nextFate = (): Fate => this.#fates.shift() ?? 'ok';
    this.askers = Array.from({ length: MANAGERS }, (_, index) => {
      const documents = new ModelDocuments({ database: this.database, scheduler, nextFate, mistake });
      // No two machines agree on the time.
      return new Asker(`m${index}`, documents, () => this.#now + index * 1_000_000);
    });
  }

  get holder(): string | null {
    return this.database.primary.lease.holder?.id ?? null;
  }

  /** From now on every command does what it should, in its time. */
  calm(): void {
    this.#fates = [];
  }

  /** One interval; resolves to the managers that asked origin. */
  async interval(events: readonly Event[]): Promise<string[]> {
    const gone = this.askers.filter((asker) => asker.isGone(this.database.primary.lease));
    const turns = this.askers.map((asker, index) => asker.live(events[index] ?? 'well'));
    const asked = await this.#scheduler.waitFor(Promise.all(turns));
    this.#now += INTERVAL;
    for (const { id } of gone) expect(this.holder, 'a lease that was given up came back').not.toBe(id);
    return this.askers.filter((_, index) => asked[index]).map(({ id }) => id);
  }
}

function property(mistake: Mistake | null) {
  return fc.asyncProperty(fc.scheduler(), anyLife, async (scheduler, { events, fates }) => {
    const world = new World(scheduler, fates, mistake);
    let version = 0;
    for (let round = 0; round < 8; round += 1) {
      await world.interval(events.map((one) => one[round] ?? 'well'));
      expect(world.database.primary.lease.version).toBeGreaterThanOrEqual(version);
      ({ version } = world.database.primary.lease);
    }
    world.calm();
    await drain(scheduler);
    const asked: string[][] = [];
    for (let round = 0; round < QUIET; round += 1) asked.push(await world.interval([]));
    const living = world.askers.filter(({ isAlive }) => isAlive).map(({ id }) => id);
    for (const one of asked.slice(-LOOKED_AT)) expect(one).toEqual(living.length === 0 ? [] : [world.holder]);
    // One that stops leaves no gap: whoever looks next asks.
    await world.interval(world.askers.map(({ id }) => (id === world.holder ? 'stop' : 'well')));
    const others = world.askers.filter(({ isAlive }) => isAlive).length;
    expect((await world.interval([])).length).toBeGreaterThanOrEqual(Math.min(others, 1));
    expect(await world.interval([])).toHaveLength(Math.min(others, 1));
  });
}

describe('the lease of many managers, in any order of their commands, with any of them failing', () => {
  it('ends in the hands of one that lives, and nobody else asks; one that was given up stays so', async () => {
    await fc.assert(property(null), { numRuns: RUNS });
  }, 120_000);

  it.each<Mistake>(['unguarded lease'])(
    'would not, with this mistake: %s',
    async (mistake) => {
      const result = await fc.check(property(mistake), { numRuns: 20_000, endOnFailure: true, seed: 2 });
      expect(result.failed).toBe(true);
    },
    120_000,
  );
});

/** Two managers whose commands never fail and come one after the other. */
function calmManagers(intervalOfFirst = INTERVAL) {
  const database = new ModelDatabase();
  let now = 0;
  const scheduler = { schedule: (task: Promise<unknown>) => task } as unknown as Scheduler;
  const documents = new ModelDocuments({ database, scheduler, nextFate: () => 'ok', mistake: null });
  const lease = (name: string, interval: number): PollLease =>
    new DocumentLease({ documents, id: `id-${name}`, name, interval, elapsed: () => now });
  return {
    one: lease('m0', intervalOfFirst),
    two: lease('m1', INTERVAL),
    pass: (time: number): void => {
      now += time;
    },
  };
}

describe('the lease', () => {
  it('does not come back by a renewal that was under way when it was given up', async () => {
    const database = new ModelDatabase();
    const held: (() => void)[] = [];
    let isHeld = true;
    /** Holds up everything, so that the test says what happens when. */
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

  it('is free at first: each is to ask, and the first one that has news keeps the others from it', async () => {
    const { one, two } = calmManagers();
    expect([await one.shouldPoll(), await two.shouldPoll()]).toEqual([true, true]);
    await one.renew();
    await two.renew();
    expect([await one.shouldPoll(), await two.shouldPoll()]).toEqual([true, false]);
    expect(one.holder()).toEqual({ name: 'm0', isThisOne: true });
    expect(two.holder()).toEqual({ name: 'm0', isThisOne: false });
  });

  it('is told as it was seen last while the next look is under way, and of none after one that failed', async () => {
    const looks: (() => Promise<LeaseDocument>)[] = [];
    const holder = { id: 'other', name: 'm1', interval: INTERVAL };
    const documents = {
      readLease: () => looks.shift()?.() ?? Promise.reject(new Error('no look was expected')),
      swapLease: () => Promise.resolve(false),
    };
    const lease = new DocumentLease({
      documents,
      id: 'id',
      name: 'm0',
      interval: INTERVAL,
      elapsed: () => 0,
    });
    looks.push(() => Promise.resolve({ _id: 'poll', version: 1, holder }));
    await lease.shouldPoll();
    let fail: (error: Error) => void = () => undefined;
    looks.push(() => new Promise((_, reject) => (fail = reject)));
    const look = lease.shouldPoll();
    expect(lease.holder()).toEqual({ name: 'm1', isThisOne: false });
    fail(new Error('the database is away'));
    await look;
    expect(lease.holder()).toBeNull();
  });

  it('is taken after three intervals without a renewal, and not before', async () => {
    const { one, two, pass } = calmManagers();
    await one.renew();
    expect(await two.shouldPoll()).toBe(false);
    pass(2 * INTERVAL);
    await one.renew();
    pass(INTERVAL);
    expect(await two.shouldPoll()).toBe(false);
    pass(3 * INTERVAL - 1);
    expect(await two.shouldPoll()).toBe(false);
    pass(1);
    expect(await two.shouldPoll()).toBe(true);
    await two.renew();
    expect(await one.shouldPoll()).toBe(false);
  });

  it('is not taken from one that asks less often than another would', async () => {
    const { one: slow, two: quick, pass } = calmManagers(60 * INTERVAL);
    await slow.renew();
    expect(await quick.shouldPoll()).toBe(false);
    pass(179 * INTERVAL);
    expect(await quick.shouldPoll()).toBe(false);
    pass(INTERVAL);
    expect(await quick.shouldPoll()).toBe(true);
  });

  it('is free at once when it is given up; nobody gives up that of another', async () => {
    const { one, two } = calmManagers();
    await one.renew();
    await two.release();
    expect(await two.shouldPoll()).toBe(false);
    await two.release();
    expect(await two.shouldPoll()).toBe(false);
    await one.release();
    expect(await two.shouldPoll()).toBe(true);
    expect(two.holder()).toBeNull();
  });
});
