import { describe, expect, it } from 'vitest';
import { type Condition, conditionsOf, type Seen } from '../../src/incidents/conditions.ts';
import { createIncidents } from '../../src/incidents/incidents.ts';
import type { GroupCounts } from '../../src/protocol/device.ts';
import { STARTING } from '../../src/reconcile/status.ts';
import type { Incident, IncidentKind } from '../../src/store/incidents/incident.ts';

const LIMITS = { failed: { share: 0.05 }, silent: { share: 0.2 } };
const NONE = {
  devices: 0,
  current: 0,
  behind: 0,
  failed: 0,
  silent: 0,
  unknown: 0,
  expected: 0,
  anonymous_polls: 0,
};
const SEEN: Seen = {
  status: { ...STARTING, state: 'applied' },
  hasRead: true,
  record: { problem: null },
  storeProblem: null,
  convergence: null,
  author: null,
  groupsListing: () => ['lab'],
};
const ERROR = { kind: 'unavailable' as const, message: 'no route', since: 5, failures: 2, retryAt: null };

function group(counts: Partial<GroupCounts>): Partial<Seen> {
  const row = { ...NONE, group: 'edge', ...counts };
  return { convergence: { revision: null, groups: [row], totals: NONE } };
}

function problem(file: string, severity: 'error' | 'warning' = 'error') {
  return { file, line: 3, column: 1, code: 'name-invalid' as const, message: 'is wrong', severity, since: 7 };
}

describe('conditionsOf', () => {
  it.each<[string, Partial<Seen>, [key: string, text: string][]]>([
    ['nothing', {}, []],
    [
      'a pass that fails',
      { status: { ...STARTING, state: 'failing', error: ERROR } },
      [['pass', 'the last pass failed: no route']],
    ],
    [
      'an origin that is not reached',
      { status: { ...STARTING, origin: { reachedAt: null, error: ERROR, cause: null } } },
      [['origin', 'origin cannot be used: no route']],
    ],
    ['a store that is away', { storeProblem: 'is gone' }, [['store', 'the store cannot be used: is gone']]],
    [
      'ids that are not recorded',
      { record: { problem: { message: 'no', since: 1 } } },
      [['ids', 'ids are not recorded: no']],
    ],
    [
      'a refused revision, with its author',
      {
        status: {
          ...STARTING,
          state: 'refused',
          attempted: { revision: 'f'.repeat(40), at: 1 },
          error: { ...ERROR, message: 'empty' },
        },
        author: 'ana',
      },
      [['revision', 'revision ffffffffffff of ana is refused: empty']],
    ],
    [
      'problems of files, one for each object, and no warnings',
      {
        status: {
          ...STARTING,
          problems: [
            problem('apps/web.yaml'),
            problem('apps/web.yaml'),
            problem('apps/a b.yaml'),
            problem('x.txt', 'warning'),
          ],
        },
      },
      [
        ['problem:app/web', 'apps/web.yaml:3: is wrong'],
        ['problem:apps/a b.yaml', 'apps/a b.yaml:3: is wrong'],
      ],
    ],
    ['few failed devices', group({ devices: 100, failed: 5, silent: 20 }), []],
    [
      'many failed devices',
      group({ devices: 100, failed: 6, silent: 20 }),
      [['group:edge', 'device group edge: 6 failed of 100 devices']],
    ],
    [
      'both',
      group({ devices: 2, failed: 1, silent: 1 }),
      [['group:edge', 'device group edge: 1 failed, 1 silent of 2 devices']],
    ],
    [
      'the only device',
      group({ devices: 1, silent: 1 }),
      [['group:edge', 'device group edge: 1 silent of 1 device']],
    ],
  ])('finds %s', (_, seen, expected) => {
    expect(conditionsOf({ ...SEEN, ...seen }, LIMITS).found.map(({ key, text }) => [key, text])).toEqual(
      expected,
    );
  });

  it('names the objects and the groups that a problem concerns', () => {
    const status = { ...STARTING, problems: [problem('apps/web.yaml'), problem('device-groups/edge.yaml')] };
    const { found } = conditionsOf({ ...SEEN, status }, LIMITS);
    expect(found.map(({ objects, groups }) => [objects, groups])).toEqual([
      [['app/web'], ['lab']],
      [['device_group/edge'], ['edge']],
    ]);
  });

  it.each<[string, Partial<Seen>, string[]]>([
    ['everything', {}, ['group']],
    [
      'nothing yet',
      { status: STARTING, hasRead: false },
      ['pass', 'origin', 'ids', 'problem', 'revision', 'group'],
    ],
    ['the devices', group({}), []],
  ])('says of which kinds nothing is known: %s', (_, seen, unknown) => {
    expect(conditionsOf({ ...SEEN, ...seen }, LIMITS).unknown).toEqual(unknown);
  });

  it('takes a number as a limit', () => {
    const limits = { failed: { number: 2 }, silent: { share: 1 } };
    const keys = (failed: number) =>
      conditionsOf({ ...SEEN, ...group({ devices: 9, failed }) }, limits).found.length;
    expect([keys(2), keys(3)]).toEqual([0, 1]);
  });
});

