import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startProcessManager } from '../support/process-manager.ts';
import type { Luck } from './disk-model.ts';
import { expectNothingLost, losePower, type Run, recordRun, type Setup, type Step } from './power-run.ts';
import { canTrace } from './strace-log.ts';

/**
 * A manager whose store has small pages. A checkpoint is due after a number of pages, so that a few megabytes of reports lead to
 * several.
 */
async function smallPages(): Promise<Setup> {
  const machine = join(await temporaryFolder(), 'machine');
  const folder = join(machine, 'fleet');
  await mkdir(folder, { recursive: true });
  const repository = repositoryAt(folder);
  await repository.git('init', '--quiet', '--initial-branch=main');
  await repository.commit(inDesiredState(SMALL_FLEET), 'the first fleet');
  const setup = {
    machine,
    elsewhere: null,
    options: { repository, dataFolder: join(machine, 'data') },
    repository,
  };
  const manager = await startProcessManager(setup.options);
  await manager.request('POST', '/api/v2/apps/web/restart');
  expect(await manager.stop()).toBe(0);
  const db = new DatabaseSync(join(machine, 'data', 'store.sqlite'));
  db.exec('PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM');
  db.close();
  return setup;
}

/** Lists of reports that fill the log of the store several times, with other writes between them. */
function steps(): Step[] {
  const lists = Array.from({ length: 32 }, (_, list): Step => {
    const reports = Array.from({ length: 100 }, (_, index) => ({
      hostname: `host-${list}-${index}`,
      device_group: 'edge',
      report_creation_time: 1000 * list + index,
      report: 'x'.repeat(700),
    }));
    return ['POST', 'reports', reports];
  });
  return lists.flatMap((list, index): Step[] => {
    if (index % 4 === 1) return [list, ['POST', 'apps/web/restart']];
    if (index % 4 === 3) return [list, ['PUT', 'apps/web/update', { container_image: `a:${index}` }]];
    return [list];
  });
}

const isFile = (path: string): boolean => path.endsWith('/store.sqlite');
const isLog = (path: string): boolean => path.endsWith('/store.sqlite-wal');

/** A checkpoint after which the log began anew, as indexes of calls. */
interface Checkpoint {
  /** The first change of the store's file. */
  from: number;
  /** The call after the last one. */
  to: number;
  /** The write that begins the log anew. */
  anew: number;
  /** The first reply after that. */
  reply: number;
}

function checkpointsOf({ traced }: Run): Checkpoint[] {
  const found: Checkpoint[] = [];
  let copied: number[] = [];
  for (const [index, one] of traced.entries()) {
    if (one.kind !== 'write') continue;
    if (isFile(one.path)) copied.push(index);
    if (!isLog(one.path)) continue;
    const reply = traced.findIndex((next, at) => at > index && next.kind === 'answer');
    const [from] = copied;
    // A start copies some pages, too.
    if (one.at === 0 && from !== undefined && copied.length > 100 && reply >= 0)
      found.push({ from, to: (copied.at(-1) ?? from) + 1, anew: index, reply });
    copied = [];
  }
  return found;
}

const nothing: Luck = () => false;
/** Of what was not synced, all changes of the store's file are on the disk. */
const fileAlone: Luck = (_, path = '') => isFile(path);
const logAlone: Luck = (_, path = '') => isLog(path);

/** The moments before, during and after a checkpoint at which power is lost, and what is on the disk then. */
function lossesIn({ from, to, anew, reply }: Checkpoint): [at: number, luck: Luck][] {
  const middle = Math.floor((from + to) / 2);
  return [
    [from, nothing],
    ...[nothing, fileAlone, logAlone].map((luck): [number, Luck] => [middle, luck]),
    [to, nothing],
    [to, fileAlone],
    [anew, nothing],
    [anew + 1, logAlone],
    [reply + 1, nothing],
  ];
}

/** The same run of a manager that never syncs the store's file. */
function withoutSyncsOfFile(run: Run): Run {
  const traced = run.traced.map((one) =>
    one.kind === 'sync' && isFile(one.path) ? { kind: 'answer' as const, text: '' } : one,
  );
  return { ...run, traced };
}

it.skipIf(!canTrace())(
  'a loss of power before, during and after a checkpoint takes back no acknowledged report or write',
  { timeout: 900_000 },
  async () => {
    const setup = await smallPages();
    const run = await recordRun(setup, steps());
    const [first, ...others] = checkpointsOf(run);
    const last = others.at(-1);
    if (first === undefined || last === undefined) throw new Error('there were too few checkpoints');
    for (const [at, luck] of [...lossesIn(first), ...lossesIn(last)]) {
      await losePower(setup, run, at, luck);
      await expectNothingLost(setup, run, at);
    }
    const moment = fc.integer({ min: first.from, max: first.reply + 1 });
    await fc.assert(
      fc.asyncProperty(moment, fc.func(fc.boolean()), async (at, luck) => {
        await losePower(setup, run, at, luck);
        await expectNothingLost(setup, run, at);
      }),
      { numRuns: 5, endOnFailure: true },
    );
    // Without the sync at its end, a checkpoint loses reports once the log is new.
    await losePower(setup, withoutSyncsOfFile(run), first.reply + 1, nothing);
    await expect(expectNothingLost(setup, run, first.reply + 1)).rejects.toThrow();
  },
);
