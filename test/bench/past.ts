import type { Bench } from './bench.ts';
import { appPath, appText, type Fleet, importCommits, makeFleet, type NewCommit } from './fleet.ts';

const AUTHORS = ['Ana', 'Ben', 'Chi', 'Dan', 'Eve', 'Fay', 'Gus', 'Hal', 'Ida', 'Jon'];
/** Unix seconds. */
const START = 1_700_000_000;
/** Seconds between two commits. */
const PAUSE = 600;
/** Of so many commits, one is a merge. */
const MERGES = 10;
/** Follows the whole list of apps in an order that looks random. */
const STRIDE = 7919;

/** A fleet whose branch has so many commits on its first-parent line, each of which changes one app. */
export async function makePast(bench: Bench, apps: number, groups: number, commits: number): Promise<Fleet> {
  const fleet = await makeFleet(bench, apps, groups);
  await importCommits(fleet.folder, commitsOf(apps, commits - 1));
  await fleet.git('reset', '--quiet', '--hard');
  return fleet;
}

function* commitsOf(apps: number, count: number): Generator<NewCommit> {
  for (let index = 0; index < count; index++) {
    const app = (index * STRIDE) % apps;
    const files: [string, string][] = [[appPath(app), appText(app, 2 + index)]];
    const commit = { author: authorAt(index), time: START + index * PAUSE, files };
    yield index % MERGES === 0
      ? { ...commit, message: `Merge pull request #${index} from side`, merges: authorAt(index + 1) }
      : { ...commit, message: `Roll out 1.${2 + index} of service ${app}` };
  }
}

function authorAt(index: number): string {
  return AUTHORS[index % AUTHORS.length] ?? '';
}
