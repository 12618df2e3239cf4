import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import type { Machine } from '../../../../src/source/git/repository/repository.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, machineWith, openSource, publishOne } from '../support.ts';

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

it('a commit writer writes a blob again after a clean-up has dropped it, though the writer had seen it before', async () => {
  const repository = await testRepository();
  const first = await repository.commit({ [FILE]: 'a: 1\n' });
  await repository.git('switch', '--quiet', '--create', 'followed');
  await repository.commit({ [FILE]: 'a: 3\n' });
  await repository.git('switch', '--quiet', 'main');
  const blob = await makeOldPacks(repository, 'a: 2\n');
  const source = await openSource(repository.folder, 'followed');
  // This write fails, but its `fast-import` has now seen the blob.
  const late = { ...(await source.reader.head()), revision: first };
  await expect(source.publisher.publish(late, [draftOf({ [FILE]: 'a: 2\n' })])).rejects.toThrow();
  await publishOne(source, { [FILE]: 'a: 4\n' });
  await vi.waitFor(async () => expect((await packsOf(repository)).length).toBeLessThan(10), 60_000);
  await publishOne(source, { [FILE]: 'a: 2\n' });
  expect(await repository.show(FILE, 'followed')).toBe('a: 2\n');
  expect(await repository.git('cat-file', '-t', blob)).toBe('blob');
  expect(await repository.git('fsck', '--no-dangling')).toBe('');
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

const WRITES: [string, (source: CheckoutSource) => Promise<unknown>][] = [
  ['a published commit', (source) => publishOne(source, { [FILE]: 'a: 5\n' })],
  [
    'a new version of the record of ids',
    ({ record }) =>
      record.write({ files: new Map([['meta.json', '{}']]), expected: null, keepsOtherFiles: false, at: 0 }),
  ],
];

it.each(WRITES)(
  '%s ends a running clean-up that drops objects, and starts after its end',
  async (_, write) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: 'a: 1\n' });
    await makeOldPacks(repository, 'a: 2\n');
    const { machine, log } = await slowGit();
    const source = await openCheckout(repository.folder, null, machine);
    onTestFinished(source.close);
    await publishOne(source, { [FILE]: 'a: 4\n' });
    await vi.waitFor(async () => expect(await log()).toBe('started\n'), 60_000);
    await write(source);
    expect(await log()).toBe('started\nended\n');
    await vi.waitFor(async () => expect((await packsOf(repository)).length).toBeLessThan(10), 60_000);
  },
);
