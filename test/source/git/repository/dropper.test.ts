import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import type { Machine } from '../../../../src/source/git/repository/repository.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, MACHINE, openSource, publishOne } from '../support.ts';

const FILE = 'apps/web.yaml';
const THREE_WEEKS = 21 * 24 * 60 * 60;

async function packsOf({ folder }: TestRepository): Promise<string[]> {
  const packs = join(folder, '.git/objects/pack');
  return (await readdir(packs)).filter((name) => name.endsWith('.pack')).map((name) => join(packs, name));
}

/** Leaves a blob that nothing reaches, and many packs; all of it looks three weeks old. */
async function leaveOld(repository: TestRepository, text: string): Promise<string> {
  const context = contextAt(repository.folder);
  const blob = (content: string) => `blob\ndata ${content.length}\n${content}\n`;
  const ids: string[] = [];
  for (let number = 0; number < 60; number++) {
    // A pack with a single object would not stay one.
    const input = `${blob(`version ${number}`)}blob\nmark :1\n${blob(number === 0 ? text : `${number}`).slice(5)}`;
    ids.push((await runGit(context, commands.fastImport(), `${input}get-mark :1\ndone\n`)).trim());
  }
  const then = Date.now() / 1000 - THREE_WEEKS;
  await Promise.all((await packsOf(repository)).map((path) => utimes(path, then, then)));
  return ids[0] as string;
}

it('what a clean-up has dropped is written again by a writer that met it before', async () => {
  const repository = await testRepository();
  const first = await repository.commit({ [FILE]: 'a: 1\n' });
  await repository.git('switch', '--quiet', '--create', 'followed');
  await repository.commit({ [FILE]: 'a: 3\n' });
  await repository.git('switch', '--quiet', 'main');
  const blob = await leaveOld(repository, 'a: 2\n');
  const source = await openSource(repository.folder, 'followed');
  // A write that comes too late meets the blob, and no branch gets it.
  const late = { ...(await source.reader.head()), revision: first };
  await expect(source.publisher.publish(late, [draftOf({ [FILE]: 'a: 2\n' })])).rejects.toThrow();
  await publishOne(source, { [FILE]: 'a: 4\n' });
  await vi.waitFor(async () => expect((await packsOf(repository)).length).toBeLessThan(10), 60_000);
  await publishOne(source, { [FILE]: 'a: 2\n' });
  expect(await repository.show(FILE, 'followed')).toBe('a: 2\n');
  expect(await repository.git('cat-file', '-t', blob)).toBe('blob');
  expect(await repository.git('fsck', '--no-dangling')).toBe('');
});

/** A git whose search for what nothing reaches lasts until it is asked to end; `log` says what it did. */
async function slowGit(): Promise<{ machine: Machine; log(): Promise<string> }> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'];
  const log = join(folder, 'log');
  const drop = `trap "echo ended >> '${log}'; exit 143" TERM; echo begun >> '${log}'; sleep 600 & wait`;
  const script = `#!/bin/sh\ncase "$*" in *--cruft*) ${drop};; esac\nPATH='${path}' exec git "$@"\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return {
    machine: { ...MACHINE, env: { PATH: `${folder}:${path}` } },
    log: () => readFile(log, 'utf8').catch(() => ''),
  };
}

const WRITES: readonly { name: string; write(source: CheckoutSource): Promise<unknown> }[] = [
  { name: 'a publish', write: (source) => publishOne(source, { [FILE]: 'a: 5\n' }) },
  {
    name: 'a version of the record',
    write: ({ record }) =>
      record.write({ files: new Map([['meta.json', '{}']]), expected: null, keepsOtherFiles: false, at: 0 }),
  },
];

it.each(WRITES)('$name ends a clean-up that drops things, and begins after it', async ({ write }) => {
  const repository = await testRepository();
  await repository.commit({ [FILE]: 'a: 1\n' });
  await leaveOld(repository, 'a: 2\n');
  const { machine, log } = await slowGit();
  const source = await openCheckout(repository.folder, null, machine);
  onTestFinished(source.close);
  await publishOne(source, { [FILE]: 'a: 4\n' });
  await vi.waitFor(async () => expect(await log()).toBe('begun\n'), 60_000);
  await write(source);
  expect(await log()).toBe('begun\nended\n');
  await vi.waitFor(async () => expect((await packsOf(repository)).length).toBeLessThan(10), 60_000);
});
