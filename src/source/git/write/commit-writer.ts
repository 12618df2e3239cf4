import { Pace } from '../../../async/pace.ts';
import { Queue } from '../../../async/queue.ts';
import { exists } from '../../../disk/exists.ts';
import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import type { CommitDraft, FileEdit } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { type AnswerReader, Conversation } from '../process/conversation.ts';
import { COMMITTER, withConfig } from '../process/environment.ts';
import { objectId } from '../process/object-ids.ts';
import { GitFailure } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';

const NEWLINE = 0x0a;
const FOLDER_MODE = '040000';
/** The ref of commits in the making, in the repository where they are made. */
export const PUBLISHING_REF = 'refs/holdfast/publishing';
/** Milliseconds without a commit after which `fast-import` is ended, and with it its memory of objects. */
const IDLE_LIMIT = 30_000;

/** What was made for some drafts. */
export interface Written {
  /** The id of each draft's commit. */
  commits: string[];
  /** The ids of these commits, of the files that they edit and of the folders above: all objects that are new are here. */
  objects: Set<string>;
}

/** Makes commits without a checkout and without an index. */
export interface CommitWriter {
  /**
   * Makes one commit for each draft, each on top of the one before, the first on `base` (null: without a parent).
   * Resolves when all are durable in the object store; moves no branch.
   */
  write(base: string | null, drafts: readonly CommitDraft[]): Promise<Written>;
  close(): Promise<void>;
}

/**
 * On macOS `git init` sets `core.ignoreCase`, with which fast-import overwrites a file whose name differs only by case.
 * Other commands keep the setting, so that they match `.gitattributes` and `.gitignore` as a user's git does.
 */
const EXACT_NAMES = [['core.ignoreCase', 'false']] as const;

/** Name of the report that a failing `fast-import` writes into the git folder. */
export const CRASH_REPORT = /^fast_import_crash_\d+$/;

/** Where commits are made; the paths of drafts start at `prefix`. */
type Place = Pick<Repository, 'context' | 'gitFolder' | 'commonFolder' | 'prefix'>;

/**
 * Returns a writer that keeps one `git fast-import` running in the repository. `onFailed` is called when one has failed
 * and ended, and removes what it left there.
 */
export function openCommitWriter(place: Place, onFailed: () => Promise<void>): CommitWriter {
  const { context, gitFolder, commonFolder, prefix } = place;
  const git = new Conversation(
    { ...context, env: withConfig(context.env, EXACT_NAMES) },
    commands.fastImport(),
  );
  // On `done`, it writes its ref, and would make a new `.git` for it if someone has moved the old one away.
  const close = async (): Promise<void> => git.close((await exists(gitFolder)) ? 'done\n' : '');
  let idle: NodeJS.Timeout | undefined;
  /** The write of a caller that gave up goes on, and the next write must wait for it. */
  const queue = new Queue();

  const attempt = async (base: string | null, drafts: readonly CommitDraft[]): Promise<Written> => {
    try {
      const written = await writeAll(git, base, drafts, prefix);
      await syncFolder(`${commonFolder}/objects/pack`);
      return written;
    } catch (error) {
      // A half-sent commit must not become part of the next one.
      await close();
      if (error instanceof GitFailure) await onFailed();
      throw error;
    }
  };

  const write = async (base: string | null, drafts: readonly CommitDraft[]): Promise<Written> => {
    clearTimeout(idle);
    try {
      return await attempt(base, drafts);
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      // The process was killed, or a clean-up removed packs that it read. No branch has moved, so a new process can start over.
      return await attempt(base, drafts);
    } finally {
      idle = setTimeout(() => void queue.run(close), IDLE_LIMIT).unref();
    }
  };

  return {
    write: (base, drafts) => queue.run(() => write(base, drafts)),
    close: () => {
      clearTimeout(idle);
      return queue.run(close);
    },
  };
}

async function writeAll(
  git: Conversation,
  base: string | null,
  drafts: readonly CommitDraft[],
  prefix: string,
): Promise<Written> {
  const objects = new Set<string>();
  for (const [index, draft] of drafts.entries()) {
    const parent = index === 0 ? base : `:${index}`;
    for (const id of await writeCommit(git, draft, parent, `:${index + 1}`, prefix)) objects.add(id);
  }
  const commits = await finish(git, drafts.length);
  for (const id of commits) objects.add(id);
  return { commits, objects };
}

