import type { Dirent } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { HoldfastError } from '../../../errors.ts';
import { commands, type ObjectFormat } from '../process/commands.ts';
import { withTrouble } from '../process/disk-trouble.ts';
import { gitEnvironment } from '../process/environment.ts';
import { type GitContext, GitFailure, runGit } from '../process/run.ts';
import { SEEN_REF } from '../record/refs.ts';
import { gitCannotRun, type Machine, type Repository } from '../repository/repository.ts';
import { accessConfig, accessEnvironment, type OriginAccess } from './access.ts';

/** Where the mirror lies, and what it mirrors. */
export interface MirrorOptions {
  /** The manager's own folder. */
  dataFolder: string;
  access: OriginAccess;
  /** Path of the desired-state folder inside the repository, without slashes at its ends. */
  prefix: string;
  machine: Machine;
}

/** A bare repository of the manager's own, which nobody else works in. */
export interface Mirror {
  repository: Repository;
  /** How to run the commands that reach origin. */
  transfer: GitContext;
}

const FOLDER = 'mirror.git';
const SETTINGS = 'transfer.gitconfig';
const SETTINGS_OF_MIRROR: readonly (readonly [string, string])[] = [
  // Where the branch was before decides which recorded ids can be trusted; a bare repository does not log that unasked.
  ['core.logAllRefUpdates', 'true'],
  // Nobody fetches from here, and they take twice as long as joining packs does.
  ['repack.writeBitmaps', 'false'],
];
/** In the mirror: the address of what it mirrors. */
const ADDRESS_FILE = 'holdfast-origin';
/**
 * In the mirror, while a version of the record is pushed: see `sharing`. A hint about such files would be in front of
 * what git says.
 */
const GRAFT_FILE = 'holdfast-grafts';
const UNHINTED: readonly (readonly [string, string])[] = [['advice.graftFileDeprecated', 'false']];

/**
 * Opens the mirror and clears away what a killed process left; makes a new one where there is none, where it mirrors
 * something else, or where git cannot use it: everything in it can be had from origin again. `tracking` is the ref that
 * keeps where the branch was.
 */
export async function openMirror(options: MirrorOptions, tracking: string): Promise<Mirror> {
  const folder = join(options.dataFolder, FOLDER);
  const context = localContext(folder, options);
  return sayingWhat(async () => {
    if (await isUsable(context, options.access.url)) {
      await removeLeftovers(folder);
      await removeOtherRefs(folder, tracking);
    } else await makeMirror(folder, options);
    return describeMirror(folder, options);
  });
}

