import type { TreeEntry } from '../../../desired/entry.ts';
import { HoldfastError } from '../../../errors.ts';
import type { FolderLog } from '../../../history/history.ts';
import type { CommitInfo, TreeChange } from '../../../ids/ids-reader.ts';
import type { Head, Reader } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { type AnswerReader, Conversation } from '../process/conversation.ts';
import { asUnavailable } from '../process/guarded.ts';
import { objectId } from '../process/object-ids.ts';
import { askGit, GitFailure, MAX_OUTPUT, runGit } from '../process/run.ts';
import type { Followed } from '../refs/followed.ts';
import { branchTip, unreadableCommit } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import { readBlame } from './blame.ts';
import { findFolder } from './folder-tree.ts';
import { readHistory, readTouched } from './history.ts';
import { LOG_FIELDS, parseLog, readLog } from './log.ts';
import type { ObjectReader } from './objects.ts';
import { resolveName } from './resolve.ts';
import { parseTreeChange, parseTreeList } from './tree.ts';

/** The most bytes of a commit that are read: a push of 170 KB can bring a message of 140 MB. */
const MAX_COMMIT = 2 ** 20;

const NUL = 0;
const NEWLINE = 0x0a;
/** A line that is not two object ids: git prints it as it is, and flushes the answers before it. */
const END_OF_DIFF = 'end';
/**
 * The most changes of one comparison, whose paths have at most `MAX_OUTPUT` characters together. If there are more, the
 * folder is listed instead, which has its own limit.
 */
const MAX_CHANGES = 1_000_000;
/** The most files that are looked up one by one, each of which makes git read the tree of its folder again. */
const MAX_LOOK_UPS = 100;

/**
 * Creates the reader of a repository's folder; closing it closes `objects`, too. `follow` is called each time that the
 * followed branch has to be known, and decides which one it is.
 */
export function createReader(
  repository: Repository,
  objects: ObjectReader,
  follow: () => Promise<Followed>,
): Reader {
  const { context } = repository;
  const diffs = new Conversation(context, commands.diffTrees());
  const close = async (): Promise<void> => {
    await Promise.all([objects.close(), diffs.close()]);
  };

  return {
    head: () => asUnavailable(async () => readHead(repository, objects, await follow(), close)),
    resolve: (name) => asUnavailable(() => resolveName(repository, objects, name)),
    folderTree: (revision) => asUnavailable(() => findFolder(repository, objects, objectId(revision))),
    entriesAt: (revision) =>
      asUnavailable(async () => {
        const tree = await findFolder(repository, objects, objectId(revision));
        return tree === null ? [] : readList(repository, tree);
      }),
    list: (tree) => asUnavailable(() => readList(repository, tree)),
    changes: (from, to) =>
      asUnavailable(() => readChanges(repository, diffs, objects, from, to).catch(nullIfGitFailed)),
    blob: (id, maxBytes) => asUnavailable(() => objects.blob(id, maxBytes)),
    commit: (revision) => asUnavailable(() => readCommit(objects, revision)),
    lastChange: (revision) => asUnavailable(() => readLastChange(repository, revision)),
    isAncestor: (ancestor, revision) =>
      asUnavailable(() => readIsAncestor(repository, objects, ancestor, revision)),
    commonAncestor: (one, other) => asUnavailable(() => readCommonAncestor(repository, objects, one, other)),
    history: () => asUnavailable(() => readHistory(repository)),
    blame: (revision, path) => asUnavailable(() => readBlame(repository, revision, path)),
    log: (query) =>
      asUnavailable(async () => {
        const isNext =
          query.until !== null && !query.skipsFirst && (await isOnly(objects, query.from, query.until));
        return (isNext ? await readNext(repository, diffs, query.from) : null) ?? readLog(repository, query);
      }),
    touchedPaths: (from, to) => asUnavailable(() => readTouched(repository, from, to)),
    close,
  };
}

/**
 * Resolves to no revision only for a branch without a commit. Rejects as `unavailable` if the branch has a commit that
 * cannot be read: because it is damaged, or in another repository whose disk is not mounted.
 */
