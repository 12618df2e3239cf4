import type { LogQuery } from '../../../history/history.ts';
import { objectId } from './object-ids.ts';
import { branchAtOrigin, isOriginRef, originRef, recordAtOrigin, refName, refToRead } from './ref-names.ts';

/**
 * A command line for git. Every one is built in this file, from a fixed template that takes only object ids and names
 * of refs, each checked against a pattern, the path of the desired-state folder, and that of a file of ours. Texts of users
 * and files are passed on standard input, or in such a file, never on the command line.
 */
export interface GitCommand {
  readonly args: readonly string[];
}

/** The record of ids is not part of the history, and a missing object in it must not end a walk over the history. */
const WITHOUT_RECORD = '--exclude=refs/holdfast/*';

/** Prints only the names of the files that commits touch. */
const NAMES_ONLY = ['--full-history', '--no-renames', '--format=', '--name-only', '-z'] as const;

/** Fields with a NUL after each, in the order in which `parseLog` reads them. */
const LOG_FIELDS = ['%H', '%P', '%an', '%ae', '%cn', '%ce', '%ct'].join('%x00');

/** Without `--update-shallow`, git silently fetches nothing from an origin that is a shallow clone itself. */
function fetchArguments(showsProgress: boolean): string[] {
  return [
    'fetch',
    showsProgress ? '--progress' : '--quiet',
    '--no-tags',
    '--prune',
    '--no-write-fetch-head',
    '--no-show-forced-updates',
    '--update-shallow',
    'origin',
  ];
}

function command(...args: string[]): GitCommand {
  return { args };
}

