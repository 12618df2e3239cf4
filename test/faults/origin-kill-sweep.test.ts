import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FAULT_POINTS, type FaultPoint } from '../../src/faults.ts';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import { type ProcessOptions, startProcessManager, tryStart } from '../support/process-manager.ts';
import { Client } from './fleet-model.ts';

const execute = promisify(execFile);

interface Place {
  origin: TestOrigin;
  options: ProcessOptions;
}

async function newPlace(): Promise<Place> {
  const origin = await testOrigin(SMALL_FLEET);
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state' };
  return { origin, options: { repository: origin.person, dataFolder, env } };
}

/** Starts the manager with a fault, and writes until it is dead. */
async function dieAt({ options }: Place, fault: string, client: Client): Promise<void> {
  const manager = await tryStart({ ...options, env: { ...options.env, HOLDFAST_FAULT: fault } });
  if (manager === null || !(await manager.isReady())) return;
  expect(await client.writeUntilDeath(manager, 50), `${fault} was never passed`).toBeLessThan(50);
  await manager.kill();
}

/** Origin and mirror are whole, and nothing keeps git from working in them. */
async function expectSound({ origin, options }: Place): Promise<void> {
  for (const folder of [origin.url, join(options.dataFolder, 'mirror.git')]) {
    const fsck = await execute('git', ['fsck', '--full', '--strict', '--no-dangling', '--no-progress'], {
      cwd: folder,
    });
    // A mirror has no branch of its own.
    const told = (fsck.stdout + fsck.stderr).split('\n').filter((line) => !line.startsWith('notice: '));
    expect(told.join('\n')).toBe('');
  }
}

/** The next start finds everything as it was answered, and works. */
async function expectRecovered(place: Place, client: Client): Promise<void> {
  const manager = await startProcessManager(place.options);
  await manager.request('POST', '/api/v2/reconcile');
  await client.expectKept(manager, place.origin.bare);
  await expectSound(place);
  expect(await client.writeUntilDeath(manager, 3)).toBe(3);
  await client.expectKept(manager, place.origin.bare);
  const { body } = await manager.request('GET', '/api/v2/reconcile');
  expect(body.revision_applied).toBe(await place.origin.bare.git('rev-parse', 'main'));
  expect(await manager.stop()).toBe(0);
  await expectSound(place);
}

/** Points of a checkout, which a mirror does not come by. */
const OF_A_CHECKOUT: readonly FaultPoint[] = [
  'repository-begun',
  'undo-begins',
  'undo-done',
  'switch-noted',
  'tree-switched',
  'branch-synced',
  'publish-done',
];
/** Points that come by at the first start already, so that two deaths are of interest. */
const AT_START: readonly FaultPoint[] = ['pass-begins', 'claim-begins', 'claim-done', 'apply-done'];
const ONCE: readonly FaultPoint[] = ['seed-done'];

const inWrites = FAULT_POINTS.filter((point) => ![...OF_A_CHECKOUT, ...ONCE].includes(point));

describe('the process is killed, with a repository elsewhere', () => {
  it.each(inWrites.map((point) => (AT_START.includes(point) ? `${point}:6` : `${point}:2`)))(
    'at %s, in the middle of writes: what was answered is at origin',
    async (fault) => {
      const place = await newPlace();
      const client = new Client();
      await dieAt(place, fault, client);
      await expectRecovered(place, client);
    },
  );

  it.each([...AT_START, ...ONCE])('at %s of the first start', async (fault) => {
    const place = await newPlace();
    const client = new Client();
    await dieAt(place, fault, client);
    await expectRecovered(place, client);
  });

  it('at any time, again and again', async () => {
    const place = await newPlace();
    const client = new Client();
    for (let round = 0; round < 12; round++) {
      const manager = await startProcessManager(place.options);
      await manager.request('POST', '/api/v2/reconcile');
      await client.expectKept(manager, place.origin.bare);
      const timer = setTimeout(() => void manager.kill(), Math.random() * 600);
      await client.writeUntilDeath(manager, 500);
      clearTimeout(timer);
      await manager.kill();
      await expectSound(place);
    }
    await expectRecovered(place, client);
  });
});
