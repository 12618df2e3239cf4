import type { TreeEntry } from '../../../desired/entry.ts';
import { HoldfastError } from '../../../errors.ts';
import type { CommitInfo, Head, Reader, TreeChange } from '../../source.ts';
import { commands, objectId } from '../process/commands.ts';
import { type AnswerReader, Conversation } from '../process/conversation.ts';
import { askGit, GitFailure, runGit } from '../process/run.ts';
import type { Followed } from '../repository/followed.ts';
import { unreadable } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { findFolder } from './folder-tree.ts';
import { guarded } from './guarded.ts';
import { readBetween, readHistory, readTouched, readVisited } from './history.ts';
import type { ObjectReader } from './objects.ts';
import { parseTreeChange, parseTreeList } from './tree.ts';

const NUL = 0;
const NEWLINE = 0x0a;
/** What is not two object ids is given back as it is, and flushes what was answered before. */
const END_OF_DIFF = 'end';
/** Changes that one comparison may tell; of more, the listing decides, which has a limit of its own. */
const MOST_CHANGES = 1_000_000;

/**
 * Reads the folder of a repository; closes `objects` with itself. `follow` is asked at every look at the head.
 */
export function createReader(
  repository: Repository,
  objects: ObjectReader,
  follow: () => Promise<Followed>,
): Reader {
  const { context } = repository;
  const differ = new Conversation(context, commands.diffTrees());
  const close = async (): Promise<void> => {
    await Promise.all([objects.close(), differ.close()]);
  };

  return {
    head: () => guarded(async () => readHead(objects, await follow(), close)),
    folder: (revision) => guarded(() => findFolder(repository, objects, objectId(revision))),
    list: (tree) => guarded(() => readList(repository, tree)),
    changes: (from, to) => guarded(() => readChanges(differ, from, to).catch(unlessGitDied)),
    blob: (id, maxBytes) => guarded(() => objects.blob(id, maxBytes)),
    commit: (revision) => guarded(() => readCommit(objects, revision)),
    lastChange: (revision) => guarded(() => readLastChange(repository, revision)),
    isAncestor: (ancestor, revision) =>
      guarded(() => readIsAncestor(repository, objects, ancestor, revision)),
    commonAncestor: (one, other) => guarded(() => readCommonAncestor(repository, objects, one, other)),
    history: () => guarded(() => readHistory(repository)),
    touched: (from, to) => guarded(() => readTouched(repository, from, to)),
    between: (from, to) => guarded(() => readBetween(repository, from, to)),
    visited: () => guarded(async () => readVisited(repository, await follow())),
    close,
  };
}

/**
 * A branch without a commit has no revision. One whose commit cannot be read (its objects are damaged, or in another
 * repository whose disk is away) is not such a branch: rejects as `unavailable`.
 */
async function readHead(
  objects: ObjectReader,
  { branch, at }: Followed,
  restart: () => Promise<void>,
): Promise<Head> {
  if (at === null) return { branch, revision: null };
  const lookUp = () => objects.info(`${at}^{commit}`);
  // A running git does not notice that a disk is back.
  const commit = (await lookUp()) ?? (await restart().then(lookUp));
  if (commit === null) throw unreadable(branch);
  return { branch, revision: commit.id };
}

async function readList({ context }: Repository, tree: string): Promise<TreeEntry[]> {
  return parseTreeList(await runGit(context, commands.listTree(tree)));
}

async function readChanges(differ: Conversation, from: string, to: string): Promise<TreeChange[] | null> {
  // Another repository can have taken this one's place; git would take the line for one that is to be given back.
  if (from.length !== to.length) return null;
  return differ.ask(`${objectId(from)} ${objectId(to)}\n${END_OF_DIFF}\n`, parseChanges);
}

/** A tree that is made to kill the comparison (20,000 folders in one another do) may still be listed. */
function unlessGitDied(error: unknown): null {
  if (error instanceof GitFailure) return null;
  throw error;
}

async function parseChanges(reader: AnswerReader): Promise<TreeChange[] | null> {
  // The two ids come first, on a line of their own; then pairs of facts and path. Of a missing tree nothing is said.
  if ((await reader.until(NEWLINE)) === END_OF_DIFF) return null;
  const changes: TreeChange[] = [];
  for (;;) {
    const first = String.fromCharCode(...(await reader.bytes(1)));
    if (first !== ':') {
      await reader.until(NEWLINE);
      return changes;
    }
    const meta = await reader.until(NUL);
    changes.push(parseTreeChange(meta, await reader.until(NUL)));
    if (changes.length > MOST_CHANGES)
      throw new GitFailure(commands.diffTrees(), null, 'told too many changes');
  }
}

async function readCommit(objects: ObjectReader, revision: string): Promise<CommitInfo> {
  const bytes = await objects.contents(revision);
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
  // Asked together: each answer takes as long as all of them.
  const [known, commit] = await Promise.allSettled([
    objects.info(`${objectId(ancestor)}^{commit}`),
    readCommit(objects, revision),
  ]);
  // A revision that is gone (rewritten and pruned) is nobody's ancestor.
  if (settled(known) === null) return false;
  // The usual case, without a process of its own: one commit further.
  if (settled(commit).parents.includes(ancestor)) return true;
  return (await askGit(context, commands.isAncestor(ancestor, revision))) !== null;
}

/** The commit at which two commits parted; null where they have none in common, or one of them is not there. */
export async function readCommonAncestor(
  { context }: Repository,
  objects: ObjectReader,
  one: string,
  other: string,
): Promise<string | null> {
  const [commit, ...known] = await Promise.allSettled([
    readCommit(objects, other),
    ...[one, other].map((id) => objects.info(`${objectId(id)}^{commit}`)),
  ]);
  if (known.some((each) => settled(each) === null)) return null;
  // The usual case, without a process of its own: one commit further.
  if (one === other || settled(commit).parents.includes(one)) return one;
  return (await askGit(context, commands.commonAncestor(one, other)))?.split('\n')[0] || null;
}

function settled<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'fulfilled') return outcome.value;
  throw outcome.reason;
}
