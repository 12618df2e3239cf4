import { readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { createMaintenance } from '../../../../src/source/git/repository/maintenance.ts';
import { findRepository } from '../../../../src/source/git/repository/repository.ts';
import { testRepository } from '../../../support/git.ts';
import { MACHINE, openSource } from '../support.ts';

/** Seconds: as long as a slow machine may take, it stays younger than what is taken for left behind. */
const YOUNG = -60;

const LEFT = [
  { name: 'tmp_pack_abc123', text: 'PACK', age: 60, stays: false, why: 'half a pack' },
  { name: 'pack-1.keep', text: 'fast-import', age: 60, stays: false, why: 'the mark of a writer' },
  {
    name: 'pack-3.keep',
    text: 'fast-import',
    age: 0,
    stays: false,
    why: 'the mark of a writer that has just died',
  },
  { name: 'pack-2.keep', text: 'release 1.0\n', age: 60, stays: true, why: 'the mark of a person' },
  { name: 'tmp_pack_def456', text: 'PACK', age: YOUNG, stays: true, why: 'half a pack that is young' },
  {
    name: '.tmp-4711-pack-abc.pack',
    text: 'PACK',
    age: 60,
    stays: false,
    why: 'a pack that has no name yet',
  },
  {
    name: '.tmp-4711-pack-def.pack',
    text: 'PACK',
    age: YOUNG,
    stays: true,
    why: 'such a pack that is young',
  },
  { name: 'tmp_mtimes_abc123', text: 'MTME', age: 60, stays: false, why: 'half of what goes with a pack' },
];

it.each(LEFT)(
  '$why among the packs, at a start ($name, stays: $stays)',
  async ({ name, text, age, stays }) => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const packs = join(repository.folder, '.git/objects/pack');
    await writeFile(join(packs, name), text);
    const then = Date.now() / 1000 - age;
    await utimes(join(packs, name), then, then);
    const source = await openSource(join(repository.folder, 'ds'));
    await source.recover();
    expect((await readdir(packs)).includes(name)).toBe(stays);
  },
);

it.each([
  { name: 'of a partial clone', extra: 'pack-1.promisor', reason: /partial clone/ },
  { name: 'that git cannot join', extra: 'none', reason: /repack failed/ },
])('packs $name are left, and that is told once, as is its end', async ({ extra, reason }) => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const packs = join(repository.folder, '.git/objects/pack');
  for (let number = 1; number <= 60; number++) {
    await writeFile(join(packs, `pack-${number}.pack`), 'no pack');
    await writeFile(join(packs, `pack-${number}.idx`), 'no index');
  }
  await writeFile(join(packs, extra), '');
  const found = await findRepository(repository.folder, MACHINE);
  const told: (string | null)[] = [];
  const maintenance = createMaintenance(
    found as NonNullable<typeof found>,
    { command: commands.repackReached(), closeWriters: async () => undefined },
    (why) => told.push(why),
  );
  onTestFinished(maintenance.close);
  await maintenance.run();
  await maintenance.run();
  expect(told).toEqual([expect.stringMatching(reason)]);
  const left = (await readdir(packs)).filter((name) => name.endsWith('.pack'));
  expect(left).toHaveLength(60);
  for (const name of left) await rm(join(packs, name));
  await maintenance.run();
  await maintenance.run();
  expect(told).toEqual([expect.stringMatching(reason), null]);
});
