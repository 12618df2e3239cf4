import fc from 'fast-check';
import { describe, it } from 'vitest';
import { APPS, type Files, GROUPS, World } from '../support/ids-model.ts';

/** Milliseconds for a longer search (`HOLDFAST_TEST_SEARCH`, in seconds); by default, a number of examples is tried. */
const SEARCH = Number(process.env['HOLDFAST_TEST_SEARCH'] ?? 0) * 1000;
const EXAMPLES = 30;

type Command = fc.AsyncCommand<object, World>;

const app = fc.constantFrom(...APPS);
const group = fc.constantFrom(...GROUPS);
const image = fc.constantFrom('i:1', 'i:2', 'i:3');
const members = fc.shuffledSubarray([...APPS]);

/** Returns the files of apps, with their images, and of groups, which list only these. */
function filesOf(apps: Record<string, string>, groups: Record<string, string[]>): Files {
  const ofApps = Object.entries(apps).map(([name, tag]) => [
    `apps/${name}.yaml`,
    `container_image: ${tag}\n`,
  ]);
  const ofGroups = Object.entries(groups).map(([name, list]) => {
    const known = list.filter((one) => Object.hasOwn(apps, one));
    return [`device-groups/${name}.yaml`, `apps: [${known.join(', ')}]\n`];
  });
  return Object.fromEntries([...ofApps, ...ofGroups]);
}

const files: fc.Arbitrary<Files> = fc
  .record({
    apps: fc.dictionary(app, image, { minKeys: 1 }),
    groups: fc.dictionary(group, members, { minKeys: 1 }),
  })
  .map(({ apps, groups }) => filesOf(apps, groups));

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

type Act = (world: World) => Promise<unknown>;

const commitOf =
  (one: Files): Act =>
  async (world) => {
    await world.commit(one);
    await world.reconcile();
  };
const takenBack =
  (one: Files, takeBack: Act): Act =>
  async (world) => {
    await commitOf(one)(world);
    await world.check({ sometimes: true });
    await takeBack(world);
  };
const revert = git('revert', '--no-edit', 'HEAD');
const copy: Act = (world) => world.copyData();
const crash: Act = (world) => world.expectOtherUnaffected(() => world.crash());
const restart: Act = (world) => world.expectOtherUnaffected(() => world.restart());
const lose =
  (recorded: boolean, record: 'kept' | 'deleted'): Act =>
  (world) =>
    world.expectOtherUnaffected(() => world.loseStore({ recorded, record }));
const restore =
  (which: number): Act =>
  (world) =>
    world.expectOtherUnaffected(() => world.restoreCopy(which));

const COMMANDS: fc.Arbitrary<Command>[] = [
  command(
    'commit',
    files.map((one) => [JSON.stringify(one), commitOf(one)]),
  ),
  command(
    'commit, taken back',
    fc
      .tuple(files, fc.boolean())
      .map(([one, isForced]) => [
        `${JSON.stringify(one)} ${isForced ? 'by force' : 'by a revert'}`,
        takenBack(one, isForced ? (world) => world.rewind(1) : revert),
      ]),
  ),
  command('revert', fc.constant(['', revert])),
  command(
    'force-push',
    fc.nat({ max: 3 }).map((back) => [`${back} back`, async (world) => world.rewind(back)]),
    files.map((one) => [
      `another commit ${JSON.stringify(one)}`,
      async (world) => {
        await world.rewind(1);
        await commitOf(one)(world);
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
  command('restart of the manager', fc.constant(['', restart])),
  command('crash', fc.constant(['', crash])),
  command(
    'lost store',
    fc
      .record({
        recorded: fc.boolean(),
        record: fc.constantFrom('kept' as const, 'kept' as const, 'deleted' as const),
      })
      .map((how) => [JSON.stringify(how), lose(how.recorded, how.record)]),
  ),
  command('copy', fc.constant(['', copy])),
  command(
    'restored copy',
    fc
      .nat({ max: 5 })
      .map((which) => [
        `${which}`,
        async (world) => (world.copyCount > 0 ? restore(which)(world) : undefined),
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

/** Lets commands happen in a new world, and checks every reply. */
async function play(first: Files, commands: Iterable<Command>): Promise<void> {
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
}

/** Whether all devices poll after what happens, or only some. */
type Polls = 'all' | 'some';

/** Returns what happens, in order. */
function story(...acts: readonly (readonly [Polls, Act])[]): Command[] {
  return acts.map(([polls, act], index) => actAndCheck(`step ${index + 1}`, act, polls === 'all'));
}

const GROUPS_OF_ALL = { g: ['a', 'c', 'b'], h: ['b', 'c', 'a'] };

/** Examples that have failed once. */
const REGRESSIONS: readonly (readonly [name: string, first: Files, acts: Command[]])[] = [
  [
    'restoring a copy after another store began without a record, at a head without objects',
    filesOf({ a: 'i:1', b: 'i:3', c: 'i:3' }, { g: ['a'], h: [] }),
    story(
      ['some', (world) => world.manager.post('/api/v2/apps/a', { container_image: 'i:1' })],
      ['all', commitOf(filesOf({ a: 'i:2', b: 'i:2', c: 'i:3' }, GROUPS_OF_ALL))],
      ['some', copy],
      ['some', revert],
      ['some', (world) => world.manager.post('/api/v2/prune')],
      ['some', (world) => world.rewind(1)],
      ['all', commitOf(filesOf({ a: 'i:1', b: 'i:3', c: 'i:1' }, { g: [], h: [] }))],
      ['some', (world) => world.manager.put('/api/v2/device_groups/g/update', { apps: [] })],
      ['all', crash],
      ['some', (world) => world.rewind(2)],
      ['all', lose(true, 'kept')],
      ['some', revert],
      ['all', crash],
      ['some', lose(true, 'deleted')],
      ['some', restore(4)],
      ['all', revert],
    ),
  ],
  [
    'restoring a copy after a loss that was not recorded, and a new store that was refused',
    filesOf({ a: 'i:1' }, { g: [], h: [] }),
    story(
      ['all', lose(false, 'deleted')],
      ['all', revert],
      ['some', commitOf(filesOf({ a: 'i:1', b: 'i:1', c: 'i:3' }, { g: ['a', 'c', 'b'], h: ['b'] }))],
      ['some', revert],
      ['some', copy],
      ['all', takenBack(filesOf({ a: 'i:3', b: 'i:2', c: 'i:2' }, { g: ['a'], h: ['c', 'b'] }), revert)],
      ['some', commitOf(filesOf({ a: 'i:1', b: 'i:2', c: 'i:2' }, { g: ['a'], h: ['c', 'b'] }))],
      ['some', (world) => world.rewind(1)],
      ['some', lose(false, 'kept')],
      ['some', restart],
      ['some', restore(5)],
      ['all', restart],
    ),
  ],
];

describe('ids after crashes, lost stores, restored copies, and changes of the history and the record', () => {
  it.each(REGRESSIONS)('keep their rules after %s', async (_, first, acts) => {
    await play(first, acts);
  });

  it(
    'keep their rules in random examples: a reply is one version, no id has two contents, each device runs what it was sent last',
    async () => {
      const commands = fc.commands([...COMMANDS, OTHER_FOLDER], { maxCommands: 30, size: 'max' });
      await fc.assert(fc.asyncProperty(files, commands, play), {
        ...(SEARCH > 0 ? { numRuns: 10_000, interruptAfterTimeLimit: SEARCH } : { numRuns: EXAMPLES }),
        markInterruptAsFailure: false,
      });
    },
    // Shrinking a failed example takes minutes.
    SEARCH + 700_000,
  );
});