export const commands = {
  version: () => command('version'),
  /** Prints the top of the work tree, the git folder and the common folder of the current folder's repository. */
  locate: () =>
    command('rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'),
  objectFormat: () => command('rev-parse', '--show-object-format'),
  /** Prints the object format and one more line; fails if the list of shallow commits is damaged. */
  checkMirror: () => command('rev-parse', '--show-object-format', '--is-shallow-repository'),
  /** Create a repository without a work tree for fetched objects, in either object format. */
  initBare: () => command('init', '--quiet', '--bare', '--object-format=sha1'),
  initBareLong: () => command('init', '--quiet', '--bare', '--object-format=sha256'),
  /** Checks that all objects are intact, and that nothing that a ref needs is missing. */
  checkObjects: () => command('fsck', '--no-reflogs', '--no-dangling', '--no-progress'),
  /** With progress, git prints something every second, so silence means that the connection has stalled. */
  fetch: (branch: string, record: string, showsProgress: boolean) =>
    command(...fetchArguments(showsProgress), branchAtOrigin(refName(branch)), recordAtOrigin(record)),
  /** Fetches only the record: if one of the requested refs is missing, git fetches none of them. */
  fetchRecord: (record: string, showsProgress: boolean) =>
    command(...fetchArguments(showsProgress), recordAtOrigin(record)),
  /**
   * Moves a ref of origin by compare-and-swap; null means that the ref must not exist. The progress shows whether
   * anything was sent.
   */
  push: (ref: string, from: string | null, to: string) =>
    command(
      'push',
      '--porcelain',
      '--no-verify',
      '--progress',
      `--force-with-lease=${refName(ref)}:${from === null ? '' : objectId(from)}`,
      '--end-of-options',
      'origin',
      `${objectId(to)}:${refName(ref)}`,
    ),
  /** Cleans up as any git does after a while, in the foreground, if the settings of the repository want that. */
  cleanUp: () => command('gc', '--auto', '--quiet'),
  /** Prints the setting that names a program which `gc` would run. */
  hasGcHook: () => command('config', '--name-only', '--get-regexp', '^gc\\.recentobjectshook$'),
  init: () => command('init', '--quiet'),
  addAll: () => command('add', '--all', '--', '.'),
  writeTree: () => command('write-tree'),
  /** Prints a commit as it is stored. */
  commitText: (commit: string) => command('cat-file', '--end-of-options', 'commit', objectId(commit)),
  commitTree: (tree: string) => command('commit-tree', objectId(tree), '-F', '-'),
  symbolicHead: () => command('symbolic-ref', '--quiet', 'HEAD'),
  /** Prints the ref to which a symbolic ref finally leads. */
  symbolic: (ref: string) => command('symbolic-ref', '--quiet', '--end-of-options', refName(ref)),
  batchObjects: () => command('cat-file', '--batch-command'),
  listTree: (tree: string) => command('ls-tree', '-r', '-z', '--end-of-options', objectId(tree)),
  /**
   * Lists what git ignores below a path of the work tree. A folder in which it ignores everything is listed as one name
   * with a slash at its end.
   */
  ignored: (path: string) =>
    command(
      'ls-files',
      '-z',
      '--others',
      '--ignored',
      '--exclude-standard',
      '--directory',
      '--',
      path === '' ? '.' : path,
    ),
  /** Lists the entries of the index below a path, each with a letter for its state. */
  indexEntries: (path: string) => command('ls-files', '-z', '-t', '--stage', '--', path === '' ? '.' : path),
  /** Lists the entries of one tree, without those of its subtrees. */
  listTop: (tree: string) => command('ls-tree', '-z', '--end-of-options', objectId(tree)),
  /** Prints the short names of all branches and tags. */
  refNames: () =>
    command('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/', 'refs/tags/', 'refs/remotes/'),
  /** Prints the full names of all branches. */
  branches: () => command('for-each-ref', '--format=%(refname)', 'refs/heads/'),
  /** Prints a line of `<id> TAB <full name>` for each of these refs that origin has, and for the commit of a tag. */
  originRefs: (...refs: string[]) =>
    command(
      'ls-remote',
      '--quiet',
      '--end-of-options',
      'origin',
      ...refs.flatMap((ref) => [originRef(ref), `${originRef(ref)}^{}`]),
    ),
  /** Fetches what a ref of origin stands for, or a commit, and makes no ref of it. */
  fetchOne: (wanted: string) =>
    command(
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      '--update-shallow',
      '--end-of-options',
      'origin',
      isOriginRef(wanted) ? wanted : objectId(wanted),
    ),
  /** Prints a line of `<id> TAB <full name>` for each branch that origin has. */
  originBranches: () => command('ls-remote', '--quiet', '--heads', 'origin'),
  /** Prints lines of `<id> SP <full name>` for these refs and any below them; the objects can be of any type. */
  refTip: (...refs: string[]) =>
    command('for-each-ref', '--format=%(objectname) %(refname)', '--', ...refs.map(refToRead)),
  /** Prints the entry of one path from the tree that contains it; the object that the entry names can be damaged. */
  treeEntry: (revision: string, path: string) =>
    command('ls-tree', '-z', '--end-of-options', objectId(revision), path),
  /**
   * Compares pairs of trees, or a commit with its one parent, whose fields it prints first, as `log` does. With all submodules:
   * settings or a committed `.gitmodules` could hide some.
   */
  diffTrees: () =>
    command(
      'diff-tree',
      '-r',
      '-z',
      '--raw',
      '--no-renames',
      '--no-abbrev',
      '--ignore-submodules=none',
      '--encoding=UTF-8',
      `--format=${LOG_FIELDS}%x00%B`,
      '--stdin',
    ),
  isAncestor: (ancestor: string, revision: string) =>
    command('merge-base', '--is-ancestor', '--end-of-options', objectId(ancestor), objectId(revision)),
  commonAncestor: (one: string, other: string) =>
    command('merge-base', '--end-of-options', objectId(one), objectId(other)),
  /**
   * Merges two commits without a work tree, and writes what comes out. Prints the id of the tree and the names of the files
   * in conflict, with a NUL after each; ends with 1 if there are any.
   */
  mergeTree: (base: string, revision: string) =>
    command(
      'merge-tree',
      '--write-tree',
      '-z',
      '--name-only',
      '--no-messages',
      '--end-of-options',
      objectId(base),
      objectId(revision),
    ),
  lastChange: (revision: string, path: string) =>
    command('rev-list', '--max-count=1', '--end-of-options', objectId(revision), '--', path),
  /** Prints the newest commit of the first-parent line whose committer date is no later than a time, in Unix seconds. */
  madeBy: (time: number) =>
    command('rev-list', '--max-count=1', '--first-parent', `--min-age=${time}`, 'HEAD'),
  /** Prints commits of the first-parent line that changed a path, each with its difference to its first parent. */
  log: ({ from, until, limit, skipsFirst }: LogQuery, path: string, hasMessage: boolean) =>
    command(
      'log',
      '--first-parent',
      '--diff-merges=first-parent',
      '--raw',
      '-z',
      '--no-renames',
      '--no-abbrev',
      '--ignore-submodules=none',
      '--no-show-signature',
      '--encoding=UTF-8',
      `--format=${LOG_FIELDS}%x00${hasMessage ? '%B' : ''}`,
      `--max-count=${limit}`,
      `--skip=${skipsFirst ? 1 : 0}`,
      '--end-of-options',
      objectId(from),
      ...(until === null ? [] : [`^${objectId(until)}`]),
      '--',
      path,
    ),
  /** Prints the lines of a file, each with the commit that wrote it. */
  blame: (revision: string, path: string) =>
    command(
      'blame',
      // Otherwise it runs programs that attributes and settings of a clone name.
      '--no-textconv',
      // A file that `blame.ignoreRevsFile` names can be missing, and then git ends.
      '--no-ignore-revs-file',
      '--line-porcelain',
      '--encoding=UTF-8',
      objectId(revision),
      '--',
      path,
    ),
  /** Prints id, parents, name and address of the author of all commits in `until..from`, each with a NUL at its end. */
  authors: (from: string, until: string | null) =>
    command(
      'log',
      '-z',
      '--no-show-signature',
      '--encoding=UTF-8',
      '--format=%H%x00%P%x00%an%x00%ae',
      '--max-count=100000',
      '--end-of-options',
      objectId(from),
      ...(until === null ? [] : [`^${objectId(until)}`]),
    ),
  /** Prints the names of the files below a path in all commits that a ref or reflog reaches. */
  historyPaths: (path: string) =>
    command('log', WITHOUT_RECORD, '--all', '--reflog', '--diff-merges=combined', ...NAMES_ONLY, '--', path),
  /**
   * Prints the names of the files below a path that the commits in `from..to` touch; without `from`, all up to `to`. A merge
   * touches what differs from any of its parents: it can bring old content back that another commit has replaced.
   */
  touchedPaths: (from: string | null, to: string, path: string) => {
    const without = from === null ? [] : [`^${objectId(from)}`];
    return command(
      'log',
      '--diff-merges=separate',
      ...NAMES_ONLY,
      '--end-of-options',
      objectId(to),
      ...without,
      '--',
      path,
    );
  },
  /** Prints the committer times of the newest commits that any ref or reflog reaches. */
  newestCommits: () =>
    command('log', WITHOUT_RECORD, '--all', '--reflog', '--max-count=1000', '--date-order', '--format=%ct'),
  fastImport: () => command('fast-import', '--quiet', '--force', '--done', '--date-format=raw'),
  /** Moves index and work tree from one tree to another, and touches only paths that differ. */
  switchTree: (from: string, to: string) =>
    command('read-tree', '-u', '-m', '--end-of-options', objectId(from), objectId(to)),
  /** Lists files of the index that are missing on disk, except those that a sparse checkout leaves out. */
  deletedFiles: () => command('diff-files', '--diff-filter=D', '--name-only', '-z', '--ignore-submodules'),
  /** Prints the names of all settings about filters and hooks: programs that work on files or refs. */
  programSettings: () => command('config', '-z', '--name-only', '--get-regexp', '^(filter|hook)\\.'),
  /** Prints name and value of the settings that have addresses of remotes. */
  remoteAddresses: () => command('config', '-z', '--get-regexp', '^remote\\..*\\.url$'),
  ignoresCase: () => command('config', '--type=bool', '--get', 'core.ignoreCase'),
  listWorkTrees: () => command('worktree', 'list', '--porcelain', '-z'),
  updateRefs: () => command('update-ref', '-m', 'holdfast', '--stdin', '-z'),
  /** Prints the top of the work tree, and the path of the current folder in it. */
  topAndPrefix: () => command('rev-parse', '--show-toplevel', '--show-prefix'),
  /** Prints what is not as in `HEAD` below a path. */
  userStatus: (path: string) =>
    command(
      'status',
      '--porcelain=v1',
      '-z',
      '--no-renames',
      '--untracked-files=all',
      '--ignore-submodules=all',
      '--',
      path,
    ),
  /** Adds files whose paths are on standard input, also those that git ignores. */
  userAdd: () => command('add', '--force', '--pathspec-from-file=-', '--pathspec-file-nul'),
  /** Commits the files whose paths are on standard input as they are on disk, and nothing else, with the message of a file. */
  userCommit: (message: string) =>
    command(
      'commit',
      '--quiet',
      '--only',
      '--cleanup=verbatim',
      '--pathspec-from-file=-',
      '--pathspec-file-nul',
      '--file',
      message,
    ),
  userHead: () => command('rev-parse', '--verify', 'HEAD'),
  userReset: () => command('reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'),
} as const;
