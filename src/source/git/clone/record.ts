import { hash } from 'node:crypto';
import { readdir, readFile, unlink } from 'node:fs/promises';
import { lineOf, type RecordDraft, type RecordRef } from '../../../ids/record-ref.ts';
import { recordRef } from '../process/ref-names.ts';
import { readTip, readVersion } from '../record/read.ts';
import { makeVersion, RECORDING_REF, requireBase, writeFailure } from '../record/write.ts';
import { moveRefs } from '../refs/move.ts';
import { refTips } from '../refs/tips.ts';
import type { ObjectsOnDisk } from '../repository/objects-on-disk.ts';
import type { Repository } from '../repository/repository.ts';
import { CRASH_REPORT } from '../write/commit-writer.ts';

/**
 * Returns the record of ids in a clone on this machine. Its ref is the manager's own, so it is written directly. `onWritten`
 * is called after each write.
 */
export function createCloneRecord(
  clone: Repository,
  onDisk: Pick<ObjectsOnDisk, 'sync'>,
  onWritten: () => void,
): RecordRef {
  const line = { folder: clone.prefix, branch: null };
  const name = recordRef(lineOf(line));
  const tip = (): Promise<string | null> => readTip(async () => (await refTips(clone, [name]))[0] ?? null);
  const write = async (draft: RecordDraft): Promise<string> => {
    requireBase(await tip(), draft);
    const made = await makeVersion(clone, draft);
    await onDisk.sync();
    await moveRefs(clone, [{ ref: name, to: made.tip, expected: draft.base }]);
    onWritten();
    return made.tip;
  };
  return {
    ...line,
    name,
    line: lineOf(line),
    // A hash, because an address can contain a password.
    source: hash('sha256', clone.commonFolder, 'hex').slice(0, 32),
    isCurrent: () => true,
    tip,
    read: () => readVersion(clone, tip),
    write: (draft) =>
      write(draft).catch(async (error) => {
        await removeCrashReports(clone.gitFolder);
        throw writeFailure(error);
      }),
    publish: async () => undefined,
  };
}

/**
 * Deletes the ref of a version in the making, which nothing needs after a restart: if a loss of power took its commit, git
 * would refuse every push. A repository that cannot be written keeps it.
 */
export async function dropTemporaryRef(clone: Repository): Promise<void> {
  const [tip = null] = await refTips(clone, [RECORDING_REF]).catch((): null[] => []);
  if (tip !== null) await moveRefs(clone, [{ ref: RECORDING_REF, to: null }]).catch(() => undefined);
}

/** Removes the reports of processes that this one started. On a full disk, a report is empty. */
async function removeCrashReports(gitFolder: string): Promise<void> {
  const names = await readdir(gitFolder).catch((): string[] => []);
  const ourParent = new RegExp(`^ *parent process *: ${process.pid}$`, 'm');
  for (const path of names.filter((name) => CRASH_REPORT.test(name)).map((name) => `${gitFolder}/${name}`)) {
    const text = await readFile(path, 'latin1').catch(() => null);
    if (text === '' || (text !== null && ourParent.test(text))) await unlink(path).catch(() => undefined);
  }
}
