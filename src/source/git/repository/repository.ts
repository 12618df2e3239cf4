import { constants, existsSync } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { mayRead } from '../../../disk/exists.ts';
import { descriptorAdvice, HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { gitEnvironment } from '../process/environment.ts';
import { type GitContext, GitFailure, runGit, stderrOf } from '../process/run.ts';
import { withoutPrograms } from './programs.ts';

/** A repository on this machine, and the place of the desired-state folder in it. */
export interface Repository {
  /** Runs git at the top of the work tree. */
  context: GitContext;
  /** Folder with HEAD and the index (of this work tree). */
  gitFolder: string;
  /** Folder with refs and objects; differs from `gitFolder` in a linked work tree. */
  commonFolder: string;
  /** Path of the desired-state folder inside the repository: "" or "desired-state", without slashes at its ends. */
  prefix: string;
}

/** How git is run on this machine. */
export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that one git call may take. */
  timeLimit: number;
}

/** The version that introduced `merge-tree --write-tree`. */
const OLDEST_GIT = [2, 38] as const;

/**
 * Finds the repository that a folder is in; resolves to null if it is in none. The folder itself can be missing, since
 * git keeps no empty folders; what counts is the nearest folder above it that exists. Rejects as `invalid` if the folder or
 * its repository cannot be used.
 */
export async function findRepository(folder: string, machine: Machine): Promise<Repository | null> {
  const { existing, missing } = await nearestFolder(folder);
  await requireEntry(existing);
  // Below the folder with `.git`, git accepts any folder that looks like a bare repository, and commits can bring those.
  const trusting = contextOf(folderWithGit(existing) ?? existing, machine, ['*']);
  await requireGit(trusting);
  const location = await locate(trusting);
  if (location === null) return null;
  const lines = location.split('\n');
  if (lines.length !== LOCATION_LINES || existing.includes('\n')) {
    const message = `the path of ${existing} or of its repository contains a line break; use another one`;
    throw new HoldfastError('invalid', message);
  }
  const [top = '', gitFolder = '', commonFolder = ''] = lines;
  // Nothing inside a git folder belongs to a fleet, except in a work tree that was made below it.
  const isInGitFolder = isIn(existing, gitFolder) && (top === gitFolder || !isIn(top, gitFolder));
  if (isInGitFolder || !isIn(existing, top)) throw noWorkTree(existing);
  const prefix = [relative(top, existing), missing].filter(Boolean).join('/');
  const context = contextOf(top, machine, [top, gitFolder]);
  return withoutPrograms({ context, gitFolder, commonFolder, prefix });
}

/** Three lines, and the empty text after the last line break. */
const LOCATION_LINES = 4;

/** Whether a path is a folder or in it. Both must be real paths. */
function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.replace(/\/?$/, '/'));
}

function noWorkTree(folder: string, cause?: unknown): HoldfastError {
  const message = `${folder} is in a repository without a work tree; clone it, and use the folder of the clone`;
  return new HoldfastError('invalid', message, {}, cause);
}

/** Returns the nearest folder, from this one upwards, with a `.git` of any kind; null if there is none. */
function folderWithGit(folder: string): string | null {
  if (existsSync(`${folder}/.git`)) return folder;
  return dirname(folder) === folder ? null : folderWithGit(dirname(folder));
}

/** git's messages for a feature of a later version, such as refs in tables. */
const NEEDS_NEWER = /unknown repository extension|Expected git repo version/;

/** Resolves to what git prints about the repository of the context's folder; null if there is none. */
async function locate(context: GitContext): Promise<string | null> {
  try {
    return await runGit(context, commands.locate());
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    if (/must be run in a work tree|cannot use bare repository/.test(error.stderr))
      throw noWorkTree(context.folder, error);
    if (NEEDS_NEWER.test(error.stderr)) {
      const message = `${context.folder} is in a repository that needs a newer git; install one`;
      throw new HoldfastError('invalid', message, {}, error);
    }
    if (!/not a git repository/.test(error.stderr)) throw error;
    refuseDamaged(context.folder, error);
    return null;
  }
}

/** Throws if there is a `.git` after all: git ignores a damaged one, and a new repository inside would hide the damage. */
function refuseDamaged(folder: string, cause: GitFailure): void {
  const holder = folderWithGit(folder);
  if (holder === null) return;
  throw new HoldfastError('invalid', `git cannot use ${holder}/.git; repair it, or remove it`, {}, cause);
}

/** Returns the context that runs git in a folder; `safe` lists the folders whose repositories may have another owner. */
export function contextOf(folder: string, machine: Machine, safe: readonly string[]): GitContext {
  return { folder, env: gitEnvironment(machine.env, safe), timeLimit: machine.timeLimit };
}

/**
 * Resolves to whether the clone has only a part of the history. A fetch can make it shallow, or bring the rest. git, too,
 * decides by this file alone.
 */
export function isShallow({ commonFolder }: Pick<Repository, 'commonFolder'>): Promise<boolean> {
  return mayRead(`${commonFolder}/shallow`);
}

/** Splits a path into its nearest existing folder, by its real path, and the missing rest. */
async function nearestFolder(folder: string): Promise<{ existing: string; missing: string }> {
  const path = resolve(folder);
  let existing = path;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return { existing: await realpath(existing), missing: relative(existing, path) };
}

/** Rejects if a folder cannot be entered: it would look like a missing one, and git as if it could not be started. */
async function requireEntry(folder: string): Promise<void> {
  try {
    await access(folder, constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `this user may not enter the folder ${folder} (${code}); change its permissions, or use another folder`;
    throw new HoldfastError('invalid', message, {}, error);
  }
}

/** Returns the error for a git that cannot be started or does not work, with the reason: it need not be a missing git. */
export function gitUnusable(error: unknown): HoldfastError {
  const text = stderrOf(error);
  const trouble = descriptorAdvice(text);
  if (trouble !== null) return new HoldfastError('unavailable', `git cannot be run: ${trouble}`, {}, error);
  const [, code] = /\b(E[A-Z]{3,})\b/.exec(text) ?? [];
  const hint = `install git ${OLDEST_GIT.join('.')} or newer and put it on the PATH`;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: `it is not on the PATH; ${hint}`,
    EACCES: `this user may not run it (EACCES); ${hint}`,
  };
  const reason = reasons[code ?? ''] ?? `${text.trim().slice(0, 200)}; make sure that it works, or ${hint}`;
  return new HoldfastError('invalid', `git cannot be run: ${reason}`, {}, error);
}

/** Rejects as `invalid` if git cannot be run, or is too old. */
export async function requireGit(context: GitContext): Promise<void> {
  let text: string;
  try {
    text = await runGit(context, commands.version());
  } catch (error) {
    throw gitUnusable(error);
  }
  const [major = 0, minor = 0] = (/(?<!\d)(\d+)\.(\d+)/.exec(text) ?? []).slice(1).map(Number);
  if (major > OLDEST_GIT[0] || (major === OLDEST_GIT[0] && minor >= OLDEST_GIT[1])) return;
  throw new HoldfastError(
    'invalid',
    `git ${major}.${minor} is too old; install git ${OLDEST_GIT.join('.')} or newer`,
  );
}
