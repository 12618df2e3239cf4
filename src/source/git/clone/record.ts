import { readdir, readFile, unlink } from 'node:fs/promises';
import type { IdsRecord } from '../../../ids/ids-record.ts';
import { withConfig } from '../process/environment.ts';
import { createIdsRecord, type RecordRefs } from '../record/ids-record.ts';
import { RECORDING_REF } from '../record/new-version.ts';
import { moveRefs, RECORD_REF } from '../refs/move.ts';
import { refTips } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import { CRASH_REPORT, PUBLISHING_REF } from '../write/commit-writer.ts';
import type { ObjectsOnDisk } from './objects-on-disk.ts';

/** Objects below which git writes them one by one, as a user's commit does, instead of a pack. */
const UNPACKED = [['fastimport.unpackLimit', '100']] as const;

/**
 * Returns the record of ids in a clone on this machine. Its ref is the manager's own, so it is written directly: a push
 * would require that the sections of all other managers are whole. `onWritten` is called after each write.
 */
export function createCloneRecord(
  clone: Repository,
  onDisk: Pick<ObjectsOnDisk, 'sync'>,
  onWritten: () => void,
): IdsRecord {
  const context = { ...clone.context, env: withConfig(clone.context.env, UNPACKED) };
  const repository = { ...clone, context };
  const refs: RecordRefs = {
    readTips: async () => {
      const [tip = null] = await refTips(repository, [RECORD_REF]);
      return { own: tip, others: tip };
    },
    replace: async (tip, { others }) => {
      await onDisk.sync();
      await moveRefs(repository, [{ ref: RECORD_REF, to: tip, expected: others }]);
      onWritten();
    },
    isCurrent: () => true,
    localOnlyReason: () => null,
  };
  const record = createIdsRecord(repository, { branch: null, address: clone.commonFolder, refs });
  return {
    ...record,
    write: (draft) =>
      record.write(draft).catch(async (error) => {
        await removeCrashReports(clone.gitFolder);
        throw error;
      }),
  };
}

/**
 * Deletes the manager's refs that nothing needs after a restart: if a loss of power took the commit of one, git would refuse
 * every push. A repository that cannot be written keeps them.
 */
export async function dropTemporaryRefs(clone: Repository): Promise<void> {
  const refs = [RECORDING_REF, PUBLISHING_REF];
  const tips = await refTips(clone, refs).catch((): null[] => []);
  const moves = refs.filter((_, index) => tips[index]).map((ref) => ({ ref, to: null }));
  if (moves.length > 0) await moveRefs(clone, moves).catch(() => undefined);
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
