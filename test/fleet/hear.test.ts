import { describe, expect, it } from 'vitest';
import { hearPoll, hearReport } from '../../src/fleet/hear.ts';
import { factsOf } from '../../src/fleet/report-facts.ts';
import type { PolledHalf } from '../../src/store/devices/slot.ts';

const ETAG = '"abcd.9-now"';
const SECOND = 1000;

/** A poll in a story: so many seconds after the one before. */
interface Told {
  after?: number;
  tag?: string;
  group?: string;
  instance?: string;
}

/** Tells a device's polls one after the other; returns what is known after each, and who was refused. */
function tell(polls: readonly Told[], isShared = false) {
  let now = 1_000_000;
  let known: PolledHalf | null = null;
  return polls.map(({ after = 10, tag, group = 'edge', instance }) => {
    now += after * SECOND;
    const poll = {
      device: 'pos-1',
      access: 'shared' as const,
      group,
      ifNoneMatch: tag,
      instance,
      etag: ETAG,
    };
    const { half, conflict } = hearPoll(known, poll, { now, since: 0, isShared });
    known = half;
    return { order: half.word?.order ?? null, isConflict: half.conflict !== null, conflict, half };
  });
}

describe('hearPoll: what a device has by the last tag that it sends', () => {
  it.each<[string, Told[], (number | null)[]]>([
    ['the tag of the present reply', [{ tag: ETAG }], [9]],
    ['the newest and the one whose work is done', [{ tag: '"abcd.9-now", "abcd.4-then"' }], [4]],
    ['nothing is done yet', [{ tag: '"abcd.9-now", "none"' }], [null]],
    ['no tag', [{}], [null]],
    ['a tag that a proxy made weak', [{ tag: 'W/"abcd.9-now"' }], [9]],
    ['a tag of another form', [{ tag: '"0a1b2c"' }], [null]],
    [
      'a device that was reset',
      [{ tag: ETAG }, { tag: '"abcd.9-now", "none"' }, { tag: ETAG }],
      [9, null, 9],
    ],
    [
      'an unknown device with the tag of another group that has the same order',
      [{ tag: '"abcd.9-other"' }, { tag: '"abcd.9-other"' }, { tag: ETAG }],
      [null, null, 9],
    ],
    [
      'a device that moved to another group says nothing until its tag changes',
      [
        { tag: '"abcd.8-a"', group: 'lab' },
        { tag: '"abcd.8-a"' },
        { tag: '"abcd.9-now", "abcd.8-a"' },
        { tag: ETAG },
      ],
      [8, null, null, 9],
    ],
  ])('%s', (_, polls, expected) => {
    expect(tell(polls).map(({ order }) => order)).toEqual(expected);
  });

  it.each<[string, Told[], boolean]>([
    ['falls once: it was reset', [{ tag: '"abcd.8-a"' }, { tag: '"abcd.3-a"' }], false],
    [
      'falls back and forth: two machines of one name',
      [{ tag: '"abcd.8-a"' }, { tag: '"abcd.3-a"' }, { tag: '"abcd.8-a"' }, { tag: '"abcd.3-a"' }],
      true,
    ],
    [
      'falls again after a long time',
      [
        { tag: '"abcd.8-a"' },
        { tag: '"abcd.3-a"' },
        { tag: '"abcd.8-a"' },
        { after: 3600, tag: '"abcd.3-a"' },
      ],
      false,
    ],
    [
      'a tag of another store is no fall',
      [{ tag: '"abcd.8-a"' }, { tag: '"ffff.3-a"' }, { tag: '"abcd.8-a"' }, { tag: '"ffff.3-a"' }],
      false,
    ],
  ])('a device whose word %s', (_, polls, isConflict) => {
    expect(tell(polls).at(-1)?.isConflict).toBe(isConflict);
  });
});

