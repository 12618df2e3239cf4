import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { hasSpace } from '../../../disk/space.ts';
import { syncFiles, syncFolder } from '../../../disk/sync.ts';
import { HoldfastError, knownError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import type { CommitDraft, Publisher, Reader } from '../../source.ts';
import { DISK_FULL } from '../process/disk-trouble.ts';
import { refName } from '../process/ref-names.ts';
import type { ObjectsOnDisk } from '../repository/objects-on-disk.ts';
import { createPublisher } from '../write/publisher.ts';
import type { Staging } from '../write/staging.ts';
import { type Clone, lookBeforePush } from './look.ts';
import type { ClonePusher } from './push.ts';
import { failureOfPush, movedOn, publishError } from './refusals.ts';

/** What `createClonePublisher` needs. */
export interface ClonePublisherParts {
  clone: Clone;
  reader: Reader;
  staging: Staging;
  pusher: ClonePusher;
  onDisk: ObjectsOnDisk;
  /** Makes the moved ref durable. */
  onPushed(ref: string): Promise<void>;
  faults: Faults;
}

/**
 * Publishes to a branch of a clone on this machine: commits are made in the staging repository, and pushed. If the branch
 * is checked out, index and work tree move with it: only the paths of the commits are touched, and a path with uncommitted
 * work is refused.
 */
export function createClonePublisher(parts: ClonePublisherParts): Publisher {
  const { clone, reader, staging, pusher, onDisk, onPushed, faults } = parts;
  const { context, gitFolder, prefix } = clone.repository;
  return createPublisher({
    staging,
    reader,
    around: (publish) => explaining(parts, publish),
    inTurn: (push) => push(),
    push: async ({ base, drafts, tip, objects }) => {
      const branch = refName(base.branch ?? '');
      const looked = await lookBeforePush(clone, branch, base.revision, drafts);
      // Somebody can have switched away before the look: their branch is the one that is followed now.
      if (!looked.isCheckedOut && (await reader.head()).branch !== branch) throw movedOn();
      // The commits must not survive a loss of power without the ones below them.
      await onDisk.syncBelow(base.revision);
      return pusher.push({ ref: branch, from: base.revision, to: tip, objects, ...looked });
    },
    onPushed: async ({ base, drafts, tip }) => {
      // git syncs no file of a work tree, and one that a loss of power emptied would look like uncommitted work.
      await Promise.all([
        onPushed(base.branch as string),
        syncFiles(context.folder, pathsOf(drafts, prefix)),
        syncFolder(gitFolder),
      ]);
      onDisk.markSynced(tip);
      faults.pass('branch-synced');
    },
    follower: 'the clone',
    fetch: async () => undefined,
    faults,
  });
}

/** Refuses what cannot be published before anything is made of it, and says why something was not. */
function explaining(
  { clone, reader }: Pick<ClonePublisherParts, 'clone' | 'reader'>,
  publish: Publisher['publish'],
): Publisher['publish'] {
  return async (base, drafts) => {
    if (base.branch === null)
      throw new HoldfastError('conflict', 'HEAD is detached; check out a branch for writes to go to');
    await requireSpace(clone, drafts);
    try {
      return await publish(base, drafts);
    } catch (error) {
      const known = knownError(error);
      if (known?.kind === 'unavailable' && known.details.commits !== undefined) throw error;
      const refusal = refusalOf(error, pathsOf(drafts, clone.repository.prefix));
      // To a commit that was made before it, someone's new commit looks like uncommitted work.
      const isOvertaken = refusal.kind === 'conflict' && (await hasMoved(reader, base.revision));
      if (isOvertaken) throw movedOn(error);
      throw refusal;
    }
  };
}

/** The paths of the files of some drafts, inside the repository. */
function pathsOf(drafts: readonly CommitDraft[], prefix: string): string[] {
  return drafts.flatMap(({ edits }) => edits.map(({ path }) => posix.join(prefix, path)));
}

/** Bytes beside the files of a write: trees of large folders, and what git writes meanwhile. */
const SPARE_BYTES = 2 ** 20;
/** Bytes that a file takes beside its text, with its folder, as an object and in the work tree. */
const BYTES_PER_FILE = 2 ** 14;
const FILES_PER_FILE = 4;

/** If the disk becomes full while git checks files out, old files are gone and new ones are half written. */
async function requireSpace({ repository }: Clone, drafts: readonly CommitDraft[]): Promise<void> {
  const { context, gitFolder } = repository;
  const index = await stat(join(gitFolder, 'index')).catch(() => ({ size: 0 }));
  const texts = drafts.flatMap(({ edits }) => edits.map(({ text }) => Buffer.byteLength(text ?? '')));
  const size = texts.reduce((sum, length) => sum + length, 0);
  const bytes = SPARE_BYTES + index.size + texts.length * BYTES_PER_FILE + 2 * size;
  const need = { bytes, files: 64 + texts.length * FILES_PER_FILE };
  if ((await hasSpace(context.folder, need)) && (await hasSpace(gitFolder, need))) return;
  throw new HoldfastError('unavailable', `git could not publish the commit: ${DISK_FULL}`);
}

function refusalOf(error: unknown, paths: string[]): HoldfastError {
  return publishError(failureOfPush(error) ?? error, paths);
}

async function hasMoved(reader: Reader, base: string | null): Promise<boolean> {
  return reader.head().then(
    ({ revision }) => revision !== base,
    () => false,
  );
}
