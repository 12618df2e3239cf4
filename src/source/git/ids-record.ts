import { createHash } from 'node:crypto';
import { HoldfastError } from '../../errors.ts';
import type { IdsRecord, RecordDraft, RecordText } from '../source.ts';
import { commands, noObjectLike, objectId, refName } from './process/commands.ts';
import { readingTrouble, withTrouble } from './process/disk-trouble.ts';
import { COMMITTER } from './process/environment.ts';
import { GitFailure, runGit } from './process/run.ts';
import { type ObjectReader, openObjects } from './read/objects.ts';
import { parseTreeList } from './read/tree.ts';
import type { Repository } from './repository/repository.ts';
import { syncRef } from './repository/sync-ref.ts';

/** Where the record stands (decisions, "Ids"). */
export const RECORD_REF = 'refs/holdfast/ids';
/** Keeps a version from every clean-up until the record has it. */
const RECORDING_REF = 'refs/holdfast/recording';

/** Whoever may push can write the ref: so much of it is read, and not more. Sizes in bytes. */
const MAX_HEADER = 2 ** 16;
const MAX_FILES = 300;
const MAX_FILE = 2 ** 24;
const MAX_TOTAL = 2 ** 26;

const FILE_NAME = /^[a-z0-9][a-z0-9.]{0,39}$/;
/** A ref that is broken cannot be resolved either, but says so behind its name. */
const MOVED =
  /cannot lock ref .*: (is at|reference already exists|reference is missing|unable to resolve reference '[^']*'$)/m;

/** A record that is there, and cannot be one of ours; the message says why. */
class Damage extends Error {}

/** Where the record stands. */
export interface RecordPlace {
  /** What stands there, of whatever type; null where nothing does. */
  tip(): Promise<string | null>;
  /** Puts a version there whose objects are in the repository; rejects as `IdsRecord.write` does. */
  put(tip: string, expected: string | null): Promise<void>;
  /** See `IdsRecord`. */
  isCurrent(): boolean;
  aside(): string | null;
}

/** The record of ids in a repository of this machine: a commit without parents, so that old versions go. */
export function createIdsRecord(
  repository: Repository,
  stand: RecordPlace = localPlace(repository),
  address: string = repository.commonFolder,
): IdsRecord {
  return {
    place: repository.prefix,
    // An address can hold a password.
    source: createHash('sha256').update(address).digest('hex').slice(0, 32),
    isCurrent: stand.isCurrent,
    aside: stand.aside,
    read: () => guarded('read', async () => readRecord(repository, await stand.tip())),
    write: (draft) =>
      guarded('write', async () => {
        const tip = await makeVersion(repository, draft);
        await stand.put(tip, draft.expected);
        return tip;
      }),
  };
}

/** The ref of this repository, which nobody else has. */
function localPlace(repository: Repository): RecordPlace {
  return {
    tip: async () => (await readTips(repository, [RECORD_REF]))[0] ?? null,
    put: (tip, expected) => moveRefs(repository, [{ ref: RECORD_REF, to: tip, expected }]),
    isCurrent: () => true,
    aside: () => null,
  };
}

