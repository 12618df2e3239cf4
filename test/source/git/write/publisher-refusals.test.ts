import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeFiles } from '../../../support/folder.ts';
import type { TestRepository } from '../../../support/git.ts';
import { newRepository, openSource, publishOne, read, status } from '../support.ts';

const MISSING = '1234567890123456789012345678901234567890';

/** git 2.39 and newer checks new commits against the refs alone that it shows. */
const [, minor = '0'] = /2\.(\d+)/.exec(execFileSync('git', ['version'], { encoding: 'utf8' })) ?? [];
const CHECKS_ALL = Number(minor) < 39;

/** A lasting reason for which git does not move the branch of a clone, and what the user reads. */
interface Refusal {
  reason: string;
  arrange(repository: TestRepository): Promise<unknown>;
  message: RegExp;
}

describe('a write to a clone', () => {
  it.each<Refusal>([
    {
      reason: 'a branch has the name of its folder',
      arrange: async (repository) => {
        await repository.git('branch', 'team');
        await repository.git('switch', '--quiet', '--orphan', 'team/x');
      },
      message: /'refs\/heads\/team' exists; cannot create 'refs\/heads\/team\/x'/,
    },
    {
      reason: 'its name is the folder of another branch',
      arrange: async (repository) => {
        await repository.git('branch', 'team/x');
        await repository.git('switch', '--quiet', '--orphan', 'team');
      },
      message: /'refs\/heads\/team\/x' exists; cannot create 'refs\/heads\/team'/,
    },
    {
      reason: 'a setting hands pushes to a hook',
      arrange: (repository) => repository.git('config', 'receive.procReceiveRefs', 'refs/heads'),
      message: /hook 'proc-receive'/,
    },
  ])('is refused with the reason, and changes nothing: $reason', async ({ arrange, message }) => {
    const repository = await repositoryWithFile();
    await arrange(repository);
    const source = await openSource(join(repository.folder, 'ds'));
    const before = await status(repository);
    await expect(publishOne(source, { 'apps/new.yaml': 'n\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(message),
    });
    expect(await status(repository)).toBe(before);
  });

  it.skipIf(CHECKS_ALL).each([
    ['a branch', 'heads/broken'],
    ['a tag', 'tags/broken'],
    ['a branch of a remote', 'remotes/origin/broken'],
    ['a note', 'notes/commits'],
  ])('goes on although %s names a missing commit', async (_, ref) => {
    const repository = await repositoryWithFile();
    await writeFiles(repository.folder, { [`.git/refs/${ref}`]: `${MISSING}\n` });
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/new.yaml': 'n\n' });
    expect(await read(repository, 'ds/apps/new.yaml')).toBe('n\n');
    expect(await status(repository)).toBe('');
  });
});

async function repositoryWithFile(): Promise<TestRepository> {
  const repository = await newRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a: web\n' });
  return repository;
}
