import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { removeFailedWriter } from '../../../../src/source/git/mirror/leftovers.ts';
import { createMaintenance } from '../../../../src/source/git/mirror/maintenance.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import {
  findRepository,
  type Machine,
  type Repository,
} from '../../../../src/source/git/repository/repository.ts';
import { openCommitWriter } from '../../../../src/source/git/write/commit-writer.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, MACHINE, machineWith } from '../support.ts';

const FILE = 'apps/web.yaml';
const THREE_WEEKS = 21 * 24 * 60 * 60;

async function packsOf({ folder }: TestRepository): Promise<string[]> {
  const packs = join(folder, '.git/objects/pack');
  return (await readdir(packs)).filter((name) => name.endsWith('.pack')).map((name) => join(packs, name));
}

/**
 * Makes many packs that look three weeks old, which makes a clean-up due. Nothing reaches their objects; one of these is a
 * blob of this text, whose id is returned.
 */
async function makeOldPacks(repository: TestRepository, text: string): Promise<string> {
  const context = contextAt(repository.folder);
  const blob = (content: string) => `blob\ndata ${content.length}\n${content}\n`;
  const ids: string[] = [];
  for (let number = 0; number < 60; number++) {
    // Two objects each: git would unpack a pack with a single one.
    const input = `${blob(`version ${number}`)}blob\nmark :1\n${blob(number === 0 ? text : `${number}`).slice(5)}`;
    ids.push((await runGit(context, commands.fastImport(), `${input}get-mark :1\ndone\n`)).trim());
  }
  const then = Date.now() / 1000 - THREE_WEEKS;
  await Promise.all((await packsOf(repository)).map((path) => utimes(path, then, then)));
  return ids[0] as string;
}

/** Opens the writer of a mirror, and its maintenance. */
async function openMirrorParts(repository: TestRepository, machine: Machine = MACHINE) {
  const found = (await findRepository(repository.folder, machine)) as Repository;
  const writer = openCommitWriter(found, () => removeFailedWriter(found.gitFolder));
  const maintenance = createMaintenance(found, writer.close);
  onTestFinished(async () => {
    await Promise.all([writer.close(), maintenance.close()]);
  });
  return { writer, maintenance };
}

it('a commit writer writes a blob again after a clean-up has dropped it, though the writer had seen it before', async () => {
  const repository = await testRepository();
  const base = await repository.commit({ [FILE]: 'a: 1\n' });
  const blob = await makeOldPacks(repository, 'a: 2\n');
  const { writer, maintenance } = await openMirrorParts(repository);
  const write = (text: string) =>
    maintenance.addingObjects(() => writer.write(base, [draftOf({ [FILE]: text })]));
  // Its `fast-import` has now seen the blob.
  await write('a: 2\n');
  await write('a: 4\n');
  await vi.waitFor(async () => expect((await packsOf(repository)).length).toBeLessThan(10), 60_000);
  const {
    commits: [id = ''],
  } = await write('a: 2\n');
  await repository.git('branch', '--force', 'written', id);
  expect(await repository.show(FILE, 'written')).toBe('a: 2\n');
  expect(await repository.git('cat-file', '-t', blob)).toBe('blob');
});

/** A git whose search for unreachable objects runs until a signal ends it; `log` has a line for its start and its end. */
async function slowGit(): Promise<{ machine: Machine; log(): Promise<string> }> {
  const log = join(await temporaryFolder(), 'log');
  const search = `trap "echo ended >> '${log}'; exit 143" TERM; echo started >> '${log}'; sleep 600 & wait`;
  return {
    machine: await machineWith(`case "$*" in *--cruft*) ${search};; esac`),
    log: () => readFile(log, 'utf8').catch(() => ''),
  };
}

it('work that adds objects ends a running clean-up that drops some, and starts after its end', async () => {
  const repository = await testRepository();
  await repository.commit({ [FILE]: 'a: 1\n' });
  await makeOldPacks(repository, 'a: 2\n');
  const { machine, log } = await slowGit();
  const { maintenance } = await openMirrorParts(repository, machine);
  void maintenance.run();
  await vi.waitFor(async () => expect(await log()).toBe('started\n'), 60_000);
  expect(await maintenance.addingObjects(log)).toBe('started\nended\n');
  await vi.waitFor(async () => expect((await packsOf(repository)).length).toBeLessThan(10), 60_000);
});
