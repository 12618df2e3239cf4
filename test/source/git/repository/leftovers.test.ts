import { execFile } from 'node:child_process';
import { readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { createMaintenance } from '../../../../src/source/git/repository/maintenance.ts';
import { findRepository, type Repository } from '../../../../src/source/git/repository/repository.ts';
import { testRepository } from '../../../support/git.ts';
import { MACHINE, machineWith, openSource } from '../support.ts';

const run = promisify(execFile);

/** Age in seconds: a time in the future, so that the file stays young however long the test takes. */
const YOUNG = -60;

/** Files among the packs: what each is, and whether a start keeps it. */
const PACK_FILES = [
  { what: 'an unfinished pack', name: 'tmp_pack_abc123', text: 'PACK', age: 60, stays: false },
  { what: 'a young unfinished pack', name: 'tmp_pack_def456', text: 'PACK', age: YOUNG, stays: true },
  {
    what: 'a pack without its final name',
    name: '.tmp-1-pack-abc.pack',
    text: 'PACK',
    age: 60,
    stays: false,
  },
  {
    what: 'a young one without its final name',
    name: '.tmp-1-pack-def.pack',
    text: 'PACK',
    age: YOUNG,
    stays: true,
  },
  { what: 'an unfinished file of times', name: 'tmp_mtimes_abc123', text: 'MTME', age: 60, stays: false },
  { what: 'a keep mark of fast-import', name: 'pack-1.keep', text: 'fast-import', age: 60, stays: false },
  { what: 'a new keep mark of fast-import', name: 'pack-3.keep', text: 'fast-import', age: 0, stays: false },
  { what: 'a keep mark of a user', name: 'pack-2.keep', text: 'release 1.0\n', age: 60, stays: true },
];

it('a start removes what killed writers left among the packs, and keeps young unfinished packs and keep marks of users', async () => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const packs = join(repository.folder, '.git/objects/pack');
  for (const { name, text, age } of PACK_FILES) {
    await writeFile(join(packs, name), text);
    const then = Date.now() / 1000 - age;
    await utimes(join(packs, name), then, then);
  }
  const source = await openSource(join(repository.folder, 'ds'));
  await source.recover();
  const names = await readdir(packs);
  const kept = PACK_FILES.filter(({ name }) => names.includes(name));
  expect(kept.map(({ what }) => what)).toEqual(
    PACK_FILES.filter(({ stays }) => stays).map(({ what }) => what),
  );
});

it.each([
  ['of a partial clone', 'pack-1.promisor', /partial clone/],
  ['that git cannot join', 'none', /repack failed/],
])('packs %s are kept; the reason is reported once, and so is its end', async (_, extra, reason) => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const packs = join(repository.folder, '.git/objects/pack');
  for (let number = 1; number <= 60; number++) {
    await writeFile(join(packs, `pack-${number}.pack`), 'no pack');
    await writeFile(join(packs, `pack-${number}.idx`), 'no index');
  }
  await writeFile(join(packs, extra), '');
  const found = (await findRepository(repository.folder, MACHINE)) as Repository;
  const reported: (string | null)[] = [];
  const maintenance = createMaintenance(
    found,
    { command: commands.repackReached(), closeWriters: async () => undefined },
    (reason) => reported.push(reason),
  );
  onTestFinished(maintenance.close);
  await maintenance.run();
  await maintenance.run();
  expect(reported).toEqual([expect.stringMatching(reason)]);
  const kept = (await readdir(packs)).filter((name) => name.endsWith('.pack'));
  expect(kept).toHaveLength(60);
  for (const name of kept) await rm(join(packs, name));
  await maintenance.run();
  await maintenance.run();
  expect(reported).toEqual([expect.stringMatching(reason), null]);
});

it('a clean-up that fails ends without an error, even if no file can be opened when its files are to be removed', async () => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const packs = join(repository.folder, '.git/objects/pack');
  for (let number = 1; number <= 60; number++) await writeFile(join(packs, `pack-${number}.pack`), 'no pack');
  const { env } = await machineWith(
    'case "$*" in *repack*) : > .git/objects/pack/tmp_pack_failed; exit 1;; esac',
  );
  const script = fileURLToPath(new URL('run-out-of-files.ts', import.meta.url));
  const command = 'ulimit -n 256; exec "$0" --import tsx "$@"';
  const args = ['-c', command, process.execPath, script, repository.folder, env['PATH'] ?? ''];
  const { stdout } = await run('sh', args);
  expect(stdout).toBe('no file can be opened\ndone\n');
});
