import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { HoldfastError, ShutdownError } from '../../../src/errors.ts';
import { makePlan } from '../../../src/plan/plan.ts';
import type { PassOutcome } from '../../../src/reconcile/pass/pass.ts';
import { STARTING, type Status } from '../../../src/reconcile/status.ts';
import { createPassLog } from '../../../src/service/observability/pass-log.ts';
import { appliedOf, type Files, stateOf } from '../../support/fleet.ts';
import { yieldsDuring } from '../../support/yielding.ts';

type Line = Record<string, unknown>;

const REVISION = 'f'.repeat(40);

/** The outcome of a pass that changed the store from the files `before` to the files `after`. */
function passOf(before: Files, after: Files): PassOutcome {
  const [desired, applied] = [stateOf(after), appliedOf(before)];
  const { steps } = makePlan([...desired.keys(), ...applied.keys()], desired, applied);
  const ids = steps
    .filter((step) => step.after !== null)
    .map(({ kind, name }, index) => ({ kind, name, id: index + 7 }));
  const head = { branch: 'refs/heads/main', revision: REVISION };
  const report = { head, steps, ids, seeding: null, recordVersion: null, changedElsewhere: false };
  const isFirst = Object.keys(before).length === 0;
  return { ok: true, report: { ...report, isFirst, rewrittenFrom: null } };
}

