import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { makePlan } from '../../../src/plan/plan.ts';
import type { PassOutcome } from '../../../src/reconcile/pass/pass.ts';
import { STARTING, type Status } from '../../../src/reconcile/status.ts';
import { createLogger } from '../../../src/service/observability/logger.ts';
import { createPassLog } from '../../../src/service/observability/pass-log.ts';
import { appliedOf, type Files, stateOf } from '../../support/fleet.ts';
import { yieldsDuring } from '../../support/yielding.ts';

type Line = Record<string, unknown>;

function collect(): { lines: Line[]; out: PassThrough } {
  const lines: Line[] = [];
  const out = new PassThrough();
  out.setEncoding('utf8').on('data', (text: string) =>
    lines.push(
      ...text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ),
  );
  return { lines, out };
}

/** Of the kinds of characters that orders to terminals are made of, and those that turn text around. */
const EVIL = 'a \\ "b" \u001b[31m\u009b2J\u202e\u2028\r.';
const ORDERS = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

describe('the logger', () => {
  it.each([
    'authorization',
    'password',
    'token',
    'secret',
    'BASIC_AUTH_PASSWORD',
    'GIT_TOKEN',
    'WEBHOOK_SECRET',
  ])('writes no %s, at the top or in what is logged', async (name) => {
    const { lines, out } = collect();
    const logger = await createLogger('info', out);
    logger.info({ [name]: 'hunter-2', a: { [name]: 'hunter-2', b: { [name]: 'hunter-2' } }, kept: 1 }, 'x');
    await expect.poll(() => lines.length).toBe(1);
    expect(JSON.stringify(lines)).not.toContain('hunter-2');
    expect(lines[0]).toMatchObject({ [name]: '(secret)', kept: 1, msg: 'x' });
  });

  it('writes lines for people on a terminal, and no credential there either', async () => {
    const out = Object.assign(new PassThrough(), { isTTY: true });
    let text = '';
    out.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    (await createLogger('info', out)).info({ password: 'hunter-2' }, 'here I am');
    await expect.poll(() => text).toContain('here I am');
    expect(text).not.toContain('hunter-2');
    expect(() => JSON.parse(text)).toThrow();
  });

  it('says the same in its lines of JSON, with escapes for what a terminal takes for an order', async () => {
    const { lines, out } = collect();
    let text = '';
    out.on('data', (chunk: string) => {
      text += chunk;
    });
    (await createLogger('info', out)).info({ file: EVIL }, EVIL);
    await expect.poll(() => lines.length).toBe(1);
    expect(lines[0]).toMatchObject({ file: EVIL, msg: EVIL });
    expect(text.trimEnd()).not.toMatch(ORDERS);
  });

  it('says once what an error and its causes say', async () => {
    const { lines, out } = collect();
    const git = new Error('git fetch failed: no route');
    const origin = new HoldfastError('unavailable', 'origin is unreachable', {}, git);
    const write = new HoldfastError('unavailable', 'not written: origin is unreachable', {}, origin);
    (await createLogger('info', out)).error({ err: write }, 'x');
    await expect.poll(() => lines.length).toBe(1);
    const message = 'not written: origin is unreachable: git fetch failed: no route';
    expect(lines[0]).toMatchObject({ err: { type: 'HoldfastError', message } });
  });

  it('shows such characters on a terminal as escapes, wherever they stand', async () => {
    const out = Object.assign(new PassThrough(), { isTTY: true });
    let text = '';
    out.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const cause = Object.assign(new Error(EVIL), { stderr: EVIL });
    (await createLogger('info', out)).error({ file: EVIL, err: cause, [EVIL]: { in: [EVIL] } }, EVIL);
    await expect.poll(() => text).toContain('file');
    expect(text.replaceAll('\n', '')).not.toMatch(ORDERS);
    expect(text).toContain('\\u009b');
    expect(text).toContain('a \\ "b"');
  });

  it.each([true, false])(
    'has colours where the terminal shows them and its user wants them: %s',
    async (has) => {
      const out = Object.assign(new PassThrough(), { isTTY: true, hasColors: () => has });
      let text = '';
      out.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      (await createLogger('info', out)).info('here I am');
      await expect.poll(() => text).toContain('here I am');
      expect(text.includes('\u001b[')).toBe(has);
    },
  );

  it('says of a secret whether it is set', async () => {
    const { lines, out } = collect();
    const logger = await createLogger('info', out);
    logger.info({ settings: { MONGODB_URI: null, BASIC_AUTH_PASSWORD: 'hunter-2' } }, 'x');
    await expect.poll(() => lines.length).toBe(1);
    expect(lines[0]).toMatchObject({ settings: { MONGODB_URI: null, BASIC_AUTH_PASSWORD: '(secret)' } });
  });

  it('lets no more than a little wait for a reader who does not read, and goes on when it reads', async () => {
    const out = new PassThrough();
    const logger = await createLogger('info', out);
    for (let line = 0; line < 100; line++) logger.info('x'.repeat(100_000));
    expect(out.writableLength).toBeLessThan(2_000_000);
    let text = '';
    out.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await expect.poll(() => out.writableLength).toBe(0);
    logger.info('here I am');
    await expect.poll(() => text).toContain('here I am');
  });

  it('keeps to its level', async () => {
    const { lines, out } = collect();
    const logger = await createLogger('warn', out);
    logger.info('quiet');
    logger.warn('loud');
    await expect.poll(() => lines.map(({ msg }) => msg)).toEqual(['loud']);
  });
});