describe('hearPoll: two workers of one name', () => {
  const A = 'aaaaaaaa';
  const B = 'bbbbbbbb';

  it.each<[string, Told[], (string | null)[]]>([
    [
      'the one that came later gets the number of the other',
      [{ instance: A }, { instance: B }, { instance: A }],
      [null, A, null],
    ],
    [
      'it may go on once the other is silent',
      [{ instance: A }, { instance: B, after: 80 }, { instance: B, after: 20 }],
      [null, A, null],
    ],
    [
      'one that polls rarely keeps its name for three of its intervals',
      [{ instance: A }, { instance: A, after: 60 }, { instance: B, after: 100 }, { instance: B, after: 85 }],
      [null, null, A, null],
    ],
    ['a worker that sends no number', [{ instance: A }, {}, { instance: A }], [null, null, null]],
    ['what is no number is none', [{ instance: A }, { instance: 'nonsense' }], [null, null]],
  ])('%s', (_, polls, expected) => {
    expect(tell(polls).map(({ conflict }) => conflict)).toEqual(expected);
  });

  it('counts a poll of the one that came later for nothing else', () => {
    const [first, second] = tell([
      { instance: A, tag: ETAG },
      { instance: B, tag: '"abcd.9-now", "none"', group: 'lab' },
    ]);
    const { conflict, ...rest } = second?.half ?? {};
    expect({ ...rest, conflict: null }).toEqual(first?.half);
    expect(conflict).not.toBeNull();
  });

  it('lets other managers say that they hear the first one, before the name is given away', () => {
    const polls = [{ instance: A }, { instance: B, after: 400 }, { instance: B }, { instance: B }];
    expect(tell(polls, true).map(({ conflict }) => conflict)).toEqual([null, A, A, null]);
  });
});

describe('factsOf', () => {
  const report = (more: object) => ({
    hostname: 'pos-1',
    device_group: 'edge',
    report_creation_time: 1,
    worker: { version: '1.2.0' },
    ...more,
  });
  const facts = (more: object) => {
    const found = factsOf(report(more));
    if (found === null) throw new Error('it says nothing');
    return found;
  };
  const app = (more: object) => ({
    name: 'web',
    wanted_id: 2,
    running_id: 2,
    state: 'running',
    error: null,
    ...more,
  });

  it.each<[string, object, { app: string | null; error: string }[]]>([
    ['an app that runs', { apps: [app({})] }, []],
    [
      'a warning beside an app that runs',
      { apps: [app({ error: { code: 'stale-image', text: 'old' } })] },
      [],
    ],
    [
      'an app that fails',
      { apps: [app({ state: 'failing', error: { code: 'crashed', text: 'exit 1' } })] },
      [{ app: 'web', error: 'exit 1' }],
    ],
    [
      'an app that went back',
      { apps: [app({ state: 'rolled_back' })] },
      [{ app: 'web', error: 'rolled_back' }],
    ],
    [
      'an error as a text',
      { apps: [app({ state: 'pulling', error: 'no room' })] },
      [{ app: 'web', error: 'no room' }],
    ],
    [
      'an engine that is away',
      { problems: [{ code: 'engine-unavailable', text: 'no socket' }] },
      [{ app: null, error: 'no socket' }],
    ],
    ['a problem that stops nothing', { problems: [{ code: 'foreign-containers', text: 'x' }] }, []],
    ['members of another kind', { apps: 'none', problems: 7 }, []],
    [
      'an app without a name',
      { apps: [{ state: 'failing' }, app({ state: 'kept' })] },
      [{ app: 'web', error: 'kept' }],
    ],
  ])('finds what is wrong: %s', (_, more, failed) => {
    expect(facts(more).failed).toEqual(failed);
  });

  it('keeps the first of many errors, and so many characters of each', () => {
    const apps = Array.from({ length: 50 }, (_, index) =>
      app({ name: `a${index}`, state: 'failing', error: 'x'.repeat(9000) }),
    );
    const { failed } = facts({ apps });
    expect(failed).toHaveLength(20);
    expect(failed[0]?.error).toHaveLength(300);
  });

  it('keeps the time at which the failing began', () => {
    const failing = facts({ apps: [app({ state: 'failing' })] });
    const first = hearReport(null, failing, 1000);
    const second = hearReport(first, failing, 2000);
    expect([first.failedSince, second.failedSince]).toEqual([1000, 1000]);
    expect(hearReport(second, facts({ apps: [app({})] }), 3000).failedSince).toBeNull();
  });

  it('has an equal digest for reports that say the same of apps, ids and problems', () => {
    const digest = (more: object) => facts(more).digest;
    expect(digest({ apps: [app({})], cpu: 1 })).toBe(digest({ apps: [app({ image: 'x' })], cpu: 2 }));
    expect(digest({ apps: [app({})] })).not.toBe(digest({ apps: [app({ running_id: 1 })] }));
    expect(digest({ ids: { a: 1 } })).not.toBe(digest({ ids: { a: 2 } }));
  });
});
