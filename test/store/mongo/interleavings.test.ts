import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kindOf } from '../../../src/errors.ts';
import type { Step } from '../../../src/plan/step.ts';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { GroupInfo } from '../../../src/store/objects/port.ts';
import { AT, app, appStep, CONTEXT, group, groupStep, operationsOf } from '../contract/support.ts';
import { MarkFollower } from './mark-follower.ts';
import {
  drain,
  type Fate,
  type Mistake,
  ModelDatabase,
  ModelDocuments,
  type ModelStore,
  openModel,
} from './model.ts';

/** What one of the two managers does. A push moves the branch; a pass applies what it points to. */
type Action = { manager: 0 | 1; do: 'push' | 'pass' | 'restart' | 'prune' | 'prune-all' };

/** A random run of the model. */
interface Run {
  actions: Action[];
  fates: Fate[];
  /** The number of commands after which the first manager is dead: all later ones fail. */
  death: number;
  /** Characters of changes that a root carries itself: all of them, or none. */
  inlineLimit: number;
}

const RUNS = Number(process.env['HOLDFAST_TEST_RUNS'] ?? 400);

const ACTIONS = ['push', 'push', 'pass', 'pass', 'pass', 'restart', 'prune', 'prune-all'] as const;

const anyRun: fc.Arbitrary<Run> = fc.record({
  actions: fc.array(
    fc.record({ manager: fc.constantFrom(0 as const, 1 as const), do: fc.constantFrom(...ACTIONS) }),
    { minLength: 2, maxLength: 9 },
  ),
  fates: fc.array(
    fc.oneof(
      { weight: 14, arbitrary: fc.constant<Fate>('ok') },
      { weight: 1, arbitrary: fc.constantFrom<Fate>('before', 'after', 'late', 'late') },
    ),
    { maxLength: 250, size: 'max' },
  ),
  inlineLimit: fc.constantFrom(1_000_000, 1),
  death: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1, max: 40 })),
});

/** The objects at a revision; each revision changes both apps and the order of the group's list. */
function contentsAt(revision: number) {
  const members = revision % 2 === 0 ? ['web', 'db'] : ['db', 'web'];
  return { web: app(`web:${revision}`), db: app(`db:${revision}`), edge: group(...members) };
}

function contentsByKey(revision: number): Record<string, unknown> {
  const { web, db, edge } = contentsAt(revision);
  return { 'app/web': web, 'app/db': db, 'device_group/edge': edge };
}

function stepsTo(revision: number): Step[] {
  const { web, db, edge } = contentsAt(revision);
  return [appStep('db', db), appStep('web', web), groupStep('edge', edge)];
}

/** Two managers on one database, a device, a follower, and everything that was observed so far. */
class World {
  readonly database = new ModelDatabase();
  readonly stores: ModelStore[];
  readonly follower: MarkFollower;
  /** The newest revision of the branch. */
  branch = 0;
  /** The content that each id was first shown with. */
  readonly shown = new Map<string, string>();
  /** The claimed revisions by their sequence. */
  readonly claims = new Map<number, number>();
  /** Acknowledged restarts and the ids of acknowledged prunes; `unknown…` counts those that failed and may have happened. */
  readonly acknowledged = { pruneIds: [] as number[], unknownPrunes: 0, restarts: 0, unknownRestarts: 0 };
  readonly #scheduler: Scheduler;
  readonly #mistake: Mistake | null;
  readonly #inlineLimit: number;
  #writers = 0;

  constructor(scheduler: Scheduler, { fates, death, inlineLimit }: Run, mistake: Mistake | null) {
    this.#scheduler = scheduler;
    this.#mistake = mistake;
    this.follower = new MarkFollower(mistake === 'mark after changes');
    this.#inlineLimit = inlineLimit;
    const queue = [...fates];
    let commands = 0;
    const nextFate = (): Fate => queue.shift() ?? 'ok';
    this.stores = [
      this.open(() => {
        commands += 1;
        return commands > death ? 'before' : nextFate();
      }),
      this.open(nextFate),
    ];
  }

