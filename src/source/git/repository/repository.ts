import { constants, existsSync } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { mayRead } from '../../../disk/there.ts';
import { descriptorTrouble, HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { gitEnvironment } from '../process/environment.ts';
import { type GitContext, GitFailure, runGit, saidBy } from '../process/run.ts';
import { withoutPrograms } from './programs.ts';

/** A repository of this machine, and where in it the desired-state folder lies. */
export interface Repository {
  /** Runs git at the top of the work tree. */
  context: GitContext;
  /** Folder with HEAD and the index (of this work tree). */
  gitFolder: string;
  /** Folder with refs and objects; another one than `gitFolder` in a linked work tree. */
  commonFolder: string;
  /** Path of the desired-state folder inside the repository: "" or "desired-state", without slashes at its ends. */
  prefix: string;
}

/** What opening needs of the machine. */
export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that one git call may take. */
  timeLimit: number;
}

/** `cat-file --batch-command` and `core.fsync` came with this version. */
const OLDEST_GIT = [2, 36] as const;

/**
 * Finds the repository that a folder lies in; null where it lies in none. The folder itself may be missing, as
 * long as the folder that would hold it is there: git keeps no empty folders.
 */
export async function findRepository(folder: string, machine: Machine): Promise<Repository | null> {
  const { existing, missing } = await nearestFolder(folder);
  await requireEntry(existing);
  // Below it, git would take any folder whose files look like a bare repository for one, and a commit can bring such files.
  const anywhere = contextOf(folderWithGit(existing) ?? existing, machine, ['*']);
  await checkVersion(anywhere);
  const located = await locate(anywhere);
  if (located === null) return null;
  const lines = located.split('\n');
  if (lines.length !== LOCATED_LINES || existing.includes('\n')) {
    const message = `the path of ${existing} or of its repository contains a line break; use another one`;
    throw new HoldfastError('invalid', message);
  }
  const [top = '', gitFolder = '', commonFolder = ''] = lines;
  // Such a one has its settings beside its files; and nothing of a fleet is in `.git`. A work tree can stand in there,
  // though.
  const isInside = isIn(existing, gitFolder) && (top === gitFolder || !isIn(top, gitFolder));
  if (isInside || !isIn(existing, top)) throw withoutWorkTree(existing);
  const prefix = [relative(top, existing), missing].filter(Boolean).join('/');
  const context = contextOf(top, machine, [top, gitFolder]);
  return withoutPrograms({ context, gitFolder, commonFolder, prefix });
}

/** What git says of a repository: three lines, and nothing after the last one. */
const LOCATED_LINES = 4;

/** Whether a path is that of a folder or of something in it; both are real. */
function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.replace(/\/?$/, '/'));
}

function withoutWorkTree(folder: string, cause?: unknown): HoldfastError {
  const message = `${folder} is in a repository without a work tree; clone it, and use the folder of the clone`;
  return new HoldfastError('invalid', message, {}, cause);
}

/** The nearest folder, from this one upwards, that has `.git`, whatever that is; null where none has. */
function folderWithGit(folder: string): string | null {
  if (existsSync(`${folder}/.git`)) return folder;
  return dirname(folder) === folder ? null : folderWithGit(dirname(folder));
}

/** Said of what came with a later version: refs in tables, say. */
const NEEDS_NEWER = /unknown repository extension|Expected git repo version/;

/** What git says of the repository that it runs in; null where it runs in none. */
async function locate(context: GitContext): Promise<string | null> {
  try {
    return await runGit(context, commands.locate());
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    if (/must be run in a work tree|cannot use bare repository/.test(error.stderr))
      throw withoutWorkTree(context.folder, error);
    if (NEEDS_NEWER.test(error.stderr)) {
      const message = `${context.folder} is in a repository that needs a newer git; install one`;
      throw new HoldfastError('invalid', message, {}, error);
    }
    if (!/not a git repository/.test(error.stderr)) throw error;
    refuseDamaged(context.folder, error);
    return null;
  }
}

/** Git takes a damaged repository for none; another one inside of it would hide that. */
function refuseDamaged(folder: string, cause: GitFailure): void {
  const holder = folderWithGit(folder);
  if (holder === null) return;
  throw new HoldfastError('invalid', `git cannot use ${holder}/.git; repair it, or remove it`, {}, cause);
}

/** Runs git in a folder; `safe` are the folders whose repositories may belong to somebody else. */
export function contextOf(folder: string, machine: Machine, safe: readonly string[]): GitContext {
  return { folder, env: gitEnvironment(machine.env, safe), timeLimit: machine.timeLimit };
}

/**
 * Whether the clone has only a part of the history; a fetch can make it so, or bring the rest. Git goes by nothing else
 * than this file either.
 */
export function isShallow({ commonFolder }: Pick<Repository, 'commonFolder'>): Promise<boolean> {
  return mayRead(`${commonFolder}/shallow`);
}

/** The nearest folder that is there, by its real path, and what of the path is not. */
async function nearestFolder(folder: string): Promise<{ existing: string; missing: string }> {
  const path = resolve(folder);
  let existing = path;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return { existing: await realpath(existing), missing: relative(existing, path) };
}

/** A folder that cannot be entered looks like one that is not there, and git like one that cannot be started. */
async function requireEntry(folder: string): Promise<void> {
  try {
    await access(folder, constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `this user may not enter the folder ${folder} (${code}); change its permissions, or use another folder`;
    throw new HoldfastError('invalid', message, {}, error);
  }
}

/** Git itself was not started, or does not answer: says why, since not only a missing git does that. */
export function gitCannotRun(error: unknown): HoldfastError {
  const said = saidBy(error);
  const trouble = descriptorTrouble(said);
  if (trouble !== null) return new HoldfastError('unavailable', `git cannot be run: ${trouble}`, {}, error);
  const [, code] = /\b(E[A-Z]{3,})\b/.exec(said) ?? [];
  const hint = `install git ${OLDEST_GIT.join('.')} or newer and put it on the PATH`;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: `it is not on the PATH; ${hint}`,
    EACCES: `this user may not run it (EACCES); ${hint}`,
  };
  const reason = reasons[code ?? ''] ?? `${said.trim().slice(0, 200)}; make sure that it works, or ${hint}`;
  return new HoldfastError('invalid', `git cannot be run: ${reason}`, {}, error);
}

async function checkVersion(context: GitContext): Promise<void> {
  let text: string;
  try {
    text = await runGit(context, commands.version());
  } catch (error) {
    throw gitCannotRun(error);
  }
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).slice(1).map(Number);
  if (major > OLDEST_GIT[0] || (major === OLDEST_GIT[0] && minor >= OLDEST_GIT[1])) return;
  throw new HoldfastError(
    'invalid',
    `git ${major}.${minor} is too old; install git ${OLDEST_GIT.join('.')} or newer`,
  );
}