async function readHead(
  repository: Repository,
  objects: ObjectReader,
  { branch, at }: Followed,
  restart: () => Promise<void>,
): Promise<Head> {
  const lookUp = () => objects.info(`${at}^{commit}`);
  // A running git does not notice that a disk is mounted again.
  const commit = (await lookUp()) ?? (await restart().then(lookUp));
  if (commit !== null) return { branch, revision: commit.id };
  if (branch === null || (await branchTip(repository, branch)) !== null) throw unreadableCommit(branch);
  return { branch, revision: null };
}

async function readList({ context }: Repository, tree: string): Promise<TreeEntry[]> {
  return parseTreeList(await runGit(context, commands.listTree(tree)));
}

async function readChanges(
  repository: Repository,
  diffs: Conversation,
  objects: ObjectReader,
  from: string,
  to: string,
): Promise<TreeChange[] | null> {
  // The repository was replaced by one with the other object format; git would only print such a line as it is.
  if (from.length !== to.length) return null;
  const diff = await diffs.ask(`${objectId(from)} ${objectId(to)}\n${END_OF_DIFF}\n`, readDiff);
  if (diff === null) return null;
  const { changes, added } = diff;
  // If a tree names a file twice, or is not in order, as only other programs than git make them, git reports a path
  // twice, a file that is still there as deleted, or one that was there as added.
  if (new Set(changes.map(({ path }) => path)).size !== changes.length) return null;
  const deleted = changes.filter(({ entry }) => entry === null).map(({ path }) => path);
  const areSound = await Promise.all([
    areAbsent(repository, objects, deleted, to),
    areAbsent(repository, objects, added, from),
  ]);
  return areSound.every(Boolean) ? changes : null;
}

/** Whether a tree has no files at these paths. */
async function areAbsent(
  repository: Repository,
  objects: ObjectReader,
  paths: readonly string[],
  tree: string,
): Promise<boolean> {
  if (paths.length > MAX_LOOK_UPS) {
    const present = new Set((await readList(repository, tree)).map(({ path }) => path));
    return !paths.some((path) => present.has(path));
  }
  const found = await Promise.all(paths.map((path) => objects.info(`${tree}:${path}`)));
  return found.every((info) => info === null || info.type === 'tree');
}

/** For `catch`: trees that crash the comparison, such as 20,000 nested folders, can perhaps still be listed. */
function nullIfGitFailed(error: unknown): null {
  if (error instanceof GitFailure) return null;
  throw error;
}

/** What git reports of two trees; `added` are the paths that it reports as new. */
interface Diff {
  changes: TreeChange[];
  added: string[];
}

async function readDiff(reader: AnswerReader): Promise<Diff | null> {
  // First comes a line with the two ids, then two fields for each change. For a missing tree, git prints nothing at
  // all.
  if ((await reader.until(NEWLINE)) === END_OF_DIFF) return null;
  const diff: Diff = { changes: [], added: [] };
  const { changes, added } = diff;
  let size = 0;
  for (;;) {
    const firstCharacter = String.fromCharCode(...(await reader.bytes(1)));
    if (firstCharacter !== ':') {
      await reader.until(NEWLINE);
      return diff;
    }
    const meta = await reader.until(NUL);
    const path = await reader.until(NUL);
    changes.push(parseTreeChange(meta, path));
    if (meta.endsWith(' A')) added.push(path);
    size += path.length;
    if (changes.length > MAX_CHANGES || size > MAX_OUTPUT)
      throw new GitFailure(commands.diffTrees(), null, 'reported too many changes');
  }
}

async function readCommit(objects: ObjectReader, revision: string): Promise<CommitInfo> {
  const bytes = await objects.beginning(revision, MAX_COMMIT);
  if (bytes === null) throw new HoldfastError('unavailable', 'the commit is not in the repository');
  const text = bytes.toString('utf8');
  const headerEnd = text.indexOf('\n\n');
  const header = text.slice(0, headerEnd + 1);
  const timeOf = (pattern: RegExp): number => Number(pattern.exec(header)?.[1] ?? 0);
  return {
    time: timeOf(/^committer .*> (-?\d+) [+-]\d+$/m),
    authored: timeOf(/^author .*> (-?\d+) [+-]\d+$/m),
    parents: Array.from(header.matchAll(/^parent ([0-9a-f]+)$/gm), ([, id]) => id ?? ''),
    message: text.slice(headerEnd + 2),
  };
}

