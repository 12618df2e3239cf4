import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Queue } from '../../../async/queue.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { gitEnvironment } from '../process/environment.ts';
import { runGit } from '../process/run.ts';
import type { Machine, Repository } from '../repository/repository.ts';
import { type CommitWriter, openCommitWriter } from '../write/commit-writer.ts';

/** Uses after which it is recreated: what was pushed is in the clone, and each use adds a pack. */
const MOST_USES = 50;

/** Nothing in it has to survive: what counts is pushed, and synced where it was pushed to. */
const SETTINGS = [['core.fsync', 'none']] as const;

/**
 * A bare repository of the manager that borrows the objects of a clone. Commits are made here, so that nothing of them is
 * in the clone before they are pushed.
 */
export interface Staging {
  /** With the prefix of the clone's folder. */
  repository: Repository;
  writer: CommitWriter;
  /** Runs work that makes commits on `base` here and pushes them; one after the other. */
  use<T>(base: string | null, work: () => Promise<T>): Promise<T>;
  /** Recreates it; only to be called by work that `use` runs. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

/** Makes the staging repository of a clone in the data folder, in the place of an earlier one. Rejects as `unavailable`. */
export async function makeStaging(dataFolder: string, clone: Repository, machine: Machine): Promise<Staging> {
  const folder = join(dataFolder, 'staging.git');
  const env = { ...gitEnvironment(machine.env, [folder], SETTINGS), GIT_DIR: folder };
  const context = { folder, env, timeLimit: machine.timeLimit };
  const repository = { context, gitFolder: folder, commonFolder: folder, prefix: clone.prefix };
  let idLength = await initialize(repository, clone);
  let uses = 0;
  // A failed writer leaves half a pack, or marks of packs.
  const writer = openCommitWriter(repository, async () => void (await initialize(repository, clone)));
  const queue = new Queue();
  const renew = async (): Promise<void> => {
    await writer.close();
    uses = 0;
    idLength = await initialize(repository, clone);
  };
  return {
    repository,
    writer,
    use: (base, work) =>
      queue.run(async () => {
        uses += 1;
        // A clone can be replaced by one with other ids.
        if (uses > MOST_USES || (base !== null && base.length !== idLength)) await renew();
        return work();
      }),
    renew,
    close: async () => {
      await queue.run(() => writer.close());
    },
  };
}

/** Makes an empty repository in the place of the present one. Resolves to the length of its ids. */
async function initialize({ context, gitFolder }: Repository, clone: Repository): Promise<number> {
  try {
    const format = (await runGit(clone.context, commands.objectFormat())).trim();
    await rm(gitFolder, { recursive: true, force: true, maxRetries: 3 });
    await mkdir(gitFolder, { recursive: true, mode: 0o700 });
    const init = format === 'sha256' ? commands.initBareLong() : commands.initBare();
    await runGit({ ...context, env: { ...context.env, GIT_DEFAULT_REF_FORMAT: 'files' } }, init);
    await mkdir(join(gitFolder, 'objects/info'), { recursive: true });
    const alternate = quoted(`${clone.commonFolder}/objects`);
    await writeFile(join(gitFolder, 'objects/info/alternates'), `${alternate}\n`);
    return format === 'sha256' ? 64 : 40;
  } catch (error) {
    const message = explainFailure('staging.git in DATA_DIR cannot be used', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

/** Quotes for the list of alternates, in which a `"` begins a quoted path. */
function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}