/** Incidents on a store in memory, which can fail, and conditions that the test sets. */
function create(kept: Map<string, Incident> = new Map()) {
  const world = {
    now: 1000,
    conditions: [] as Condition[],
    unknown: [] as IncidentKind[],
    isDown: false,
    leads: true,
    told: [] as string[],
  };
  let ids = 0;
  const guarded = <T>(value: () => T) =>
    world.isDown ? Promise.reject(new Error('down')) : Promise.resolve(value());
  const incidents = createIncidents({
    store: {
      load: () => guarded(() => [...kept.values()]),
      put: (list) =>
        guarded(() => {
          for (const each of list) kept.set(each.id, each);
        }),
      leads: () => guarded(() => world.leads),
    },
    conditions: async () => ({ found: world.conditions, unknown: world.unknown }),
    onChange: ({ key, until }) => void world.told.push(`${key} ${until === null ? 'begins' : 'ends'}`),
    newId: () => {
      ids += 1;
      return `${ids}`.padStart(12, '0');
    },
    now: () => world.now,
  });
  const wrong = (key: string, text = 'it is wrong', since: number | null = null): Condition => {
    return { key, kind: 'group', text, since, objects: [], groups: [] };
  };
  return { world, incidents, wrong, kept };
}

describe('createIncidents', () => {
  it('has a beginning and an end for each condition, and the newest text', async () => {
    const { world, incidents, wrong, kept } = create();
    world.conditions = [wrong('a'), wrong('b', 'it is wrong', 400)];
    await incidents.look();
    world.now = 2000;
    world.conditions = [wrong('a', 'it is worse')];
    await incidents.look();
    expect(world.told).toEqual(['a begins', 'b begins', 'b ends']);
    expect(incidents.all()).toMatchObject([
      { key: 'a', text: 'it is worse', since: 1000, until: null },
      { key: 'b', since: 400, until: 2000, toldAt: null },
    ]);
    expect([...kept.values()].sort((x, y) => (x.key < y.key ? -1 : 1))).toEqual(incidents.all());
    expect(incidents.open().map(({ key }) => key)).toEqual(['a']);
  });

  it('is one incident over a restart, and ends after it', async () => {
    const first = create();
    first.world.conditions = [first.wrong('a')];
    await first.incidents.look();
    const second = create(first.kept);
    second.world.conditions = [second.wrong('a')];
    second.world.now = 5000;
    await second.incidents.look();
    expect(second.world.told).toEqual([]);
    expect(second.incidents.open()).toMatchObject([{ key: 'a', since: 1000 }]);
    second.world.conditions = [];
    await second.incidents.look();
    expect(second.incidents.all()).toMatchObject([{ key: 'a', until: 5000 }]);
  });

  it('lets incidents last of which nothing is known, as before the first pass', async () => {
    const { world, incidents, wrong } = create();
    world.conditions = [wrong('a')];
    await incidents.look();
    world.conditions = [];
    world.unknown = ['group'];
    await incidents.look();
    expect(incidents.open()).toHaveLength(1);
    world.unknown = [];
    await incidents.look();
    expect(incidents.open()).toEqual([]);
  });

  it('finds conditions while the store is down, and keeps them once it is back', async () => {
    const { world, incidents, wrong, kept } = create();
    world.isDown = true;
    world.conditions = [wrong('store')];
    await expect(incidents.look()).rejects.toThrow('down');
    expect(incidents.open().map(({ key }) => key)).toEqual(['store']);
    world.isDown = false;
    world.conditions = [];
    world.now = 3000;
    await incidents.look();
    expect([...kept.values()]).toMatchObject([{ key: 'store', since: 1000, until: 3000 }]);
  });

  it('shows what another manager decided, while that one leads', async () => {
    const { kept, ...leader } = create();
    const other = create(kept);
    other.world.leads = false;
    leader.world.conditions = [leader.wrong('a')];
    other.world.conditions = [other.wrong('only here')];
    await leader.incidents.look();
    await other.incidents.look();
    expect(other.incidents.all()).toEqual(leader.incidents.all());
    expect(other.world.told).toEqual([]);
  });
});
