import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FlatStore } from '../../support/flat-store.ts';
import {
  AT,
  app,
  appStep,
  CONTEXT,
  everything,
  group,
  groupIds,
  groupStep,
  operationsOf,
  pass,
  rejection,
} from '../contract/support.ts';
import { canRace } from './probe.ts';
import { type OpenedDatabase, openDatabase, openInNewDatabase, SERVER } from './test-database.ts';

const canRaceHere = await canRace();

let opened: OpenedDatabase;
let managers: FlatStore[];

describe.skipIf(!canRaceHere)('three managers on one database', { ...SERVER.limits, retry: 0 }, () => {
  beforeEach(async () => {
    opened = await openInNewDatabase();
    managers = [opened.store, await openDatabase(opened.database), await openDatabase(opened.database)];
  });
  afterEach(async () => {
    await Promise.all(managers.slice(1).map((manager) => manager.close()));
    await opened.cleanup();
  });

  it('claim a revision once if all claim it at the same time', async () => {
    const calls = managers.flatMap((manager) =>
      Array.from({ length: 10 }, () => rejection(manager.claimHead(0, 'r1', AT))),
    );
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(1);
    expect((await opened.store.state()).sequence).toBe(1);
  });

  it('raise an id once for a pass that all apply, and once for each restart and prune', async () => {
    const steps = [appStep('web', app('v1')), groupStep('edge', group('web'))];
    const sequence = await opened.store.claimHead(0, 'r1', AT);
    const batch = { revision: 'r1', sequence, at: AT, steps, origins: [], rules: 'r1' };
    await Promise.all(managers.map((manager) => manager.apply(batch)));
    expect(await groupIds(opened.store, 'edge')).toEqual([1, 1]);
    const calls = managers.flatMap((manager) =>
      Array.from({ length: 10 }, async () => (await manager.restartApp('web', CONTEXT))?.value.appId),
    );
    const prunes = managers.map((manager) => manager.pruneAll(CONTEXT));
    const ids = await Promise.all(calls);
    await Promise.all(prunes);
    expect(ids.sort((a, b) => a! - b!)).toEqual(Array.from({ length: 30 }, (_, index) => index + 2));
    expect(await groupIds(managers[1]!, 'edge')).toEqual([1, 4]);
    expect(await operationsOf(opened.store)).toHaveLength(33);
  });

  it('never show a part of another’s pass', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `app-${index}`);
    const steps = (image: string) => names.map((name) => appStep(name, app(image)));
    await pass(opened.store, [...steps('v1'), groupStep('edge', group(...names))], 'v1');
    let isDone = false;
    const passes = (async () => {
      for (const version of ['v2', 'v3', 'v4', 'v5']) await pass(managers[1]!, steps(version), version);
    })().finally(() => {
      isDone = true;
    });
    while (!isDone) {
      const info = await managers[2]!.groupInfo('edge');
      expect(new Set(info?.apps.map(({ content }) => content.container_image))).toEqual(
        new Set([info?.revision]),
      );
    }
    await passes;
  });

  it('read the same state after concurrent restarts', async () => {
    await pass(opened.store, [appStep('web', app('v1')), groupStep('edge', group('web'))]);
    await Promise.all(managers.map((manager) => manager.restartApp('web', CONTEXT)));
    const [first, ...others] = await Promise.all(managers.map((manager) => everything(manager)));
    for (const other of others) expect(other).toEqual(first);
  });
});