/** Whether `parent` is the one parent of a commit, which is small enough to be read as a whole. */
async function isOnly(objects: ObjectReader, revision: string, parent: string): Promise<boolean> {
  const info = await objects.info(objectId(revision));
  if (info === null || info.size > MAX_COMMIT) return false;
  const { parents } = await readCommit(objects, revision);
  return parents.length === 1 && parents[0] === parent;
}

/** Reads a commit that has one parent without a process of its own; null if that does not do, as for one without changes. */
async function readNext(
  { prefix }: Repository,
  diffs: Conversation,
  revision: string,
): Promise<FolderLog | null> {
  const output = await diffs
    .ask(`${objectId(revision)}\n${END_OF_DIFF}\n`, readFields)
    .catch(nullIfGitFailed);
  const [commit] = parseLog(output ?? '', prefix);
  if (commit === undefined || commit.parents.length !== 1) return null;
  return { commits: commit.files.length > 0 ? [commit] : [], next: null, isCut: false };
}

/** Reads the fields of a commit, and two for each of its files; empty if git prints none. */
async function readFields(reader: AnswerReader): Promise<string> {
  const begin = (await reader.bytes(END_OF_DIFF.length)).toString();
  const fields: string[] = [];
  if (begin !== END_OF_DIFF) {
    fields.push(begin + (await reader.until(NUL)));
    while (fields.length < LOG_FIELDS) fields.push(await reader.until(NUL));
    let first = (await reader.bytes(1)).toString();
    for (let size = 0; first !== END_OF_DIFF[0]; first = (await reader.bytes(1)).toString()) {
      fields.push(first + (await reader.until(NUL)), await reader.until(NUL));
      size += fields.at(-1)?.length ?? 0;
      if (fields.length > MAX_CHANGES || size > MAX_OUTPUT)
        throw new GitFailure(commands.diffTrees(), null, 'reported too many changes');
    }
  }
  await reader.until(NEWLINE);
  return fields.map((field) => `${field}\0`).join('');
}

async function readLastChange({ context, prefix }: Repository, revision: string): Promise<string | null> {
  const found = await runGit(context, commands.lastChange(revision, prefix || '.'));
  return found.trim() || null;
}

async function readIsAncestor(
  { context }: Repository,
  objects: ObjectReader,
  ancestor: string,
  revision: string,
): Promise<boolean> {
  // Requested together, since both answers take no longer than one.
  const [ancestorInfo, commit] = await Promise.allSettled([
    objects.info(`${objectId(ancestor)}^{commit}`),
    readCommit(objects, revision),
  ]);
  // A commit that no longer exists (rewritten and pruned) is nobody's ancestor.
  if (unwrap(ancestorInfo) === null) return false;
  // The usual case, a single new commit, needs no process of its own.
  if (unwrap(commit).parents.includes(ancestor)) return true;
  return (await askGit(context, commands.isAncestor(ancestor, revision))) !== null;
}

/** Resolves to a merge base of two commits; null if they have none, or if one of them is missing. */
export async function readCommonAncestor(
  { context }: Repository,
  objects: ObjectReader,
  one: string,
  other: string,
): Promise<string | null> {
  const [commit, ...infos] = await Promise.allSettled([
    readCommit(objects, other),
    ...[one, other].map((id) => objects.info(`${objectId(id)}^{commit}`)),
  ]);
  if (infos.some((info) => unwrap(info) === null)) return null;
  // The usual case, a single new commit, needs no process of its own.
  if (one === other || unwrap(commit).parents.includes(one)) return one;
  return (await askGit(context, commands.commonAncestor(one, other)))?.split('\n')[0] || null;
}

function unwrap<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'fulfilled') return outcome.value;
  throw outcome.reason;
}
