import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listNames } from '../../../../src/source/git/process/names.ts';
import { type GitContext, OutputTooLarge } from '../../../../src/source/git/process/run.ts';
import { temporaryFolder } from '../../../support/folder.ts';

/** A context in which `git` is this shell script. */
async function withGitScript(script: string): Promise<GitContext> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { folder, env: { PATH: `${folder}:/usr/bin:/bin` }, timeLimit: 60_000 };
}

const command = { args: ['log'] };

describe('listNames', () => {
  it('resolves to whole names, even if they or their characters arrive in pieces', async () => {
    const context = await withGitScript(
      String.raw`printf 'one\0tw'; sleep 0.2; printf 'o\0gr\303'; sleep 0.2; printf '\266\303\237e\0one\0'`,
    );
    expect(await listNames(context, command)).toEqual(new Set(['one', 'two', 'größe']));
  });

  it('rejects if a name does not end', async () => {
    const context = await withGitScript('printf "one\\0"; exec yes');
    await expect(listNames(context, command)).rejects.toBeInstanceOf(OutputTooLarge);
  });
});
