import type { Dirent } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { HoldfastError } from '../../../errors.ts';
import { accessConfig, accessEnvironment, type OriginAccess } from '../origin/access.ts';
import { commands } from '../process/commands.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { gitEnvironment } from '../process/environment.ts';
import type { ObjectFormat } from '../process/object-ids.ts';
import { type GitContext, GitFailure, runGit } from '../process/run.ts';
import {
  contextOf,
  gitUnusable,
  type Machine,
  type Repository,
  requireGit,
} from '../repository/repository.ts';

/** Where the mirror is, and what it mirrors. */
export interface MirrorOptions {
  /** The manager's own folder. */
  dataFolder: string;
  access: OriginAccess;
  /** Path of the desired-state folder inside the repository, without slashes at its ends. */
  prefix: string;
  machine: Machine;
}

/** A bare repository that belongs to the manager; nobody else works in it. */
export interface Mirror {
  repository: Repository;
  /** For the commands that reach origin. */
  transfer: GitContext;
}

const FOLDER = 'mirror.git';
const SETTINGS = 'transfer.gitconfig';
const SETTINGS_OF_MIRROR: readonly (readonly [string, string])[] = [
  // Nobody fetches from the mirror, and writing bitmaps takes twice as long as joining the packs.
  ['repack.writeBitmaps', 'false'],
  // Otherwise a git before 2.41 would write each unreachable object to a file of its own.
  ['gc.cruftPacks', 'true'],
  // Refs of other branches are removed as files.
  ['gc.packRefs', 'false'],
];
/** In the mirror: the address of origin. */
const ADDRESS_FILE = 'holdfast-origin';

/**
 * Opens the mirror and removes what a killed process left in it. Makes a new mirror if there is none, if it mirrors
 * another repository or if git cannot use it: everything in it can be fetched again. `tracking` is the ref of origin's
 * branch in the mirror. Rejects as `unavailable`, and as `invalid` if git cannot be run.
 */
export async function openMirror(options: MirrorOptions, tracking: string): Promise<Mirror> {
  const folder = join(options.dataFolder, FOLDER);
  await requireGit(contextOf(options.dataFolder, options.machine, []));
  const context = localContext(folder, options);
  return namingFile(async () => {
    if (await isUsable(context, options.access.url)) {
      await tidyMirror(folder);
      await removeOtherRefs(folder, tracking);
    } else await makeMirror(folder, options);
    return describeMirror(folder, options);
  });
}

/**
 * Turns an error of the file system into one that names what cannot be used, and the error code: files of an earlier
 * manager can belong to another user.
 */
async function namingFile<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code = '', path = '' } = error as NodeJS.ErrnoException;
    if (!/^E[A-Z0-9]+$/.test(code)) throw error;
    const name = path.endsWith(SETTINGS) ? SETTINGS : FOLDER;
    const message = explainFailure(`${name} in DATA_DIR cannot be used (${code})`, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

/** Replaces the mirror with an empty one. The object format that it needs is known once origin was reached. */
export function makeMirror(
  folder: string,
  options: MirrorOptions,
  format: ObjectFormat = 'sha1',
): Promise<void> {
  const fresh = `${folder}.new`;
  return namingFile(async () => {
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    const context = localContext(fresh, options);
    // Locks and refs of other branches are removed as files, so refs must not be in tables, which newer gits can default to.
    const env = { ...context.env, GIT_DEFAULT_REF_FORMAT: 'files' };
    await runGit({ ...context, env }, format === 'sha1' ? commands.initBare() : commands.initBareLong());
    await writeFile(join(fresh, ADDRESS_FILE), options.access.url);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await rename(fresh, folder);
  });
}

/** Whether git recognizes the mirror as a repository, and its origin is at this address. Rejects if git cannot be run. */
export async function isUsable(context: GitContext, url: string): Promise<boolean> {
  try {
    const address = await readFile(join(context.folder, ADDRESS_FILE), 'utf8');
    const output = await runGit(context, commands.checkMirror());
    return address === url && /^sha(1|256)\n/.test(output);
  } catch (error) {
    // A git that cannot be run says nothing about the mirror.
    if (error instanceof GitFailure && error.exitCode === null) throw gitUnusable(error);
    return false;
  }
}

/** Names of files that git has not finished writing, and of the marks of packs that it was using. */
const UNFINISHED = /^(tmp_|\.tmp-|pack-.*\.keep$)/;

/** Removes what killed processes left: locks, and half-written objects. None is in use, since all work in the mirror takes turns. */
export async function tidyMirror(folder: string): Promise<void> {
  const isLeftover = ({ name, parentPath }: Dirent): boolean =>
    name.endsWith('.lock') || (parentPath.includes('objects') && UNFINISHED.test(name));
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const leftovers = entries.filter((entry) => entry.isFile() && isLeftover(entry));
  await Promise.all(leftovers.map((entry) => rm(join(entry.parentPath, entry.name), { force: true })));
}

async function describeMirror(folder: string, options: MirrorOptions): Promise<Mirror> {
  const context = localContext(folder, options);
  const repository = { context, gitFolder: folder, commonFolder: folder, prefix: options.prefix };
  return { repository, transfer: await transferContext(folder, options) };
}

function localContext(folder: string, { machine }: MirrorOptions): GitContext {
  const env = { ...gitEnvironment(machine.env, [folder], SETTINGS_OF_MIRROR), GIT_DIR: folder };
  return { folder, env, timeLimit: machine.timeLimit };
}

/**
 * Returns the context of transfers, after writing a file of settings. If origin is a folder of this machine, the git at
 * its end drops settings from the environment but reads this file: it may use a repository of another user, and what it
 * receives must be durable.
 */
async function transferContext(folder: string, options: MirrorOptions): Promise<GitContext> {
  const { access, machine } = options;
  const env = gitEnvironment(machine.env, [folder], [...SETTINGS_OF_MIRROR, ...accessConfig(access)]);
  const file = join(options.dataFolder, SETTINGS);
  const safe = access.url.startsWith('/') ? [access.url, join(access.url, '.git')] : [];
  const lines = [
    '[core]\n\tfsync = committed,reference\n\tfsyncMethod = fsync\n',
    ...safe.map((path) => `[safe]\n\tdirectory = ${quoted(path)}\n`),
  ];
  await writeFile(file, lines.join(''), { mode: 0o600 });
  const own = { GIT_DIR: folder, GIT_CONFIG_GLOBAL: file };
  return {
    folder,
    env: { ...env, ...accessEnvironment(access, machine.env), ...own },
    timeLimit: machine.timeLimit,
  };
}

/** Quotes for a file of git's settings. */
function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Removes the refs of branches that were followed before: nothing needs them, and `x` would block a branch `x/y`. */
async function removeOtherRefs(folder: string, tracking: string): Promise<void> {
  const isOther = (path: string): boolean => path.startsWith('refs/remotes/origin/') && path !== tracking;
  for (const base of [folder, join(folder, 'logs')]) {
    const entries = await readdir(join(base, 'refs'), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    const files = entries.filter((entry) => entry.isFile());
    const paths = files.map((entry) => relative(base, join(entry.parentPath, entry.name)));
    for (const path of paths.filter(isOther)) await rm(join(base, path), { force: true });
  }
}