  /** Opens a manager's store on the model. */
  open(nextFate: () => Fate): ModelStore {
    const { database } = this;
    const options = { database, scheduler: this.#scheduler, nextFate, mistake: this.#mistake };
    return openModel({
      documents: new ModelDocuments(options),
      defaults: appDefaults(['nebula', 'bridge']),
      random: (size) => {
        this.#writers += 1;
        return Buffer.from(String(this.#writers).padStart(size, '0').slice(-size));
      },
      pause: () => this.#scheduler.schedule(Promise.resolve(), 'pause'),
      inlineLimit: this.#inlineLimit,
    });
  }

  /** Applies the first revision, without faults. */
  async begin(): Promise<void> {
    await this.pass(this.open(() => 'ok'));
  }

  /** Carries out an action, which may fail. */
  async act({ manager, do: what }: Action): Promise<void> {
    const store = this.stores[manager] as ModelStore;
    if (what === 'push') this.branch += 1;
    else if (what === 'pass') await ignoringFaults(this.pass(store));
    else if (what === 'restart') await this.#restart(store);
    else await this.#prune(store, what);
  }

  /** A pass as the reconciler runs it: it reads the sequence first, then the branch. */
  async pass(store: ModelStore): Promise<void> {
    const early = this.branch;
    const { sequence } = await store.state();
    const revision = this.#mistake === 'head before sequence' ? early : this.branch;
    const claimed = await store.claimHead(sequence, String(revision), AT);
    this.claims.set(claimed, revision);
    const steps = stepsTo(revision);
    await store.apply({
      revision: String(revision),
      sequence: claimed,
      at: AT,
      steps,
      origins: [],
      rules: 'r',
    });
  }

  async #restart(store: ModelStore): Promise<void> {
    try {
      if ((await store.restartApp('web', CONTEXT)) !== null) this.acknowledged.restarts += 1;
    } catch (error) {
      requireExpected(error);
      this.acknowledged.unknownRestarts += 1;
    }
  }

  async #prune(store: ModelStore, what: 'prune' | 'prune-all'): Promise<void> {
    try {
      const id =
        what === 'prune'
          ? (await store.pruneGroup('edge', CONTEXT))?.value.pruneId
          : (await store.pruneAll(CONTEXT)).value['edge'];
      if (id !== undefined) this.acknowledged.pruneIds.push(id);
    } catch (error) {
      requireExpected(error);
      this.acknowledged.unknownPrunes += 1;
    }
  }

  /** A device that polls both managers alternately; checks that neither ids nor revisions ever fall. */
  async pollAsDevice(rounds: number): Promise<void> {
    let last: GroupInfo | null = null;
    for (let round = 0; round < rounds; round += 1) {
      try {
        const info: GroupInfo | null = await (this.stores[round % 2] as ModelStore).groupInfo('edge');
        this.check(info);
        if (last !== null) expectNotOlder(info, last);
        last = info ?? last;
      } catch (error) {
        requireExpected(error);
      }
    }
  }

  /** The follower reads the changes of the second manager's store. */
  async follow(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1)
      await ignoringFaults(this.follower.follow(this.stores[1] as ModelStore));
  }

  /** Checks that a reply is one version of its group, and that none of its ids was shown with other content before. */
  check(info: GroupInfo | null): void {
    if (info === null) return;
    const expected = contentsAt(Number(info.revision));
    expect(info.group.content).toEqual(expected.edge);
    for (const { name, appId, content } of info.apps) {
      expect(content).toEqual(name === 'web' ? expected.web : expected.db);
      this.#checkShown(`app/${name}/${appId}`, content);
    }
    this.#checkShown(`group/${info.group.deviceGroupId}`, info.group.content);
  }

