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
  type Place,
  type Run,
  readTree,
  recordRun,
} from './power-run.ts';
import { canTrace } from './strace-log.ts';

async function newRepository(folder: string): Promise<TestRepository> {
  await mkdir(folder, { recursive: true });
  const repository = repositoryAt(folder);
  await repository.git('init', '--quiet', '--initial-branch=main');
  await repository.commit(inDesiredState(SMALL_FLEET), 'the first fleet');
  return repository;
}

/** Everything is on the machine that loses power. */
async function checkout(): Promise<Place> {
  const machine = join(await temporaryFolder(), 'machine');
  const repository = await newRepository(join(machine, 'fleet'));
  return { machine, elsewhere: null, options: { repository, dataFolder: join(machine, 'data') }, repository };
}

/** Origin is a machine of its own, and keeps its power. */
async function origin(): Promise<Place> {
  const machine = join(await temporaryFolder(), 'machine');
  const person = await newRepository(join(machine, 'person'));
  const url = join(machine, 'origin.git');
  await person.git('clone', '--quiet', '--bare', '.', url);
  const env = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
  const options = { repository: person, dataFolder: join(machine, 'data'), env };
  return { machine, elsewhere: url, options, repository: repositoryAt(url) };
}

/** Between the moment at which git has put its new index in place, and the next three calls. */
function cutsInSwitches({ traced }: Run): number[] {
  return traced.flatMap((one, index) =>
    one.kind === 'rename' && one.to.endsWith('/.git/index') ? [index + 1, index + 2, index + 3] : [],
  );
}

/** The store is on the disk already, and the branch, which moved before, is not. */
function cutsBeforeBranch({ traced }: Run): number[] {
  let isMoved = false;
  return traced.flatMap((one, index) => {
    if (one.kind === 'rename' && one.to.endsWith('/refs/heads/main')) isMoved = true;
    if (one.kind !== 'sync') return [];
    if (one.path.endsWith('/refs/heads')) isMoved = false;
    return isMoved && one.path.endsWith('-wal') ? [index + 1] : [];
  });
}

const ANY_LUCK = fc.func(fc.boolean());

async function expectKeptAt(place: Place, run: Run, cut: fc.Arbitrary<number>, runs: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(cut, ANY_LUCK, async (at, luck) => {
      await losePower(place, run, at, luck);
      await expectNothingLost(place, run, at);
    }),
    { numRuns: runs, endOnFailure: true },
  );
}

if (!canTrace()) process.stdout.write('no strace here: no loss of power is replayed\n');

describe('a loss of power, done again from what was recorded', () => {
  it.skipIf(!canTrace()).each([
    ['in a repository of this machine', checkout],
    ['with a repository elsewhere', origin],
  ] as const)('takes back nothing that was answered, %s', { timeout: 900_000 }, async (_, newPlace) => {
    const place = await newPlace();
    const run = await recordRun(place);
    // What was recorded is all that happened: done again, it makes what is there.
    const end = diskAt(place, run, run.traced.length).seen();
    expect(new Map(end)).toEqual(await readTree(place.machine));
    for (const at of [...run.answers.map(({ done }) => done + 1), ...cutsBeforeBranch(run)]) {
      await losePower(place, run, at, () => false);
      await expectNothingLost(place, run, at);
    }
    await expectKeptAt(place, run, fc.integer({ min: 0, max: run.traced.length }), 8);
    const inSwitches = cutsInSwitches(run);
    if (place.elsewhere === null) await expectKeptAt(place, run, fc.constantFrom(...inSwitches), 5);
  });
});
