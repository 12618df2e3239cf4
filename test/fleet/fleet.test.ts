import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAsks } from '../../src/fleet/asks.ts';
import { countDevices } from '../../src/fleet/counts.ts';
import { createFleet, type Fleet } from '../../src/fleet/fleet.ts';
import type { Poll } from '../../src/fleet/hear.ts';
import { judge } from '../../src/fleet/state.ts';
import { appDefaults } from '../../src/protocol/app.ts';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import { temporaryFolder } from '../support/folder.ts';

const SECOND = 1000;
const START = 1_800_000_000_000;
const REPORT = {
  hostname: 'pos-1',
  device_group: 'edge',
  report_creation_time: 1,
  worker: { version: '1.2.0' },
};

/** A fleet over a store of its own, whose time passes as `wait` says. */
class Story {
  now = START;
  isStoreFull = false;
  #elapsed = 0;
  #fleet: Fleet | null = null;
  #store: Awaited<ReturnType<typeof openSqliteStore>> | null = null;
  readonly #path: string;
  readonly #silentAfter: number;
  readonly #mostDevices: number;

  constructor(path: string, { silentAfter = 600, mostDevices = 100 } = {}) {
    this.#path = path;
    this.#silentAfter = silentAfter * SECOND;
    this.#mostDevices = mostDevices;
  }

  get fleet(): Fleet {
    if (this.#fleet === null) throw new Error('it has not started');
    return this.#fleet;
  }

  async start(): Promise<this> {
    this.#store ??= await openSqliteStore({
      path: this.#path,
      defaults: appDefaults([]),
      random: randomBytes,
    });
    const { devices } = this.#store;
    this.#fleet = createFleet({
      store: {
        ...devices,
        put: (slots, at) =>
          this.isStoreFull ? Promise.reject(new Error('the disk is full')) : devices.put(slots, at),
      },
      asks: createAsks({ store: this.#store.asks, newId: () => '', now: () => this.now }),
      silentAfter: this.#silentAfter,
      goneAfter: 604_800 * SECOND,
      keeps: 'all',
      mostDevices: this.#mostDevices,
      now: () => this.now,
      elapsed: () => this.#elapsed,
      onFailure: (error) => {
        if (!this.isStoreFull) throw error;
      },
      onRecovered: () => undefined,
    });
    this.#fleet.start();
    await this.#fleet.known();
    return this;
  }

  /** Lets time pass, in which these devices poll every ten seconds. */
  async wait(seconds: number, ...polling: string[]): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      if (second % 10 === 0) for (const device of polling) this.poll({ device });
      this.now += SECOND;
      this.#elapsed += SECOND;
      await vi.advanceTimersByTimeAsync(SECOND);
      for (let turn = 0; turn < 4; turn++) await setImmediate();
    }
  }

  poll(more: Partial<Poll>): readonly string[] {
    const usual = { access: 'shared' as const, group: 'edge', ifNoneMatch: undefined, instance: undefined };
    return this.fleet.onPoll({ device: 'pos-1', etag: '"abcd.9-now"', ...usual, ...more });
  }

  /** Ends the manager; without a word if it is killed. */
  async end(isKilled: boolean): Promise<void> {
    if (isKilled) vi.clearAllTimers();
    else await this.fleet.close();
  }

  async silent(): Promise<string[]> {
    const { slots, standard } = await this.fleet.known();
    const judged = Array.from(slots.values(), (slot) => judge(slot, standard));
    return judged.filter(({ state }) => state === 'silent').map(({ slot }) => slot.name);
  }

  async close(): Promise<void> {
    await this.end(false);
    await this.#store?.close();
  }
}