  #checkShown(key: string, content: unknown): void {
    const text = JSON.stringify(content);
    expect(this.shown.get(key) ?? text).toBe(text);
    this.shown.set(key, text);
  }

  /** Applies the branch without faults, and compares the result with everything that was acknowledged. */
  async checkEnd(): Promise<void> {
    const store = this.open(() => 'ok');
    await this.pass(store);
    const info = await store.groupInfo('edge');
    this.check(info);
    expect(info?.revision).toBe(String(this.branch));
    await this.follower.follow(store);
    expect(this.follower.objects).toEqual(contentsByKey(this.branch));
    const inOrder = [...this.claims].sort(([a], [b]) => a - b).map(([, revision]) => revision);
    expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
    const { pruneIds, unknownPrunes, restarts, unknownRestarts } = this.acknowledged;
    const pruneId = info?.group.pruneId ?? 0;
    expect(new Set(pruneIds).size).toBe(pruneIds.length);
    expect(pruneId).toBeGreaterThanOrEqual(1 + pruneIds.length);
    expect(pruneId).toBeLessThanOrEqual(1 + pruneIds.length + unknownPrunes);
    const web = info?.apps.find(({ name }) => name === 'web')?.appId ?? 0;
    const db = info?.apps.find(({ name }) => name === 'db')?.appId ?? 0;
    // `db` rises once for each revision that was applied, `web` also once for each restart.
    expect(db).toBeLessThanOrEqual(1 + this.branch);
    expect(web - db).toBeGreaterThanOrEqual(restarts);
    expect(web - db).toBeLessThanOrEqual(restarts + unknownRestarts);
    const entries = await operationsOf(store);
    const raised = entries.filter(({ ids }) => Object.keys(ids).length > 0);
    expect(raised).toHaveLength(web - db + pruneId - 1);
  }
}

function expectNotOlder(info: GroupInfo | null, last: GroupInfo): void {
  expect(Number(info?.revision)).toBeGreaterThanOrEqual(Number(last.revision));
  expect(info?.idSequence).toBeGreaterThanOrEqual(last.idSequence);
  expect(info?.group.deviceGroupId).toBeGreaterThanOrEqual(last.group.deviceGroupId);
  expect(info?.group.pruneId).toBeGreaterThanOrEqual(last.group.pruneId);
  for (const { name, appId } of last.apps) {
    expect(info?.apps.find((one) => one.name === name)?.appId).toBeGreaterThanOrEqual(appId);
  }
}

async function ignoringFaults(call: Promise<unknown>): Promise<void> {
  await call.catch(requireExpected);
}

/** Rethrows all errors but those of a failing database and of a manager that was faster. */
function requireExpected(error: unknown): void {
  if (!['unavailable', 'conflict'].includes(kindOf(error))) throw error;
}

function property(mistake: Mistake | null) {
  return fc.asyncProperty(fc.scheduler(), anyRun, async (scheduler, run) => {
    const world = new World(scheduler, run, mistake);
    await scheduler.waitFor(world.begin());
    const managers = [0, 1].map(async (manager) => {
      for (const action of run.actions) if (action.manager === manager) await world.act(action);
    });
    await scheduler.waitFor(Promise.all([...managers, world.pollAsDevice(4), world.follow(4)]));
    await drain(scheduler);
    await scheduler.waitFor(world.checkEnd());
  });
}

describe('two managers whose commands run in any order and can fail', { retry: 0 }, () => {
  it('keep the rules of ids, and every reply is one version of its group', async () => {
    await fc.assert(property(null), { numRuns: RUNS });
  }, 120_000);

  it.each<Mistake>([
    'unguarded swap',
    'unguarded put',
    'unguarded settle',
    'forgotten writers',
    'mark after changes',
  ])(
    'break these rules with the mistake "%s"',
    async (mistake) => {
      const result = await fc.check(property(mistake), { numRuns: 20_000, endOnFailure: true, seed: 2 });
      expect(result.failed).toBe(true);
    },
    120_000,
  );

  it('break these rules with the mistake "head before sequence", which two passes and a push show', async () => {
    const passes = fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const run = { actions: [], fates: [], death: Number.POSITIVE_INFINITY, inlineLimit: 1_000_000 };
      const world = new World(scheduler, run, 'head before sequence');
      await scheduler.waitFor(world.begin());
      const first = world.act({ manager: 0, do: 'pass' });
      await world.act({ manager: 1, do: 'push' });
      const second = world.act({ manager: 1, do: 'pass' });
      await scheduler.waitFor(Promise.all([first, second]));
      await drain(scheduler);
      await scheduler.waitFor(world.checkEnd());
    });
    const result = await fc.check(passes, { numRuns: 20_000, endOnFailure: true, seed: 2 });
    expect(result.failed).toBe(true);
  }, 120_000);
});
