import { HoldfastError } from '../../../errors.ts';
import type { RecordDraft } from '../../../ids/record-ref.ts';
import { commands } from '../process/commands.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { COMMITTER, withConfig } from '../process/environment.ts';
import { objectId } from '../process/object-ids.ts';
import { runGit } from '../process/run.ts';
import { isRefMismatch } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import { fastImportData } from '../write/commit-writer.ts';
import { FILE_NAME, FLEET, MAX_FILE, MAX_TOTAL } from './read.ts';

/** Protects the objects of a new version from clean-ups until the record's ref names it. */
export const RECORDING_REF = 'refs/holdfast/recording';

/** How many versions are based on each other before one begins anew, so that old ones can be dropped. */
const CHAIN = 500;

/** Objects below which git writes them one by one, as a user's commit does, instead of a pack. */
const UNPACKED = [['fastimport.unpackLimit', '100']] as const;

const OTHER_VERSION = 'another process wrote the record of ids';

/** A new version of the record. */
export interface NewVersion {
  tip: string;
  /** Whether the version that it replaces is not among its ancestors. */
  isRoot: boolean;
}

/** Makes the objects of a version of the record; with `mayBegin` at false, one that is based on the one that it continues. */
export async function makeVersion(
  { context }: Pick<Repository, 'context'>,
  draft: RecordDraft,
  mayBegin = true,
): Promise<NewVersion> {
  refuseTooLarge(draft);
  const { base, continues } = draft;
  const before = continues && base !== null ? await runGit(context, commands.commitText(base)) : null;
  const number = 1 + Number(VERSION.exec(before ?? '')?.[1] ?? -1);
  const isRoot = before === null || (mayBegin && number % CHAIN === 0);
  const begin = isRoot ? treeOf(before) : [`from ${base}`];
  const unpacked = { ...context, env: withConfig(context.env, UNPACKED) };
  const output = await runGit(unpacked, commands.fastImport(), importScript(draft, number, begin));
  return { tip: objectId(output.trim()), isRoot };
}

/** The trailer with the number of a version. */
const VERSION = /^Version: (\d{1,9})$/m;

/** Returns the line by which a commit without parents begins with the files of another one. */
function treeOf(commit: string | null): string[] {
  const [, tree] = /^tree ([0-9a-f]+)$/m.exec(commit ?? '') ?? [];
  return tree === undefined ? [] : [`M 040000 ${objectId(tree)} ""`];
}

/** Throws a `conflict` if the record would be too large to be read again. */
function refuseTooLarge({ files }: RecordDraft): void {
  const sizes = Array.from(files.values(), (text) => Buffer.byteLength(text));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > MAX_TOTAL || Math.max(0, ...sizes) > MAX_FILE)
    throw new HoldfastError('conflict', 'the record of ids would be too large');
}

/** The input of `git fast-import`, which prints the id of the commit. `begin`: what the commit is based on. */
function importScript({ files, at, writer }: RecordDraft, number: number, begin: readonly string[]): string {
  return [
    `reset ${RECORDING_REF}\n`,
    `commit ${RECORDING_REF}`,
    'mark :1',
    `committer ${COMMITTER.name} <${COMMITTER.email}> ${Math.floor(at / 1000)} +0000`,
    fastImportData(`Record ids\n\n${FLEET}${writer}\nVersion: ${number}\n`),
    ...begin,
    ...Array.from(files, ([name, text]) => `M 100644 inline ${fileName(name)}\n${fastImportData(text)}`),
    // An empty line ends the commit; before that, its mark is not defined.
    '',
    'get-mark :1',
    'done\n',
  ].join('\n');
}

function fileName(name: string): string {
  if (FILE_NAME.test(name)) return name;
  throw new HoldfastError('internal', 'not a file of the record');
}

/** Returns the error of a version that could not be made, or put in the place of another. */
export function writeFailure(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (isRefMismatch(error)) return new HoldfastError('moved-on', OTHER_VERSION, {}, error);
  const message = explainFailure('git could not write the record of ids', error);
  return new HoldfastError('unavailable', message, {}, error);
}

/** Rejects as `moved-on` if the version that counts is not that on which a draft is based. */
export function requireBase(tip: string | null, { base }: RecordDraft): void {
  if (tip !== base) throw new HoldfastError('moved-on', OTHER_VERSION);
}