/** Resolves to the ids of the files that are edited, and of all folders above. */
async function writeCommit(
  git: Conversation,
  draft: CommitDraft,
  parent: string | null,
  mark: string,
  prefix: string,
): Promise<string[]> {
  const seconds = Math.floor(draft.at / 1000);
  const header = [
    ...(parent === null ? [`reset ${PUBLISHING_REF}\n`] : []),
    `commit ${PUBLISHING_REF}`,
    `mark ${mark}`,
    `author ${identity(draft.author)} ${seconds} +0000`,
    `committer ${identity(COMMITTER)} ${seconds} +0000`,
    fastImportData(draft.message),
    ...(parent === null ? [] : [`from ${parent.startsWith(':') ? parent : objectId(parent)}`]),
  ];
  const paths = draft.edits.map(({ path }) => (prefix === '' ? path : `${prefix}/${path}`));
  for (const path of paths) refuseNotUtf8(path);
  const listed = paths.flatMap((path) => [...foldersOf(path), path]);
  const request = [...header, ...listed.map((path) => `ls ${quote(path)}`)].join('\n');
  const modes = await git.ask(`${request}\n`, (reader) => readModes(reader, listed));
  for (const path of paths) refuseCollision(path, modes);
  const pace = new Pace();
  for (const [index, edit] of draft.edits.entries()) {
    await git.ask(`${changeLine(edit, paths[index] ?? '', modes)}\n`, noAnswer);
    await pace.step();
  }
  const touched = ['', ...new Set(listed)];
  const names = touched.map((path) => `ls ${quote(path)}\n`).join('');
  return git.ask(`${names}\n`, (reader) => readIds(reader, touched.length));
}

const noAnswer = (): Promise<void> => Promise.resolve();

/** Bytes that are not UTF-8 are replaced when a name is read; written back, the name would be that of another file. */
function refuseNotUtf8(path: string): void {
  if (!path.includes('\ufffd')) return;
  throw new HoldfastError('conflict', `${path}: the path is not UTF-8; rename the file`, { paths: [path] });
}

/** Refuses to replace a folder by a file, or a file or link by a folder, which would lose what was there. */
function refuseCollision(path: string, modes: ReadonlyMap<string, string>): void {
  const taken = foldersOf(path).find((folder) => ![FOLDER_MODE, 'missing'].includes(modes.get(folder) ?? ''));
  const inTheWay = modes.get(path) === FOLDER_MODE ? path : taken;
  if (inTheWay === undefined) return;
  throw new HoldfastError('conflict', `${inTheWay} is in the way of ${path}; move it`, { paths: [path] });
}

/** Returns the folders above a path: `a` and `a/b` for `a/b/c`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** An edited file keeps its mode; a new one is a plain file. */
function changeLine(edit: FileEdit, path: string, modes: ReadonlyMap<string, string>): string {
  if (edit.text === null) return `D ${quote(path)}`;
  const mode = modes.get(path) === '100755' ? '100755' : '100644';
  return `M ${mode} inline ${quote(path)}\n${fastImportData(edit.text)}`;
}

/** Reads the answers to `ls`: "<mode> <type> <id>\t<path>" or "missing <path>", whose first words are the modes. */
async function readModes(reader: AnswerReader, paths: readonly string[]): Promise<Map<string, string>> {
  const modes = new Map<string, string>();
  for (const path of paths) modes.set(path, (await reader.until(NEWLINE)).split(' ')[0] ?? '');
  return modes;
}

/** Reads the answers to `ls`, and returns the ids in them. */
async function readIds(reader: AnswerReader, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const [, id] = /^\d+ \w+ ([0-9a-f]+)\t/.exec(await reader.until(NEWLINE)) ?? [];
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

async function finish(git: Conversation, count: number): Promise<string[]> {
  const marks = Array.from({ length: count }, (_, index) => `get-mark :${index + 1}\n`).join('');
  return git.ask(`checkpoint\n\n${marks}progress end\n`, async (reader) => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(objectId(await reader.until(NEWLINE)));
    await reader.until(NEWLINE);
    return ids;
  });
}

/** Returns a text in the form in which `fast-import` takes any bytes unchanged. */
export function fastImportData(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}`;
}

/** Quotes a path in git's C style; it can contain any byte but NUL. */
function quote(path: string): string {
  const escaped = path.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n');
  return `"${escaped}"`;
}

/** Returns a name and address without the characters that would end them. */
function identity({ name, email }: { name: string; email: string }): string {
  const clean = (text: string): string => text.replace(/[\p{Cc}<>]/gu, '').trim();
  return `${clean(name) || 'unknown'} <${clean(email)}>`;
}
