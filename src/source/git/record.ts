import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { HoldfastError } from '../../errors.ts';
import type { IdsRecord, RecordDraft, RecordText } from '../source.ts';
import { commands, objectId } from './commands.ts';
import { COMMITTER } from './environment.ts';
import { type ObjectReader, openObjects } from './objects.ts';
import type { Repository } from './repository.ts';
import { GitFailure, runGit } from './run.ts';
import { syncFolder } from './sync.ts';
import { parseTreeList } from './tree.ts';

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
const MOVED = /cannot lock ref .*: (is at|reference already exists|unable to resolve reference '[^']*'$)/m;

/** A record that is there, and cannot be one of ours; the message says why. */
class Damage extends Error {}

/** Takes a version of the record elsewhere before it stands here. Rejects where it must not stand here either. */
export type RecordPublish = (tip: string) => Promise<void>;

/**
 * The record of ids in a repository of this machine: a commit without parents, so that old versions go. `publish` is
 * told of a version when its objects are there, and before the ref has it.
 */
export function createIdsRecord(
  repository: Repository,
  publish: RecordPublish = () => Promise.resolve(),
  address: string = repository.commonFolder,
): IdsRecord {
  return {
    place: repository.prefix,
    // An address can hold a password.
    source: createHash('sha256').update(address).digest('hex').slice(0, 32),
    read: () => guarded('read', () => readRecord(repository)),
    write: (draft) => guarded('write', () => writeRecord(repository, draft, publish)),
  };
}

async function guarded<T>(what: 'read' | 'write', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    if (error instanceof GitFailure && MOVED.test(error.stderr))
      throw new HoldfastError('moved-on', 'another process wrote the record of ids', {}, error);
    throw new HoldfastError('unavailable', `git could not ${what} the record of ids`, {}, error);
  }
}

async function readRecord(repository: Repository): Promise<RecordText | null> {
  const tip = await readTip(repository);
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

async function readTip({ context }: Repository): Promise<string | null> {
  const lines = (await runGit(context, commands.refTip(RECORD_REF))).split('\n');
  const line = lines.find((one) => one.endsWith(` ${RECORD_REF}`));
  return line === undefined ? null : objectId(line.slice(0, line.indexOf(' ')));
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

async function writeRecord(
  repository: Repository,
  draft: RecordDraft,
  publish: RecordPublish,
): Promise<string> {
  refuseTooLarge(draft);
  const { context, commonFolder, emptyTree } = repository;
  const base = draft.keepsOthers && draft.expected !== null ? await treeOf(repository, draft.expected) : null;
  const tip = objectId((await runGit(context, commands.fastImport(), importOf(draft, base))).trim());
  await publish(tip);
  const expected = draft.expected ?? '0'.repeat(emptyTree.length);
  // Where the ref is a symbolic one, it is replaced: what it names is not ours to move.
  const update = `option no-deref\0update ${RECORD_REF}\0${tip}\0${expected}\0`;
  await runGit(context, commands.updateRefs(), update);
  await syncFolder(`${commonFolder}/${dirname(RECORD_REF)}`);
  return tip;
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