async function guarded<T>(what: 'read' | 'write', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    if (error instanceof GitFailure && MOVED.test(error.stderr))
      throw new HoldfastError('moved-on', 'another process wrote the record of ids', {}, error);
    const trouble = what === 'read' ? readingTrouble : withTrouble;
    const message = trouble(`git could not ${what} the record of ids`, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

async function readRecord(repository: Repository, tip: string | null): Promise<RecordText | null> {
  if (tip === null) return null;
  try {
    return { tip, files: await readFiles(repository, tip).catch(() => readFiles(repository, tip)) };
  } catch (error) {
    if (error instanceof Damage) return { tip, damage: error.message };
    // What git has refused twice by ending is not readable; a call that was cut short may be.
    if (error instanceof GitFailure && error.exitCode !== null)
      return { tip, damage: 'git cannot read its objects' };
    throw error;
  }
}

/** What refs of ours name, of whatever type; null for each that is not there. */
export async function readTips({ context }: Repository, refs: readonly string[]): Promise<(string | null)[]> {
  const lines = (await runGit(context, commands.refTip(...refs))).split('\n');
  return refs.map((ref) => {
    const line = lines.find((one) => one.endsWith(` ${ref}`));
    return line === undefined ? null : objectId(line.slice(0, line.indexOf(' ')));
  });
}

/** One ref that is moved, or taken away where `to` is null; without `expected` from wherever it is. */
export interface RefMove {
  ref: string;
  to: string | null;
  expected?: string | null;
}

/** Moves refs of ours, all or none, and makes that durable. Where one is a symbolic ref, it is replaced: what it names is not ours. */
export async function moveRefs(
  repository: Pick<Repository, 'context' | 'commonFolder'>,
  moves: readonly RefMove[],
): Promise<void> {
  const lines = moves.map((move) => `option no-deref\0${lineOf(move)}\0`);
  await runGit(repository.context, commands.updateRefs(), lines.join(''));
  await syncRef(repository, RECORD_REF);
}

function lineOf({ ref, to, expected }: RefMove): string {
  if (to === null) return `delete ${refName(ref)}\0${expected ?? ''}`;
  const from = expected === undefined ? '' : (expected ?? noObjectLike(to));
  return `update ${refName(ref)}\0${to}\0${from}`;
}

/** By a process of its own: git may end over what it meets here, and other reading goes on. */
async function readFiles(repository: Repository, tip: string): Promise<Map<string, string>> {
  const objects = openObjects(repository.context);
  try {
    const tree = await findTree(objects, tip);
    const entries = parseTreeList(await runGit(repository.context, commands.listTop(tree)));
    if (entries.length > MAX_FILES) throw new Damage('it has too many files');
    const files = new Map<string, string>();
    let total = 0;
    for (const { path, type, blob } of entries) {
      if (type !== 'file' || !FILE_NAME.test(path) || files.has(path))
        throw new Damage('it has a file that does not belong there');
      const bytes = await readFile(objects, blob, MAX_TOTAL - total);
      total += bytes.length;
      files.set(path, decode(bytes));
    }
    return files;
  } finally {
    await objects.close();
  }
}

async function findTree(objects: ObjectReader, tip: string): Promise<string> {
  const commit = await objects.info(tip);
  if (commit?.type !== 'commit' || commit.size > MAX_HEADER) throw new Damage('it is no commit of ours');
  const tree = await objects.info(`${tip}^{tree}`);
  if (tree === null || tree.size > MAX_HEADER) throw new Damage('its tree is missing or too large');
  return tree.id;
}

async function readFile(objects: ObjectReader, id: string, left: number): Promise<Uint8Array> {
  const blob = await objects.blob(id, Math.min(MAX_FILE, left));
  if ('bytes' in blob) return blob.bytes;
  throw new Damage('missing' in blob ? 'one of its files is missing' : 'it is too large');
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Damage('one of its files is not UTF-8');
  }
}

/** Makes the objects of a version; resolves to its commit. */
async function makeVersion(repository: Repository, draft: RecordDraft): Promise<string> {
  refuseTooLarge(draft);
  const base = draft.keepsOthers && draft.expected !== null ? await treeOf(repository, draft.expected) : null;
  return objectId((await runGit(repository.context, commands.fastImport(), importOf(draft, base))).trim());
}

/** Nothing is written that would be refused when it is read. */
function refuseTooLarge({ files }: RecordDraft): void {
  const sizes = Array.from(files.values(), (text) => Buffer.byteLength(text));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= MAX_TOTAL && Math.max(0, ...sizes) <= MAX_FILE) return;
  throw new HoldfastError('conflict', 'the record of ids would be too large');
}

async function treeOf({ context }: Repository, commit: string): Promise<string> {
  const objects = openObjects(context);
  try {
    const tree = await objects.info(`${objectId(commit)}^{tree}`);
    if (tree !== null) return tree.id;
    throw new HoldfastError('moved-on', 'the record of ids is gone');
  } finally {
    await objects.close();
  }
}

/** What `git fast-import` is told; it answers with the id of the commit. */
function importOf({ files, at }: RecordDraft, base: string | null): string {
  const changes = Array.from(files, ([name, text]) => `M 100644 inline ${fileName(name)}\n${data(text)}`);
  return [
    `reset ${RECORDING_REF}\n`,
    `commit ${RECORDING_REF}`,
    'mark :1',
    `committer ${COMMITTER.name} <${COMMITTER.email}> ${Math.floor(at / 1000)} +0000`,
    data('Record ids\n'),
    ...(base === null ? [] : [`M 040000 ${objectId(base)} ""`]),
    ...changes,
    // The commit ends here: before that its mark stands for nothing.
    '',
    'get-mark :1',
    'done\n',
  ].join('\n');
}

function fileName(name: string): string {
  if (FILE_NAME.test(name)) return name;
  throw new HoldfastError('internal', 'not a file of the record');
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}`;
}