/** Files of an earlier manager can belong to another user: the message then names the file and the error code. */
async function sayingWhat<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code = '', path = '' } = error as NodeJS.ErrnoException;
    if (!/^E[A-Z0-9]+$/.test(code)) throw error;
    const name = path.endsWith(SETTINGS) ? SETTINGS : FOLDER;
    const message = withTrouble(`${name} in DATA_DIR cannot be used (${code})`, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

/** Puts an empty mirror in the place of the present one; what `format` it needs is known once origin was asked. */
export function makeMirror(
  folder: string,
  options: MirrorOptions,
  format: ObjectFormat = 'sha1',
): Promise<void> {
  const fresh = `${folder}.new`;
  return sayingWhat(async () => {
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    const context = localContext(fresh, options);
    // Locks and refs of other branches are cleared away as files; a newer git would keep refs in tables.
    const env = { ...context.env, GIT_DEFAULT_REF_FORMAT: 'files' };
    await runGit({ ...context, env }, format === 'sha1' ? commands.initBare() : commands.initBareLong());
    await writeFile(join(fresh, ADDRESS_FILE), options.access.url);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await rename(fresh, folder);
  });
}

/** Whether git takes the mirror for a repository, and whether it is one of this origin. */
export async function isUsable(context: GitContext, url: string): Promise<boolean> {
  try {
    const address = await readFile(join(context.folder, ADDRESS_FILE), 'utf8');
    const said = await runGit(context, commands.checkMirror());
    return address === url && /^sha(1|256)\n/.test(said);
  } catch (error) {
    // A git that cannot be run says nothing about the mirror.
    if (error instanceof GitFailure && error.exitCode === null) throw gitCannotRun(error);
    return false;
  }
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
 * git on the other side of a path (origin is a folder of this machine) drops the settings that come by the environment;
 * a file of settings reaches it, with whose repository may be used, and that what it takes has to be durable.
 */
async function transferContext(folder: string, options: MirrorOptions): Promise<GitContext> {
  const { access, machine } = options;
  const env = gitEnvironment(
    machine.env,
    [folder],
    [...SETTINGS_OF_MIRROR, ...UNHINTED, ...accessConfig(access)],
  );
  const file = join(options.dataFolder, SETTINGS);
  const safe = access.url.startsWith('/') ? [access.url, join(access.url, '.git')] : [];
  const lines = [
    '[core]\n\tfsync = committed,reference\n\tfsyncMethod = fsync\n',
    ...safe.map((path) => `[safe]\n\tdirectory = ${quoted(path)}\n`),
  ];
  await writeFile(file, lines.join(''), { mode: 0o600 });
  const own = { GIT_DIR: folder, GIT_CONFIG_GLOBAL: file, GIT_GRAFT_FILE: join(folder, GRAFT_FILE) };
  return {
    folder,
    env: { ...env, ...accessEnvironment(access, machine.env), ...own },
    timeLimit: machine.timeLimit,
  };
}

/**
 * Pushes a commit that has no parents, and most of its files from one that origin has. Git sends all of them then,
 * because it looks only at what a commit descends from; a graft says that it descends from that one, to this git alone.
 * A git that knows no grafts any more sends all.
 */
export async function sharing<T>(
  { gitFolder }: Pick<Repository, 'gitFolder'>,
  commit: string,
  base: string,
  push: () => Promise<T>,
): Promise<T> {
  const file = join(gitFolder, GRAFT_FILE);
  try {
    await writeFile(file, `${commit} ${base}\n`);
    return await push();
  } finally {
    await rm(file, { force: true });
  }
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Names of files that git writes before it has all of what belongs into them. */
const UNFINISHED = /^(tmp_|\.tmp-)/;
/** What a writer of commits that was killed leaves beside its packs: nobody would ever join them. */
const KEPT = /^pack-.*\.keep$/;
/** Milliseconds after which nobody is at work on such a file: longer than a writer of commits waits for work. */
const ABANDONED_AFTER = 60_000;

/** Locks, half-written packs and marks of packs in use: the one process that works here has just begun. */
async function removeLeftovers(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const isLeftover = ({ name, parentPath }: Dirent): boolean =>
    name.endsWith('.lock') || (parentPath.includes('objects') && (UNFINISHED.test(name) || KEPT.test(name)));
  const leftovers = entries.filter((entry) => entry.isFile() && isLeftover(entry));
  await Promise.all(leftovers.map((entry) => rm(join(entry.parentPath, entry.name), { force: true })));
}

/** What was followed before is in the way of a branch whose name begins with its name, and of no use to any other. */
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

/**
 * Clears away what a fetch that was ended can leave: locks of refs that nothing but fetches and pushes move, which
 * take turns, and packs that nobody has worked on for a while. Resolves to whether younger ones are left: each can be as
 * large as the disk had room for.
 */
export async function tidyMirror(folder: string, tracking: string): Promise<boolean> {
  const packs = join(folder, 'objects/pack');
  const names = await readdir(packs).catch((): string[] => []);
  const unfinished = names.filter((name) => UNFINISHED.test(name)).map((name) => join(packs, name));
  const locks = [`${tracking}.lock`, `${SEEN_REF}.lock`, 'packed-refs.lock', 'shallow.lock'].map((name) =>
    join(folder, name),
  );
  const abandoned = await Promise.all(unfinished.map(isAbandoned));
  const leftovers = [...locks, ...unfinished.filter((_, index) => abandoned[index])];
  // What cannot be removed shows in the next fetch.
  await Promise.all(leftovers.map((path) => rm(path, { force: true }).catch(() => undefined)));
  return abandoned.includes(false);
}

async function isAbandoned(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && found.mtimeMs < Date.now() - ABANDONED_AFTER;
}