const REVISION = 'f'.repeat(40);

/** A pass that brought the store from the one fleet to the other. */
function passOf(before: Files, after: Files): PassOutcome {
  const [desired, applied] = [stateOf(after), appliedOf(before)];
  const { steps } = makePlan([...desired.keys(), ...applied.keys()], desired, applied);
  const ids = steps
    .filter((step) => step.after !== null)
    .map(({ kind, name }, index) => ({ kind, name, id: index + 7 }));
  const head = { branch: 'refs/heads/main', revision: REVISION };
  return { ok: true, report: { head, steps, ids, seeding: null, changedElsewhere: [], rewrittenFrom: null } };
}

function passLog() {
  const lines: Line[] = [];
  const logger = pino({ level: 'trace', base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const tell = createPassLog(logger);
  return {
    lines,
    tell: async (outcome: PassOutcome, status: Partial<Status> = {}): Promise<Line[]> => {
      await tell(outcome, { ...STARTING, ...status });
      return lines.splice(0);
    },
  };
}

const FLEET: Files = {
  'apps/web.yaml': 'container_image: web:1\nenv_vars: {KEY: old-value}\n',
  'apps/cron.yaml': 'container_image: cron:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
};

describe('the log of passes', () => {
  it('says of each object what changed, by which file and which revision, and the id it got', async () => {
    const next = {
      'apps/team/web.yaml': 'container_image: web:2\nenv_vars: {KEY: new-value}\n',
      'device-groups/edge.yaml': 'apps: [web]\n',
    };
    const lines = await passLog().tell(passOf(FLEET, next));
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

  it('tells nothing of a pass that changed nothing', async () => {
    expect(await passLog().tell(passOf(FLEET, FLEET))).toEqual([]);
  });

  it('tells of no trouble where the manager is stopping', async () => {
    const message = 'the manager is shutting down';
    const { tell } = passLog();
    const failed = { ok: false, error: new HoldfastError('unavailable', message) } as const;
    expect(await tell(failed)).toEqual([]);
  });

  it('tells at most fifty objects of a pass one by one', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`apps/a${index}.yaml`, 'container_image: a\n']),
    );
    const lines = await passLog().tell(passOf({}, many));
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toMatchObject({ msg: 'applied', changes: 60 });
  });

  it('tells a problem once, its end once, and again when it comes back', async () => {
    const { tell } = passLog();
    const [same, none] = [passOf(FLEET, FLEET), { problems: [] }];
    const problem = { file: 'apps/a.yaml', line: 1, column: 2, code: 'field-unknown', message: 'm' } as const;
    const there = { problems: [{ ...problem, severity: 'error' as const, since: 0 }] };
    expect(await tell(same, there)).toMatchObject([
      { file: 'apps/a.yaml', line: 1, column: 2, problem: 'm' },
    ]);
    expect(await tell(same, there)).toEqual([]);
    expect(await tell(same, none)).toMatchObject([
      { level: 30, msg: 'problem in desired state is resolved', file: 'apps/a.yaml', problem: 'm' },
    ]);
    expect(await tell(same, none)).toEqual([]);
    expect(await tell(same, there)).toHaveLength(1);
  });

  it('gives way to others where many problems come at once', async () => {
    const problems = Array.from({ length: 1000 }, (_, index) => ({
      ...{ file: `other/${index}.txt`, line: 1, column: 1, code: 'file-unexpected' as const, message: 'm' },
      ...{ severity: 'warning' as const, since: 0 },
    }));
    const { tell } = passLog();
    expect(await yieldsDuring(() => tell(passOf(FLEET, FLEET), { problems }))).toBeGreaterThan(100);
    expect(await yieldsDuring(() => tell(passOf(FLEET, FLEET), { problems: [] }))).toBeGreaterThan(100);
  });

  it('tells a fault once, another one too, and its end', async () => {
    const { tell } = passLog();
    const fault = (message: string): PassOutcome => ({
      ok: false,
      error: new HoldfastError('unavailable', message),
    });
    expect(await tell(fault('the disk is full'))).toMatchObject([
      { msg: 'pass failed', reason: 'the disk is full' },
    ]);
    expect(await tell(fault('the disk is full'))).toEqual([]);
    expect(await tell(fault('the disk is gone'))).toMatchObject([
      { reason: 'the disk is gone', kind: 'unavailable' },
    ]);
    expect(await tell(passOf(FLEET, FLEET))).toMatchObject([
      { msg: 'reconciling works again', after: 'the disk is gone' },
    ]);
    expect(await tell(passOf(FLEET, FLEET))).toEqual([]);
  });

  it('tells when it is tried again as it tells every time', async () => {
    const error = {
      kind: 'unavailable',
      message: 'm',
      since: 0,
      failures: 1,
      retryAt: 1_700_000_000_000,
    } as const;
    const outcome: PassOutcome = { ok: false, error: new HoldfastError('unavailable', 'm') };
    const origin = { reachedAt: null, error, cause: null };
    expect(await passLog().tell(outcome, { error, origin })).toMatchObject([
      { msg: 'origin cannot be used', retryAt: '2023-11-14T22:13:20.000Z' },
      { msg: 'pass failed', retryAt: '2023-11-14T22:13:20.000Z' },
    ]);
    const refused = await passLog().tell(outcome, { error: { ...error, retryAt: null } });
    expect(refused).toMatchObject([{ msg: 'pass failed', retryAt: null }]);
  });

  it('tells of a rewritten history, and of ids that start at the floor: a warning if a store was lost', async () => {
    const pass = passOf(FLEET, FLEET);
    if (!pass.ok) throw new Error('not a pass');
    const seeding = {
      cause: 'no-counters' as const,
      record: 'none' as const,
      adopted: null,
      names: 3,
      kept: 0,
      floor: 1_700_000_000,
      historyIsComplete: true,
    };
    const lines = await passLog().tell({
      ok: true,
      report: { ...pass.report, seeding, rewrittenFrom: 'a'.repeat(40) },
    });
    expect(lines).toMatchObject([
      { level: 30, ...seeding },
      { from: 'a'.repeat(40), revision: REVISION },
    ]);
    const afterLoss = { ...pass.report, seeding: { ...seeding, record: 'used' as const } };
    expect(await passLog().tell({ ok: true, report: afterLoss })).toMatchObject([{ level: 40 }]);
  });
});