/** A log of passes; `log` returns the lines that one outcome adds. */
function passLog(level = 'trace') {
  const lines: Line[] = [];
  const logger = pino({ level, base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const clock = { now: 1_000_000 };
  const logPass = createPassLog(logger, () => clock.now);
  return {
    lines,
    clock,
    log: async (outcome: PassOutcome, status: Partial<Status> = {}): Promise<Line[]> => {
      await logPass(outcome, { ...STARTING, ...status });
      return lines.splice(0);
    },
  };
}

const FLEET: Files = {
  'apps/web.yaml': 'container_image: web:1\nenv_vars: {KEY: old-value}\n',
  'apps/cron.yaml': 'container_image: cron:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
};

/** So many apps. */
function fleetOf(count: number): Files {
  const apps = Array.from({ length: count }, (_, index) => [`apps/a${index}.yaml`, 'container_image: a\n']);
  return Object.fromEntries(apps);
}

describe('createPassLog', () => {
  it('logs what changed in each object, with its file, revision and id, but without values', async () => {
    const next = {
      'apps/team/web.yaml': 'container_image: web:2\nenv_vars: {KEY: new-value}\n',
      'device-groups/edge.yaml': 'apps: [web]\n',
    };
    const lines = await passLog().log(passOf(FLEET, next));
    expect(lines).toMatchObject([
      {
        msg: 'app web: container_image 1 -> 2, env_vars',
        kind: 'app',
        name: 'web',
        id: 7,
        file: 'apps/team/web.yaml',
        revision: REVISION,
      },
      { msg: 'app cron: delete', kind: 'app', name: 'cron', revision: REVISION },
      { msg: 'applied', changes: 2, revision: REVISION },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/old-value|new-value/);
  });

  it('logs nothing for a pass that changed nothing', async () => {
    expect(await passLog().log(passOf(FLEET, FLEET))).toEqual([]);
  });

  it.each([
    ['no failure while the manager is stopping', new ShutdownError(), 0],
    [
      'no failure that the shutdown of the manager has caused',
      new HoldfastError('unavailable', 'origin cannot be fetched', {}, new ShutdownError()),
      0,
    ],
    [
      'a failure that only has the text of a shutdown',
      new HoldfastError('unavailable', new ShutdownError().message),
      1,
    ],
  ])('logs %s', async (_, error, count) => {
    expect(await passLog().log({ ok: false, error })).toHaveLength(count);
  });

  it.each([
    ['of a first pass', {}, FLEET, 3],
    ['of more than fifty', FLEET, fleetOf(60), 63],
  ])(
    'logs only the number of changes %s, and lists them at level debug',
    async (_, before, after, changes) => {
      const pass = passOf(before, after);
      expect(await passLog('info').log(pass)).toMatchObject([
        { level: 30, msg: `${changes} objects applied; LOG_LEVEL=debug lists them` },
        { level: 30, msg: 'applied', changes },
      ]);
      const lines = await passLog('debug').log(pass);
      expect(lines.map(({ level }) => level)).toEqual([...Array(changes).fill(20), 30]);
    },
  );

  it.each([
    ['fifty changes', FLEET, { ...FLEET, ...fleetOf(50) }, 51],
    ['the one object of a first pass', {}, fleetOf(1), 2],
  ])('logs each of %s at level info', async (_, before, after, count) => {
    expect(await passLog('info').log(passOf(before, after))).toHaveLength(count);
  });

  it('logs a problem once, its end once, and the problem again if it returns', async () => {
    const { log } = passLog();
    const unchanged = passOf(FLEET, FLEET);
    const noProblem = { problems: [] };
    const problem = { file: 'apps/a.yaml', line: 1, column: 2, code: 'field-unknown', message: 'm' } as const;
    const oneProblem = { problems: [{ ...problem, severity: 'error' as const, since: 0 }] };
    expect(await log(unchanged, oneProblem)).toMatchObject([
      { level: 50, file: 'apps/a.yaml', line: 1, column: 2, code: 'field-unknown', problem: 'm' },
    ]);
    expect(await log(unchanged, oneProblem)).toEqual([]);
    expect(await log(unchanged, noProblem)).toMatchObject([
      { level: 30, msg: 'problem in desired state is resolved', file: 'apps/a.yaml', problem: 'm' },
    ]);
    expect(await log(unchanged, noProblem)).toEqual([]);
    expect(await log(unchanged, oneProblem)).toHaveLength(1);
  });

  it('yields to other work while it logs many problems', async () => {
    const problems = Array.from({ length: 1000 }, (_, index) => ({
      ...{ file: `other/${index}.txt`, line: 1, column: 1, code: 'file-unexpected' as const, message: 'm' },
      ...{ severity: 'warning' as const, since: 0 },
    }));
    const { log } = passLog();
    expect(await yieldsDuring(() => log(passOf(FLEET, FLEET), { problems }))).toBeGreaterThan(100);
    expect(await yieldsDuring(() => log(passOf(FLEET, FLEET), { problems: [] }))).toBeGreaterThan(100);
  });

  it('logs a pass after the one before, also while that one is still being logged', async () => {
    const { log, lines } = passLog();
    const problem = {
      line: 1,
      column: 1,
      code: 'file-unexpected',
      message: 'm',
      severity: 'warning',
    } as const;
    const problems = Array.from({ length: 1000 }, (_, index) => ({ ...problem, file: `${index}`, since: 0 }));
    const found = log(passOf(FLEET, FLEET), { problems });
    const resolved = log(passOf(FLEET, FLEET), { problems: [] });
    expect(await found).toHaveLength(1000);
    expect(await resolved).toHaveLength(1000);
    expect(lines).toEqual([]);
  });

  it('logs a failure in full, then once a minute while it lasts, one with another reason, and the end', async () => {
    const { log, clock } = passLog();
    const failed = (message: string): PassOutcome => ({
      ok: false,
      error: new HoldfastError('unavailable', message, {}, new Error(`${message}: disk quota`)),
    });
    expect(await log(failed('the disk is full'))).toMatchObject([
      { msg: 'pass failed', reason: 'the disk is full', cause: 'the disk is full: disk quota', level: 50 },
    ]);
    expect(await log(failed('the disk is full'))).toEqual([]);
    expect(await log(failed('the disk is gone'))).toMatchObject([
      { reason: 'the disk is gone', kind: 'unavailable' },
    ]);
    clock.now += 59_999;
    expect(await log(failed('the disk is full'))).toEqual([]);
    clock.now += 1;
    expect(await log(failed('the disk is full'))).toEqual([
      { level: 50, time: expect.any(Number), reason: 'the disk is full', failures: 3, msg: 'pass failed' },
    ]);
    expect(await log(passOf(FLEET, FLEET))).toMatchObject([
      { msg: 'reconciling works again', after: 'the disk is full' },
    ]);
    expect(await log(passOf(FLEET, FLEET))).toEqual([]);
    expect(await log(failed('the disk is full'))).toMatchObject([{ cause: 'the disk is full: disk quota' }]);
  });

  it('logs the stack of a bug, and none of a failure outside of the program', async () => {
    const cause = new TypeError('x is undefined');
    for (const [kind, hasStack] of [
      ['internal', true],
      ['unavailable', false],
      ['conflict', false],
      ['refused', false],
    ] as const) {
      const error = new HoldfastError(kind, 'failed', {}, cause);
      const [line] = await passLog().log({ ok: false, error });
      expect(JSON.stringify(line).includes('pass-log.test.ts'), kind).toBe(hasStack);
      expect(JSON.stringify(line), kind).toContain('x is undefined');
    }
  });

  it('logs the time of the next attempt in ISO format', async () => {
    const error = {
      kind: 'unavailable',
      message: 'm',
      since: 0,
      failures: 1,
      retryAt: 1_700_000_000_000,
    } as const;
    const outcome: PassOutcome = { ok: false, error: new HoldfastError('unavailable', 'm') };
    const origin = { reachedAt: null, error, cause: null };
    expect(await passLog().log(outcome, { error, origin })).toMatchObject([
      { msg: 'origin cannot be used', retryAt: '2023-11-14T22:13:20.000Z' },
      { msg: 'pass failed', retryAt: '2023-11-14T22:13:20.000Z' },
    ]);
    const refused = await passLog().log(outcome, { error: { ...error, retryAt: null } });
    expect(refused).toMatchObject([{ msg: 'pass failed', retryAt: null }]);
  });

  it('logs a warning of the desired state as a warning, and once if it is listed twice', async () => {
    const place = { file: 'other/a.txt', line: 1, column: 1, code: 'file-unexpected' as const };
    const warning = { ...place, message: 'm', severity: 'warning' as const, since: 0 };
    const lines = await passLog().log(passOf(FLEET, FLEET), { problems: [warning, { ...warning, line: 2 }] });
    expect(lines).toMatchObject([{ level: 40, line: 1 }]);
  });

  it('logs that origin cannot be used, once a minute, for which other reason, and that it works again', async () => {
    const { log, clock } = passLog();
    const unchanged = passOf(FLEET, FLEET);
    const away = (message: string): Partial<Status> => {
      const error = { kind: 'unavailable' as const, message, since: 0, failures: 1, retryAt: 1 };
      return { origin: { reachedAt: null, error, cause: null } };
    };
    const works = { origin: { reachedAt: 1, error: null, cause: null } };
    expect(await log(unchanged, works)).toEqual([]);
    expect(await log(unchanged, away('no route'))).toMatchObject([{ level: 50, reason: 'no route' }]);
    expect(await log(unchanged, away('no route'))).toEqual([]);
    expect(await log(unchanged, away('no key'))).toMatchObject([{ level: 50, reason: 'no key' }]);
    clock.now += 60_000;
    expect(await log(unchanged, away('no key'))).toMatchObject([{ reason: 'no key', failures: 1 }]);
    expect(await log(unchanged, works)).toMatchObject([
      { level: 30, msg: 'origin works again', after: 'no key' },
    ]);
    expect(await log(unchanged, works)).toEqual([]);
  });

  it('logs that another manager has changed the store', async () => {
    const pass = passOf(FLEET, FLEET);
    if (!pass.ok) throw new Error('not a pass');
    const changedElsewhere = true;
    expect(await passLog().log({ ok: true, report: { ...pass.report, changedElsewhere } })).toMatchObject([
      { level: 30, msg: 'another manager has changed the store; following it', revision: REVISION },
    ]);
  });

  it('logs a rewritten history, and a seeding: as a warning if a store was lost', async () => {
    const pass = passOf(FLEET, FLEET);
    if (!pass.ok) throw new Error('not a pass');
    const seeding = {
      cause: 'no-counters' as const,
      record: 'none' as const,
      names: 3,
      kept: 0,
      floor: 1_700_000_000,
      historyIsComplete: true,
    };
    const lines = await passLog().log({
      ok: true,
      report: { ...pass.report, seeding, rewrittenFrom: 'a'.repeat(40) },
    });
    expect(lines).toMatchObject([
      { level: 30, msg: expect.stringContaining('above the floor') },
      { from: 'a'.repeat(40), revision: REVISION },
    ]);
    const afterLoss = { ...pass.report, seeding: { ...seeding, record: 'used' as const } };
    expect(await passLog().log({ ok: true, report: afterLoss })).toMatchObject([{ level: 40 }]);
    const ofNothing = { ...pass.report, seeding: { ...seeding, names: 0 } };
    expect(await passLog().log({ ok: true, report: ofNothing })).toEqual([]);
  });
});
