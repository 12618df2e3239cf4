import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { gitEnvironment } from '../process/environment.ts';
import { runGit } from '../process/run.ts';
import type { Machine, Repository } from './repository.ts';

/** Nothing in such a repository has to survive. */
const SETTINGS = [['core.fsync', 'none']] as const;

/** Describes a bare repository of the manager in this folder; `prefix` is the place of the desired-state folder in it. */
export function ownRepository(folder: string, prefix: string, machine: Machine): Repository {
  const env = { ...gitEnvironment(machine.env, [folder], SETTINGS), GIT_DIR: folder };
  const context = { folder, env, timeLimit: machine.timeLimit };
  return { context, gitFolder: folder, commonFolder: folder, prefix };
}

/**
 * Makes an empty repository in the place of the present one, which borrows the objects of another. Resolves to the length
 * of its ids. Rejects as `unavailable`.
 */
export async function makeBorrowing(
  { context, gitFolder }: Repository,
  lender: Pick<Repository, 'context' | 'commonFolder'>,
): Promise<number> {
  try {
    const format = (await runGit(lender.context, commands.objectFormat())).trim();
    await rm(gitFolder, { recursive: true, force: true, maxRetries: 3 });
    await mkdir(gitFolder, { recursive: true, mode: 0o700 });
    const init = format === 'sha256' ? commands.initBareLong() : commands.initBare();
    await runGit({ ...context, env: { ...context.env, GIT_DEFAULT_REF_FORMAT: 'files' } }, init);
    await mkdir(join(gitFolder, 'objects/info'), { recursive: true });
    const alternate = quoted(`${lender.commonFolder}/objects`);
    await writeFile(join(gitFolder, 'objects/info/alternates'), `${alternate}\n`);
    return format === 'sha256' ? 64 : 40;
  } catch (error) {
    const message = explainFailure(`${basename(gitFolder)} in DATA_DIR cannot be used`, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

/** Quotes for the list of alternates, in which a `"` begins a quoted path. */
function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}
