import fc from 'fast-check';
import { describe, it } from 'vitest';
import { APPS, type Files, GROUPS, World } from '../support/ids-model.ts';

/**
 * Milliseconds for the search (`HOLDFAST_TEST_SEARCH`, in seconds). With a seed, a fixed number of examples is tried instead, which
 * takes about as long: otherwise a faster machine would get to examples that were never tried before.
 */
const SEARCH = Number(process.env['HOLDFAST_TEST_SEARCH'] ?? 50) * 1000;
const EXAMPLES = 30;
const isSeeded =
  process.env['HOLDFAST_TEST_SEED'] !== undefined && process.env['HOLDFAST_TEST_SEARCH'] === undefined;

/** Examples that have failed once, with their seed and path. */
const REGRESSIONS: readonly (readonly [name: string, seed: number, path: string])[] = [
  ['restoring a copy after another store began without a record, at a head without objects', -999668818, '1'],
  ['restoring a copy after a loss that was not recorded, and a new store that was refused', -821223991, '3'],
];

type Command = fc.AsyncCommand<object, World>;

const app = fc.constantFrom(...APPS);
const group = fc.constantFrom(...GROUPS);
const image = fc.constantFrom('i:1', 'i:2', 'i:3');
const members = fc.shuffledSubarray([...APPS]);

/** Files of some apps, and of groups that list only these. */
const files: fc.Arbitrary<Files> = fc
  .record({
    apps: fc.dictionary(app, image, { minKeys: 1 }),
    groups: fc.dictionary(group, members, { minKeys: 1 }),
  })
  .map(({ apps, groups }) => {
    const ofApps = Object.entries(apps).map(([name, tag]) => [
      `apps/${name}.yaml`,
      `container_image: ${tag}\n`,
    ]);
    const ofGroups = Object.entries(groups).map(([name, list]) => {
      const known = list.filter((one) => Object.hasOwn(apps, one));
      return [`device-groups/${name}.yaml`, `apps: [${known.join(', ')}]\n`];
    });
    return Object.fromEntries([...ofApps, ...ofGroups]);
  });

/** A command that acts on the world and then checks every reply; without `polls`, some devices miss the replies. */
function actAndCheck(name: string, act: (world: World) => Promise<unknown>, polls: boolean): Command {
  return {
    check: () => true,
    toString: () => `${name}${polls ? '' : ' (some devices do not poll)'}`,
    run: async (_, world) => {
      await act(world);
      await world.check({ sometimes: polls });
    },
  };
}

/** A command with one of these random actions. */
function command(name: string, ...steps: fc.Arbitrary<[string, (world: World) => Promise<unknown>]>[]) {
  return fc
    .tuple(fc.boolean(), fc.oneof(...steps))
    .map(([polls, [what, act]]) => actAndCheck(`${name} ${what}`.trim(), act, polls));
}

const git =
  (...args: string[]) =>
  async (world: World): Promise<void> => {
    await world.repository.git(...args);
    await world.reconcile();
  };

