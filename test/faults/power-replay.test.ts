import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { disksAt, expectNothingLost, losePower, type Place, readTree, recordRun } from './power-run.ts';
import { canTrace } from './strace-log.ts';

async function newRepository(folder: string): Promise<Place['repository']> {
  const { mkdir } = await import('node:fs/promises');
  await mkdir(folder, { recursive: true });
  const repository = repositoryAt(folder);
  await repository.git('init', '--quiet', '--initial-branch=main');
  const files = Object.entries(SMALL_FLEET).map(([path, text]) => [`desired-state/${path}`, text]);
  await repository.commit(Object.fromEntries(files), 'the first fleet');
  return repository;
}

async function checkout(): Promise<Place> {
  const machine = join(await temporaryFolder(), 'machine');
  const repository = await newRepository(join(machine, 'fleet'));
  const options = { repository, dataFolder: join(machine, 'data') };
  return { machine, elsewhere: null, options, repository };
}

async function origin(): Promise<Place> {
  const machine = join(await temporaryFolder(), 'machine');
  const person = await newRepository(join(machine, 'person'));
  const url = join(machine, 'origin.git');
  await person.git('clone', '--quiet', '--bare', '.', url);
  const env = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
  const options = { repository: person, dataFolder: join(machine, 'data'), env };
  return { machine, elsewhere: url, options, repository: repositoryAt(url) };
}

describe('a loss of power', () => {
  it.skipIf(!canTrace()).each([
    ['a repository of this machine', checkout],
    ['a repository elsewhere', origin],
  ] as const)('takes back nothing that was answered: %s', async (_, newPlace) => {
    const place = await newPlace();
    const run = await recordRun(place);
    console.log('events', run.traced.length, run.answers.map((a) => a.done));
    // What was recorded is all that happened: done again, it leaves what is there.
    expect(diff(disksAt(place, run, run.traced.length).seen(), await readTree(place.machine))).toEqual([]);
    const bad: string[] = [];
    for (const { done } of run.answers) {
      await losePower(place, run, done + 1, () => false);
      await expectNothingLost(place, run, done + 1).catch((e) => bad.push(`strict ${done}: ${String(e.message).slice(0, 1500)}`));
    }
    for (let i = 0; i < 14; i++) {
      const [cut, luck] = fc.sample(fc.tuple(fc.integer({ min: 0, max: run.traced.length }), fc.func(fc.boolean())), {numRuns: 1, seed: i})[0]!;
      await losePower(place, run, cut, luck);
      await expectNothingLost(place, run, cut).catch((e) => bad.push(`luck ${i} ${cut}: ${String(e.message).slice(0, 1500)}`));
    }
    console.log(bad.join('\n=====\n'));
    expect(bad.length).toBe(0);
  });
});

function diff(a: ReadonlyMap<string, Buffer | null>, b: ReadonlyMap<string, Buffer | null>): string[] {
  const all = new Set([...a.keys(), ...b.keys()]);
  return [...all].filter((p) => a.has(p) !== b.has(p) || (a.get(p) === null) !== (b.get(p) === null) || (a.get(p) && !a.get(p)!.equals(b.get(p)!)));
}
