import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import {
  diskAt,
  expectNothingLost,
  losePower,
  type Run,
  readTree,
  recordRun,
  type Setup,
} from './power-run.ts';
import { canTrace } from './strace-log.ts';

async function newRepository(folder: string): Promise<TestRepository> {
  await mkdir(folder, { recursive: true });
  const repository = repositoryAt(folder);
  await repository.git('init', '--quiet', '--initial-branch=main');
  await repository.commit(inDesiredState(SMALL_FLEET), 'the first fleet');
  return repository;
}

/** A manager of a checkout, which is on the machine that loses power. */
async function checkout(): Promise<Setup> {
  const machine = join(await temporaryFolder(), 'machine');
  const repository = await newRepository(join(machine, 'fleet'));
  return { machine, elsewhere: null, options: { repository, dataFolder: join(machine, 'data') }, repository };
}

/** A manager of an origin, which is on another machine and keeps its power. */
async function origin(): Promise<Setup> {
  const machine = join(await temporaryFolder(), 'machine');
  const user = await newRepository(join(machine, 'user'));
  const url = join(machine, 'origin.git');
  await user.git('clone', '--quiet', '--bare', '.', url);
  const env = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
  const options = { repository: user, dataFolder: join(machine, 'data'), env };
  return { machine, elsewhere: url, options, repository: repositoryAt(url) };
}

/** The moments after git has replaced its index, up to three calls later. */
function cutsInSwitches({ traced }: Run): number[] {
  return traced.flatMap((one, index) =>
    one.kind === 'rename' && one.to.endsWith('/.git/index') ? [index + 1, index + 2, index + 3] : [],
  );
}

/** The moments at which the store is synced, but not the branch, which has moved before. */
function cutsBeforeBranch({ traced }: Run): number[] {
  let isMoved = false;
  return traced.flatMap((one, index) => {
    if (one.kind === 'rename' && one.to.endsWith('/refs/heads/main')) isMoved = true;
    if (one.kind !== 'sync') return [];
    if (one.path.endsWith('/refs/heads')) isMoved = false;
    return isMoved && one.path.endsWith('-wal') ? [index + 1] : [];
  });
}

/** Which of the changes that were not synced are on the disk. */
const ANY_LUCK = fc.func(fc.boolean());

/** Loses power at this many random moments. */
async function expectKeptAt(setup: Setup, run: Run, cut: fc.Arbitrary<number>, runs: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(cut, ANY_LUCK, async (at, luck) => {
      await losePower(setup, run, at, luck);
      await expectNothingLost(setup, run, at);
    }),
    { numRuns: runs, endOnFailure: true },
  );
}

if (!canTrace()) process.stdout.write('strace cannot be used: the tests of a loss of power are skipped\n');

describe('a loss of power, simulated at moments of a recorded run', () => {
  it.skipIf(!canTrace()).each([
    ['a checkout', checkout],
    ['an origin', origin],
  ] as const)(
    'takes back no acknowledged write of a manager of %s',
    { timeout: 900_000 },
    async (_, newSetup) => {
      const setup = await newSetup();
      const run = await recordRun(setup);
      // The recording is complete: replayed, it makes the same files.
      const end = diskAt(setup, run, run.traced.length).seen();
      expect(new Map(end)).toEqual(await readTree(setup.machine));
      for (const at of [...run.answers.map(({ done }) => done + 1), ...cutsBeforeBranch(run)]) {
        await losePower(setup, run, at, () => false);
        await expectNothingLost(setup, run, at);
      }
      await expectKeptAt(setup, run, fc.integer({ min: 0, max: run.traced.length }), 8);
      const inSwitches = cutsInSwitches(run);
      if (setup.elsewhere === null) await expectKeptAt(setup, run, fc.constantFrom(...inSwitches), 5);
    },
  );
});
