import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { loadEntries } from '../../desired/load.ts';
import { DesiredState } from '../../desired/state.ts';
import { HoldfastError } from '../../errors.ts';
import { webAddressOf } from '../../history/message.ts';
import { KINDS, NAME_PATTERN, type ObjectKey, parseKey } from '../../protocol/name.ts';
import type { Present } from '../../rollback/rollback.ts';
import type { RevisionReader } from '../../source/git/read/revisions.ts';
import { fleetSettings } from '../check/fleet.ts';
import { SHALLOW_HINT, unknownRevision } from '../check/unknown-revision.ts';
import { openRepository } from '../check/work-tree.ts';
import { type CommandIo, UsageError } from '../shell/io.ts';
import { objectOfPath } from './wrong-object.ts';

/** The name of the folder where settings name no other. */
const FOLDER_NAME = 'desired-state';

/** What the commands of the past work on. */
export interface OpenPast extends Present {
  folder: string;
  /** The address of the repository's page at the forge (`webAddressOf`); null if it is not known. */
  forge: string | null;
  revisions: RevisionReader;
}

/**
 * Opens the repository of a folder and reads the fleet at `HEAD`; calls `use` with both, and closes it. Rejects with a
 * UsageError if there is no repository or no commit.
 */
export async function withPast<T>(
  folderOption: string | undefined,
  io: CommandIo,
  use: (past: OpenPast) => Promise<T>,
): Promise<T> {
  const { folder, defaults } = fleetSettings(io, folderOption ?? folderAround(io));
  const revisions = await openRepository(folder, io);
  if (revisions === null) throw new UsageError(`${folder} is not in a git repository`);
  try {
    const revision = await revisions.commit('HEAD');
    const entries = await revisions.entriesAt('HEAD');
    if (revision === null || entries === null) throw new UsageError('the branch has no commit yet');
    const desired = await loadEntries(new DesiredState(), entries, revisions.blob, defaults);
    return await use({
      folder,
      forge: webAddressOf(revisions.remote),
      revisions,
      revision,
      desired,
      defaults,
    });
  } finally {
    await revisions.close();
  }
}

/** Returns the desired state that the current folder is in or beside, as git finds its repository; undefined leaves that to the settings. */
function folderAround({ env }: CommandIo): string | undefined {
  if (env['DESIRED_STATE']) return undefined;
  const here = resolve('.');
  for (let folder = here; ; folder = dirname(folder)) {
    const found = basename(folder) === FOLDER_NAME ? folder : join(folder, FOLDER_NAME);
    if (existsSync(found)) return relative(here, found) || '.';
    if (existsSync(join(folder, '.git')) || dirname(folder) === folder) return undefined;
  }
}

/** Resolves to the full id of a commit. Rejects as `invalid` with advice if there is none. */
export async function commitOf(revision: string, option: string, revisions: RevisionReader): Promise<string> {
  return (
    (await revisions.commit(revision)) ??
    Promise.reject(await unknownRevision(revision, { option, revisions }))
  );
}

/** Adds to an error that the clone is shallow, which is why most commits are missing. */
export function withShallowHint(error: unknown, { isShallow }: RevisionReader): unknown {
  if (!isShallow || !(error instanceof HoldfastError)) return error;
  return new HoldfastError(error.kind, error.message + SHALLOW_HINT, error.details, error);
}

/** Parses `app/web` or `device_group/edge`. Throws a UsageError for anything else. */
export function parseObject(text: string): ObjectKey {
  const key = parseKey(text.replace(/^(?:device-group|group)\//, 'device_group/'));
  if (KINDS.includes(key.kind) && NAME_PATTERN.test(key.name)) return key;
  const meant =
    objectOfPath(text) ?? (NAME_PATTERN.test(text) ? `app/${text} or device_group/${text}` : null);
  const hint = meant === null ? '' : `; did you mean ${meant}?`;
  throw new UsageError(`"${text}" is not an object, such as app/web or device_group/edge${hint}`);
}