async function story(options?: { silentAfter?: number; mostDevices?: number }): Promise<Story> {
  const path = join(await temporaryFolder(onTestFinished), 'store.db');
  const started = await new Story(path, options).start();
  onTestFinished(() => started.close());
  return started;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the fleet after a pause of the manager', () => {
  it.each([
    [600, true],
    [600, false],
    [60, true],
    [30, true],
  ])(
    'of DEVICE_SILENT_AFTER=%d: what was silent stays so, nobody else is; killed: %s',
    async (silentAfter, isKilled) => {
      const told = await story({ silentAfter });
      told.poll({ device: 'dead' });
      await told.wait(silentAfter + 70, 'here', 'leaving');
      told.poll({ device: 'leaving' });
      await told.wait(Math.floor(silentAfter * 0.9), 'here');
      expect(await told.silent()).toEqual(['dead']);
      await told.end(isKilled);
      told.now += 3600 * SECOND;
      await told.start();
      expect(await told.silent()).toEqual(['dead']);
      await told.wait(silentAfter + 2, 'here');
      expect((await told.silent()).sort()).toEqual(['dead', 'leaving']);
    },
  );

  it.each([3600, -3600])('and of a clock that jumps by %d seconds', async (jump) => {
    const told = await story();
    told.poll({ device: 'dead' });
    await told.wait(700, 'here');
    told.now += jump * SECOND;
    expect(await told.silent()).toEqual(['dead']);
    await told.wait(60, 'here');
    expect(await told.silent()).toEqual(['dead']);
    await told.wait(602);
    expect((await told.silent()).sort()).toEqual(['dead', 'here']);
  });

  it('and of a clock that was set back while it was down', async () => {
    const told = await story();
    told.poll({ device: 'dead' });
    await told.wait(700, 'here');
    await told.end(false);
    told.now -= 86_400 * SECOND;
    await told.start();
    expect(await told.silent()).toEqual(['dead']);
    await told.wait(603);
    expect((await told.silent()).sort()).toEqual(['dead', 'here']);
  });

  it('in which nobody gave up a name: the one that came later is still told so', async () => {
    const told = await story();
    told.poll({ instance: 'aaaaaaaa' });
    await told.end(false);
    told.now += 3600 * SECOND;
    await told.start();
    expect(told.poll({ instance: 'bbbbbbbb' })).toEqual(['holdfast-conflict', 'aaaaaaaa']);
    await told.wait(91);
    expect(told.poll({ instance: 'bbbbbbbb' })).toEqual([]);
  });
});

describe('the names that a fleet remembers', () => {
  it('are those heard last, also after a restart', async () => {
    const told = await story({ mostDevices: 3 });
    for (const device of ['c', 'b', 'a']) {
      told.poll({ device });
      await told.wait(2);
    }
    await told.end(false);
    await told.start();
    told.poll({ device: 'd' });
    expect([...(await told.fleet.known()).slots.keys()].sort()).toEqual(['a', 'b', 'd']);
  });

  it('take no memory for headers that no worker sends', async () => {
    const told = await story({ mostDevices: 3 });
    const long = 'x'.repeat(10_000);
    told.poll({ device: 'a', ifNoneMatch: `"${long}"`, instance: long });
    told.poll({ device: 'b', group: 'lab', ifNoneMatch: `"${long}", "abcd.3-a"` });
    told.poll({ device: 'b', ifNoneMatch: `"${long}", "abcd.3-a"` });
    const { slots } = await told.fleet.known();
    expect([...slots.keys()]).toEqual(['a', 'b']);
    expect(JSON.stringify([...slots.values()]).length).toBeLessThan(1000);
  });

  it('count as groups of their own only if polls show that those exist', async () => {
    const told = await story();
    told.poll({ device: 'polls', group: 'was-there' });
    told.fleet.onReport({ ...REPORT, hostname: 'reports', device_group: 'invented' });
    told.fleet.onReport({ ...REPORT, hostname: 'hostile', device_group: 'x'.repeat(5000) });
    const { groups, totals } = countDevices(await told.fleet.known(), new Map());
    expect(groups.map(({ group }) => group)).toEqual(['was-there']);
    expect(totals.devices).toBe(2);
  });
});

describe('a report of ten thousand failing apps', () => {
  it('takes a few kilobytes in memory, and is told from another one', async () => {
    const told = await story();
    const apps = Array.from({ length: 10_000 }, (_, index) => ({
      name: `app-${index}`,
      state: 'failing',
      error: { code: 'crashed', text: 'x'.repeat(500) },
    }));
    const digests: unknown[] = [];
    for (const list of [apps, apps, apps.slice(1)]) {
      told.fleet.onReport({ ...REPORT, apps: list });
      const { slots } = await told.fleet.known();
      const { report } = slots.get('pos-1') ?? {};
      expect(report?.failed).toHaveLength(20);
      expect(JSON.stringify(report).length).toBeLessThan(10_000);
      digests.push(report?.digest);
    }
    expect(digests[1]).toBe(digests[0]);
    expect(digests[2]).not.toBe(digests[0]);
  });
});

describe('reports while nothing can be written', () => {
  it('are remembered of some devices alone, and of all once that is over', async () => {
    const told = await story({ mostDevices: 10_000 });
    const names = Array.from({ length: 3000 }, (_, index) => `pos-${index}`);
    const remembered = async (): Promise<number> => {
      const reports = await Promise.all(
        names.map((hostname) => {
          told.fleet.onReport({ ...REPORT, hostname });
          return told.fleet.latestReport(hostname);
        }),
      );
      return reports.filter((report) => report !== null).length;
    };
    told.isStoreFull = true;
    told.poll({});
    await told.wait(1);
    expect(await remembered()).toBe(2000);
    told.isStoreFull = false;
    await told.wait(20);
    expect(await remembered()).toBe(3000);
  });
});
