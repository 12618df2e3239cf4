import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { NO_FAULTS } from '../../../src/faults.ts';
import { engineAt } from '../../../src/worker/engine/client.ts';
import { ImageCare } from '../../../src/worker/loop/image-care.ts';
import { observe } from '../../../src/worker/loop/observe.ts';
import { Problems } from '../../../src/worker/loop/problems.ts';
import type { Parts } from '../../../src/worker/parts.ts';
import { forgetImages } from '../../../src/worker/plan/images.ts';
import { emptyMemory, type Memory } from '../../../src/worker/plan/memory.ts';
import { startFakeEngine } from '../../support/fake-engine.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { wanted } from '../plan/simulation.ts';

const TAGS = ['v1', 'v2', 'v3'] as const;

/** A worker that pulled three images on an engine that refuses to remove the first. */
async function start(high = 0) {
  const fake = await startFakeEngine();
  const engine = engineAt(fake.socket, { credentials: { fixed: null, dockerConfig: null, env: {} } });
  let memory: Memory = { ...emptyMemory(), pruneId: 1 };
  for (const [index, tag] of TAGS.entries()) {
    const reference = `example.com/web:${tag}`;
    fake.registry.push(reference, tag);
    const { id } = await engine.pull(reference, new AbortController().signal);
    memory = { ...memory, pulled: { ...memory.pulled, [id]: { reference, lastUse: index } } };
  }
  const [first = ''] = Object.keys(memory.pulled);
  fake.fail(
    new RegExp(`^DELETE /images/${encodeURIComponent(first)}`),
    { status: 500, message: 'busy' },
    1000,
  );
  const config = { DISK_HIGH: high, ORCHESTRATOR_MANAGER_CHECK_IN_TIME: 10 };
  const clock = { now: () => 1_000_000, elapsed: () => 0 };
  const parts = { config, clock, engine, faults: NO_FAULTS, logger: pino({ level: 'silent' }) };
  const problems = new Problems(() => 0);
  const care = new ImageCare(parts as unknown as Parts, problems, {
    get: () => memory,
    set: (change) => {
      memory = { ...memory, ...change };
    },
  });
  const ownership = { worker: 'main', prefix: '', takesOver: () => false };
  const attention = { isChanging: () => false, references: [] };
  const actual = await observe(engine, ownership, attention, new Map());
  const kept = async (): Promise<string[]> => (await engine.images()).flatMap(({ tags }) => tags);
  return { care, actual, kept, problems, memory: () => memory };
}

describe('the care for images, when one cannot be removed,', () => {
  it('prunes the others, and is done with that', async () => {
    const { care, actual, kept, memory } = await start();
    await care.prune(actual, { ...wanted([]), pruneId: 2 });
    expect(await kept()).toEqual(['example.com/web:v1']);
    expect(memory().pruneId).toBe(2);
  });

  it('removes the others from a full disk, and says how full it is', async () => {
    const { care, actual, kept, problems } = await start();
    const need = { actual, wanted: wanted([]), isShort: false };
    const { disk, removed } = await care.careForDisk(await temporaryFolder(), need);
    expect(await kept()).toEqual(['example.com/web:v1']);
    expect(removed).toBe(2);
    expect(disk.lack).toMatch(/^the disk is \d+ % full \(\d+ [MG]iB of \d+ GiB are free\), and may be 0 %$/);
    expect(problems.list()).toMatchObject([
      {
        code: 'disk-pressure',
        text: `${disk.lack}, and no unused image is left to remove; nothing is pulled`,
        next_try: 1010,
      },
    ]);
  });

  it('removes one image each time that a pull fails for want of room, then says how much there is', async () => {
    const { care, actual, kept, problems } = await start(100);
    const folder = await temporaryFolder();
    const need = { actual, wanted: wanted([]), isShort: true };
    expect(await care.careForDisk(folder, { ...need, isShort: false })).toMatchObject({ removed: 0 });
    expect(await care.careForDisk(folder, need)).toEqual({
      disk: { hasRoomToSwap: true, lack: null },
      removed: 1,
    });
    expect(await kept()).toEqual(['example.com/web:v1', 'example.com/web:v3']);
    expect(problems.list()).toEqual([]);
    expect(await care.careForDisk(folder, need)).toMatchObject({ removed: 1 });
    expect(await care.careForDisk(folder, need)).toMatchObject({ removed: 0 });
    expect(problems.list()).toMatchObject([
      { text: expect.stringMatching(/^a pull needs more room than there is: \d+/) },
    ]);
  });
});

describe('what is remembered of images', () => {
  it('forgets one that is gone, and none that was pulled while the engine was looked at', async () => {
    const { actual, memory } = await start();
    const gone = { reference: 'example.com/web:v0', lastUse: 0 };
    const before = { ...memory().pulled, gone };
    const pulled = { ...before, 'came-after': { reference: 'example.com/web:v4', lastUse: 4 } };
    const known = forgetImages({ ...memory(), pulled }, actual, before);
    expect(Object.keys(known.pulled)).toEqual([...Object.keys(memory().pulled), 'came-after']);
  });
});
