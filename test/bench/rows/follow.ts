import { randomBytes } from 'node:crypto';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { Store } from '../../../src/store/objects/port.ts';
import { openMongoStore } from '../../../src/store/open/mongo.ts';
import { flat } from '../../support/flat-store.ts';
import type { Bench, Line } from '../bench.ts';
import { appPath, appText, importFiles, makeBare, makeFleet } from '../fleet.ts';
import { type Manager, startManager } from '../manager.ts';
import { alternate, ms, timed, times } from '../statistics.ts';

const APPS = 10_000;
const ROUNDS = 8;
/** More writes than the head lists: a manager that has not read since then reads all objects. */
const FORGOTTEN = 70;

/** A manager that follows a commit that another one applied: reading only the change, compared with reading everything. */
export async function follow(bench: Bench): Promise<Line[]> {
  const uri = process.env['HOLDFAST_TEST_MONGODB_URI'];
  if (uri === undefined) {
    bench.say('HOLDFAST_TEST_MONGODB_URI is not set: left out');
    return [];
  }
  const fleet = await makeFleet(bench, APPS, 500);
  const bare = await makeBare(bench, fleet);
  const database = `holdfast_bench_${randomBytes(6).toString('hex')}`;
  const shared = { MONGODB_URI: uri, MONGODB_DATABASE: database };
  const origin = { GIT_REMOTE: bare, DESIRED_STATE: 'desired-state' };
  const env = { ...origin, ...shared };
  const first = await startManager(bench, { folder: null, env });
  const second = await startManager(bench, { folder: null, env });
  const store = await openStore(bench, uri, database);
  let round = 0;
  const foreignCommit = async (): Promise<void> => {
    round += 1;
    await importFiles(bare, [[appPath(round), appText(round, 1000 + round)]]);
    await first.request('POST', '/api/v2/reconcile');
  };
  const readChange = async (): Promise<number> => {
    await foreignCommit();
    return timed(() => reconcile(second));
  };
  const readAll = async (): Promise<number> => {
    await foreignCommit();
    const revision = (await store.state()).attempted?.revision ?? '';
    for (let count = 0; count < FORGOTTEN; count += 1) await store.markAttempted(revision, count);
    return timed(() => reconcile(second));
  };
  const [ours, theirs] = await alternate(ROUNDS, readChange, readAll);
  return [
    {
      row: 'another manager’s commit -> followed, 1 of 10,000 apps',
      measured: `p50 ${ms(ours)}`,
      baseline: `${ms(theirs)} reading everything`,
      ratio: times(ours / theirs),
      target: '<= 0.50',
      met: ours / theirs <= 0.5,
    },
  ];
}

async function openStore(bench: Bench, uri: string, database: string): Promise<Store> {
  const store = flat(
    await openMongoStore({
      uri,
      database,
      defaults: appDefaults(['nebula', 'bridge']),
      random: randomBytes,
      onServer: () => undefined,
      onUnavailable: (error) => {
        throw error;
      },
    }),
  );
  bench.whenDone(() => store.close());
  return store;
}

function reconcile(manager: Manager): Promise<unknown> {
  return manager.request('POST', '/api/v2/reconcile');
}