const COMMANDS: fc.Arbitrary<Command>[] = [
  command(
    'commit',
    files.map((one) => [
      JSON.stringify(one),
      async (world) => {
        await world.commit(one);
        await world.reconcile();
      },
    ]),
  ),
  command(
    'commit, taken back',
    fc.tuple(files, fc.boolean()).map(([one, isForced]) => [
      `${JSON.stringify(one)} ${isForced ? 'by force' : 'by a revert'}`,
      async (world) => {
        await world.commit(one);
        await world.reconcile();
        await world.check({ sometimes: true });
        if (isForced) await rewind(world, 1);
        else await git('revert', '--no-edit', 'HEAD')(world);
      },
    ]),
  ),
  command('revert', fc.constant(['', git('revert', '--no-edit', 'HEAD')])),
  command(
    'force-push',
    fc.nat({ max: 3 }).map((back) => [`${back} back`, async (world) => rewind(world, back)]),
    files.map((one) => [
      `another commit ${JSON.stringify(one)}`,
      async (world) => {
        await rewind(world, 1);
        await world.commit(one);
        await world.reconcile();
      },
    ]),
  ),
  command(
    'API',
    fc
      .tuple(app, image)
      .map(([name, tag]) => [
        `create ${name} ${tag}`,
        (world) => world.manager.post(`/api/v2/apps/${name}`, { container_image: tag }),
      ]),
    fc
      .tuple(app, image)
      .map(([name, tag]) => [
        `update ${name} ${tag}`,
        (world) => world.manager.put(`/api/v2/apps/${name}/update`, { container_image: tag }),
      ]),
    app.map((name) => [`delete ${name}`, (world) => world.manager.delete(`/api/v2/apps/${name}`)]),
    app.map((name) => [`restart ${name}`, (world) => world.manager.post(`/api/v2/apps/${name}/restart`)]),
    fc
      .tuple(group, members)
      .map(([name, apps]) => [
        `list of ${name} ${apps}`,
        (world) => world.manager.put(`/api/v2/device_groups/${name}/update`, { apps }),
      ]),
    fc.constant(['prune', (world) => world.manager.post('/api/v2/prune')]),
  ),
  command(
    'restart of the manager',
    fc.constant(['', (world) => world.expectOtherUnaffected(() => world.restart())]),
  ),
  command('crash', fc.constant(['', (world) => world.expectOtherUnaffected(() => world.crash())])),
  command(
    'lost store',
    fc
      .record({
        recorded: fc.boolean(),
        record: fc.constantFrom('kept' as const, 'kept' as const, 'deleted' as const),
      })
      .map((how) => [
        JSON.stringify(how),
        (world) => world.expectOtherUnaffected(() => world.loseStore(how)),
      ]),
  ),
  command('copy', fc.constant(['', (world) => world.copyData()])),
  command(
    'restored copy',
    fc
      .nat({ max: 5 })
      .map((which) => [
        `${which}`,
        async (world) =>
          world.copyCount > 0 ? world.expectOtherUnaffected(() => world.restoreCopy(which)) : undefined,
      ]),
  ),
];

/** Actions at the manager of another folder. */
const OTHER_FOLDER: fc.Arbitrary<Command> = command(
  'other folder:',
  fc
    .tuple(app, image)
    .map(([name, tag]) => [
      `update ${name} ${tag}`,
      async (world) =>
        (await world.otherManager()).put(`/api/v2/apps/${name}/update`, { container_image: tag }),
    ]),
  app.map((name) => [
    `restart ${name}`,
    async (world) => (await world.otherManager()).post(`/api/v2/apps/${name}/restart`),
  ]),
  fc.constant(['prune', async (world) => (await world.otherManager()).post('/api/v2/prune')]),
  fc.constant(['restart of the manager', (world) => world.restartOther()]),
  fc.constant(['lost store', (world) => world.loseOtherStore()]),
);

/** Takes back this many commits, if there are as many, and reconciles. */
async function rewind(world: World, back: number): Promise<void> {
  const count = Number(await world.repository.git('rev-list', '--count', 'HEAD'));
  await world.repository.git('reset', '--quiet', '--hard', `HEAD~${Math.min(back, count - 1)}`);
  await world.reconcile();
}

/** The property over random sequences of commands. The list of commands decides which example a seed stands for. */
const propertyOf = (all: fc.Arbitrary<Command>[]) =>
  fc.asyncProperty(files, fc.commands(all, { maxCommands: 30, size: 'max' }), async (first, commands) => {
    const cleanups: (() => Promise<void>)[] = [];
    const world = new World((cleanup) => void cleanups.push(cleanup));
    try {
      await world.begin(first);
      await world.check({ sometimes: true });
      await fc.asyncModelRun(() => ({ model: {}, real: world }), commands);
      await world.check({ sometimes: true });
    } finally {
      for (const cleanup of cleanups.reverse()) await cleanup();
    }
  });

describe('ids after crashes, lost stores, restored copies, and changes of the history and the record', () => {
  it.each(REGRESSIONS)('keep their rules after %s', async (_, seed, path) => {
    await fc.assert(propertyOf(COMMANDS), { seed, path, numRuns: 1, endOnFailure: true });
  });

  it(
    'keep their rules in random examples: a reply is one version, no id has two contents, each device runs what it was sent last',
    async () => {
      await fc.assert(propertyOf([...COMMANDS, OTHER_FOLDER]), {
        ...(isSeeded ? { numRuns: EXAMPLES } : { numRuns: 10_000, interruptAfterTimeLimit: SEARCH }),
        markInterruptAsFailure: false,
      });
    },
    // Shrinking a failed example takes minutes.
    SEARCH + 600_000,
  );
});
