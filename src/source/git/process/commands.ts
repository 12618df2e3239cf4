import { HoldfastError } from '../../../errors.ts';

/**
 * Every command line that is ever given to git. A command is made here and nowhere else, from a fixed
 * template; what goes into a template is an object id, a ref of ours or a path of the settings, each checked
 * against a pattern of ours. Texts that users or files bring go through standard input, never through here.
 */
export interface GitCommand {
  readonly args: readonly string[];
}

const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const REF =
  /^refs\/(heads|holdfast|remotes\/origin)\/(?!.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)|\/\.))[^ ~^:?*[\\\p{Cc}./][^ ~^:?*[\\\p{Cc}]*(?<![./])$/su;

/** The record of ids is no part of history, and whatever it names must not stop the walk over it. */
const BUT_THE_RECORD = [
  '--exclude=refs/holdfast/ids',
  '--exclude=refs/holdfast/ids-base',
  '--exclude=refs/holdfast/origin-ids',
  '--exclude=refs/holdfast/recording',
] as const;

/** Names of all files that commits touched, also those that a merge made anew, and nothing else. */
const NAMES_ALONE = [
  '--full-history',
  '--diff-merges=combined',
  '--no-renames',
  '--format=',
  '--name-only',
  '-z',
] as const;

const REPACK_REACHED = ['repack', '--cruft', '-d', '-l', '--quiet'] as const;

/**
 * The record of ids, whether it is there or not, and no other name: given a full name, git fails where it is not there, and
 * takes a branch or a tag for it that has the whole name below its own folder. So this is a pattern of which no other match
 * can be kept: what stands for `*` comes first in the name that the ref gets here, which then does not begin with `refs/`, and
 * git leaves out such a one (`LEFT_OUT`). Those that do begin so are excluded.
 */
const IDS_AT_ORIGIN = ['+refs/holdfast/ids*:*refs/holdfast/origin-ids', '^refs/holdfast/idsrefs/*'] as const;

/** What git says of each ref that it leaves out for that; the beginning of the first line can be cut off. */
export const LEFT_OUT = /^.*refs\/holdfast\/origin-ids' locally\n?/gm;

/** `--update-shallow`: from an origin that is itself a shallow clone git would otherwise fetch nothing, silently. */
function fetchArguments(isTalkative: boolean): string[] {
  return [
    'fetch',
    isTalkative ? '--progress' : '--quiet',
    '--no-tags',
    '--prune',
    '--no-write-fetch-head',
    '--no-auto-maintenance',
    '--no-show-forced-updates',
    '--update-shallow',
    '--end-of-options',
    'origin',
  ];
}

/**
 * A branch of origin and nothing else: for a full name that is not there git takes a ref that has it behind its own folder
 * (`aliasesOf`). Of the same branch by its shorter name that would be another one, and git does not fetch two refs into one
 * (`NO_BRANCH`): so both are the branch itself, or nothing is fetched.
 */
function branchAtOrigin(branch: string): string[] {
  const tracking = trackingRef(branch);
  return [branch, branch.replace(/^refs\//, '')].map((name) => `+${name}:${tracking}`);
}

/** What git says where origin has no such branch: of both names, or that each led to another ref. */
export const NO_BRANCH = /couldn't find remote ref|Cannot fetch both \S+ and \S+ to refs\/remotes\/origin\//;

/** What git takes for a full name at origin where nothing has that name, by the rules of `gitrevisions`. */
function aliasesOf(ref: string): string[] {
  return [
    `refs/${ref}`,
    `refs/tags/${ref}`,
    `refs/heads/${ref}`,
    `refs/remotes/${ref}`,
    `refs/remotes/${ref}/HEAD`,
  ];
}

/** How ids are made: 40 digits long, or 64. */
export type ObjectFormat = 'sha1' | 'sha256';

function command(...args: string[]): GitCommand {
  return { args };
}

/** Checks a full object id. */
export function objectId(text: string): string {
  if (OBJECT_ID.test(text)) return text;
  throw new HoldfastError('internal', 'not an object id');
}

/** The id that stands for no object, where ids are as long as this one. */
export function noObjectLike(id: string): string {
  return '0'.repeat(id.length);
}

const EMPTY_TREES: readonly string[] = [
  '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
];

/** The id of the tree without entries, where ids are as long as this one. */
export function emptyTreeLike(id: string): string {
  return EMPTY_TREES.find((tree) => tree.length === objectId(id).length) as string;
}

/** Checks the full name of a ref: a branch, or a ref of ours. */
export function refName(text: string): string {
  if (REF.test(text)) return text;
  throw new HoldfastError('invalid', `"${text.slice(0, 200)}" is not a valid branch name`);
}

/** Where the mirror keeps what a branch of origin was at when it was last seen. */
export function trackingRef(branch: string): string {
  return refName(branch.replace(/^refs\/heads\//, 'refs/remotes/origin/'));
}

export const commands = {
  version: () => command('version'),
  /** Where the repository of the current folder keeps its things. */
  locate: () =>
    command('rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'),
  objectFormat: () => command('rev-parse', '--show-object-format'),
  /** The same; reads the list of shallow commits too, which can be damaged. */
  checkMirror: () => command('rev-parse', '--show-object-format', '--is-shallow-repository'),
  /** A repository without a work tree, for what is fetched, with ids of either length. */
  initBare: () => command('init', '--quiet', '--bare', '--object-format=sha1'),
  initBareLong: () => command('init', '--quiet', '--bare', '--object-format=sha256'),
  /** Whether every object is whole, and everything that a ref needs is there. */
  checkObjects: () => command('fsck', '--no-reflogs', '--no-dangling', '--no-progress'),
  /** With progress it says something every second, so that silence tells of a line that stands still. */
  fetch: (branch: string, isTalkative: boolean) =>
    command(...fetchArguments(isTalkative), ...branchAtOrigin(refName(branch)), ...IDS_AT_ORIGIN),
  /** Refs of ours alone: git brings nothing where one of the names that it is given is not there. */
  fetchIds: (isTalkative: boolean) => command(...fetchArguments(isTalkative), ...IDS_AT_ORIGIN),
  /**
   * Moves a ref of origin by compare-and-swap; null stands for a ref that is not there. Its progress tells whether
   * anything was sent. What git would move in its place has to be away; the first lease that fits a ref counts.
   */
  push: (ref: string, from: string | null, to: string) =>
    command(
      'push',
      '--porcelain',
      '--no-verify',
      '--progress',
      ...aliasesOf(refName(ref)).map((alias) => `--force-with-lease=${alias}:`),
      `--force-with-lease=${ref}:${from === null ? '' : objectId(from)}`,
      '--end-of-options',
      'origin',
      `${objectId(to)}:${refName(ref)}`,
    ),
  /** Repacks many small packs into few large ones; unreachable objects stay. git refuses to where bitmaps are written. */
  repack: () => command('repack', '--geometric=2', '-d', '--quiet', '--no-write-bitmap-index'),
  /**
   * One pack of all that refs, reflogs and indexes reach, and one of the rest, without what is older than two weeks.
   * What is borrowed from another repository is not copied. From git 2.37 on.
   */
  repackReached: () => command(...REPACK_REACHED, '--cruft-expiration=2.weeks.ago'),
  /** The same, without what is older than a day: for where nobody else works. */
  repackReachedOfDay: () => command(...REPACK_REACHED, '--cruft-expiration=1.day.ago'),
  /** Writes the commit-graph again. */
  writeCommitGraph: () => command('commit-graph', 'write', '--reachable', '--no-progress'),
  /** Lines of `<scope> TAB <name>` for all settings of clean-ups. */
  cleanUpSettings: () =>
    command('config', '--show-scope', '--name-only', '--get-regexp', '^(gc|maintenance)\\.'),
  init: () => command('init', '--quiet'),
  addAll: () => command('add', '--all', '--', '.'),
  writeTree: () => command('write-tree'),
  /** Makes a tree of entries as `ls-tree` gives them, whether what they name is there or not. */
  makeTree: () => command('mktree', '-z', '--missing'),
  commitTree: (tree: string) => command('commit-tree', objectId(tree), '-F', '-'),
  symbolicHead: () => command('symbolic-ref', '--quiet', 'HEAD'),
  /** The ref that another one is a name of, in the end. */
  symbolic: (ref: string) => command('symbolic-ref', '--quiet', '--end-of-options', refName(ref)),
  batchObjects: () => command('cat-file', '--batch-command'),
  listTree: (tree: string) =>
    command('ls-tree', '-r', '-z', '--full-tree', '--end-of-options', objectId(tree)),
  /**
   * What git ignores below a path of the work tree; a folder of which it ignores everything is told by its own name and
   * a slash.
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
  /** The entries of the index below a path, each with a letter for its state. */
  indexEntries: (path: string) => command('ls-files', '-z', '-t', '--stage', '--', path === '' ? '.' : path),
  /** The entries of one tree, without those of the trees in it. */
  listTop: (tree: string) => command('ls-tree', '-z', '--full-tree', '--end-of-options', objectId(tree)),
  /** Full names of all branches. */
  branches: () => command('for-each-ref', '--format=%(refname)', 'refs/heads/'),
  /** Lines of "<id><TAB><full name>", one for each branch that origin has. */
  originBranches: () => command('ls-remote', '--quiet', '--heads', '--end-of-options', 'origin'),
  /** What refs of exactly these names name, also where that is no commit. */
  refTip: (...refs: string[]) =>
    command('for-each-ref', '--format=%(objectname) %(refname)', '--', ...refs.map(refName)),
  /** The entry of one path, said by the tree that holds it: what it names may be damaged. */
  treeEntry: (revision: string, path: string) =>
    command('ls-tree', '-z', '--full-tree', '--end-of-options', objectId(revision), path),
  /** With all submodules: settings, and a `.gitmodules` that a commit brings, can leave some out. */
  diffTrees: () =>
    command(
      'diff-tree',
      '-r',
      '-z',
      '--raw',
      '--no-renames',
      '--no-abbrev',
      '--ignore-submodules=none',
      '--stdin',
    ),
  isAncestor: (ancestor: string, revision: string) =>
    command('merge-base', '--is-ancestor', '--end-of-options', objectId(ancestor), objectId(revision)),
  commonAncestor: (one: string, other: string) =>
    command('merge-base', '--end-of-options', objectId(one), objectId(other)),
  lastChange: (revision: string, path: string) =>
    command('rev-list', '--max-count=1', '--end-of-options', objectId(revision), '--', path),
  /** Names of all files below a path in all commits that any ref or reflog reaches. */
  historyPaths: (path: string) =>
    command('log', ...BUT_THE_RECORD, '--all', '--reflog', ...NAMES_ALONE, '--', path),
  /** Names of all files below a path in the commits that `to` has and `from` has not. */
  touchedPaths: (from: string, to: string, path: string) =>
    command('log', ...NAMES_ALONE, '--end-of-options', objectId(to), `^${objectId(from)}`, '--', path),
  /** Commits that descend from one and lead to the other. */
  between: (from: string, to: string) =>
    command(
      'rev-list',
      '--ancestry-path',
      '--topo-order',
      '--end-of-options',
      objectId(to),
      `^${objectId(from)}`,
    ),
  /** Where a branch, or HEAD, has been. */
  visited: (ref: string) =>
    command(
      'log',
      '--walk-reflogs',
      '--max-count=10000',
      '--format=%H',
      '--end-of-options',
      ref === 'HEAD' ? ref : refName(ref),
      '--',
    ),
  newestCommits: () =>
    command(
      'log',
      ...BUT_THE_RECORD,
      '--all',
      '--reflog',
      '--max-count=1000',
      '--date-order',
      '--format=%ct',
    ),
  fastImport: () => command('fast-import', '--quiet', '--force', '--done', '--date-format=raw'),
  /** Moves index and work tree from one tree to another, touching nothing but what differs. */
  switchTree: (from: string, to: string) =>
    command('read-tree', '-u', '-m', '--end-of-options', objectId(from), objectId(to)),
  /** Files of the index that are not on the disk, without those that a sparse checkout leaves out. */
  deletedFiles: () => command('diff-files', '--diff-filter=D', '--name-only', '-z', '--ignore-submodules'),
  /** Files that are not as the index has them, deleted ones among them. */
  changedFiles: () => command('diff-files', '--name-only', '-z', '--ignore-submodules'),
  listIndex: () => command('ls-files', '--stage', '-z'),
  /** Takes `<mode> SP <id> TAB <path> NUL` lines; mode 0 drops a path. */
  setIndex: () => command('update-index', '-z', '--index-info'),
  /** Writes the files that are named as the index has them, over what is there. */
  checkOutFiles: () => command('checkout-index', '--force', '--index', '-z', '--stdin'),
  /** Ids of files as git would store them, one path a line. */
  hashFiles: () => command('hash-object', '--stdin-paths'),
  /** Keys of the programs that the machine's owner lets work on files or with refs, if any. */
  programSettings: () => command('config', '-z', '--name-only', '--get-regexp', '^(filter|hook)\\.'),
  ignoresCase: () => command('config', '--type=bool', '--get', 'core.ignoreCase'),
  listWorkTrees: () => command('worktree', 'list', '--porcelain', '-z'),
  refreshIndex: () => command('update-index', '-q', '--refresh'),
  updateRefs: () => command('update-ref', '-m', 'holdfast', '--stdin', '-z'),
} as const;
