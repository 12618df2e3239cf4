import type { AppDefaults } from '../protocol/app.ts';
import type { Kind } from '../protocol/name.ts';
import type { BlobContent, EntryType, TreeEntry } from './entry.ts';
import { classifyPath } from './file.ts';
import { type ParsedFile, parseObject } from './parse.ts';
import { fileProblem, type ProblemCode, type TextProblem } from './problem.ts';
import type { DesiredState, StateFile } from './state.ts';
import { MAX_FILE_BYTES, tooLarge } from './yaml/document.ts';

/** Reads a blob. Resolves to its bytes if there are at most `maxBytes`. */
export type ReadBlob = (blob: string, maxBytes: number) => Promise<BlobContent>;

/** The problems of entries that are never read: they are not plain files, and could lead anywhere. */
const REFUSED: Readonly<Record<Exclude<EntryType, 'file'>, [ProblemCode, string]>> = {
  symlink: ['file-symlink', 'is a symbolic link, which is never followed; commit the file itself'],
  submodule: ['file-submodule', 'is a submodule, which is never read; commit the files themselves'],
  special: ['file-unreadable', 'is not a plain file; remove it'],
};

/** Blobs that are parsed already, or being parsed: a tree can have thousands of names for one that takes long. */
export type ParsedBlobs = Map<string, Promise<ParsedFile>>;

/** Reads and parses one entry of the folder, unless `known` has its blob. Resolves to null if the entry is ignored. */
export async function loadFile(
  entry: TreeEntry,
  read: ReadBlob,
  defaults: AppDefaults,
  known: ParsedBlobs = new Map(),
): Promise<StateFile | null> {
  const { type } = entry;
  const role = classifyPath(entry.path);
  if (role.role === 'ignored') return null;
  const [path, blob] = [ownText(entry.path), ownText(entry.blob)];
  const refusal = type === 'file' ? null : fileProblem(...REFUSED[type]);
  if (role.role === 'problem') {
    const { problem, severity } =
      refusal === null ? role : ({ problem: refusal, severity: 'error' } as const);
    return { path, blob, kind: null, problem, severity };
  }
  if (refusal !== null) return { path, blob, kind: role.kind, name: role.name, parsed: invalid(refusal) };
  const key = `${role.kind} ${blob}`;
  const parsing = known.get(key) ?? parseBlob(role.kind, blob, read, defaults);
  known.set(key, parsing);
  const parsed = await parsing;
  return { path, blob, kind: role.kind, name: role.name, parsed };
}

/** Loads the files of these entries into a state; resolves to that state. */
export async function loadEntries(
  state: DesiredState,
  entries: readonly TreeEntry[],
  read: ReadBlob,
  defaults: AppDefaults,
): Promise<DesiredState> {
  const known: ParsedBlobs = new Map();
  for (const entry of entries) {
    const file = await loadFile(entry, read, defaults, known);
    state.apply([{ path: entry.path, file }]);
  }
  return state;
}

/** Copies a text: V8 would keep the list of all files in memory as long as a text that is cut out of it. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}

async function parseBlob(
  kind: Kind,
  blob: string,
  read: ReadBlob,
  defaults: AppDefaults,
): Promise<ParsedFile> {
  const found = await read(blob, MAX_FILE_BYTES);
  if ('bytes' in found) return parseObject(kind, found.bytes, defaults);
  if ('tooLarge' in found) return invalid(tooLarge(found.tooLarge));
  return invalid(
    fileProblem('file-unreadable', 'cannot be read; check its permissions, and the repository (git fsck)'),
  );
}

function invalid(problem: TextProblem): ParsedFile {
  return { ok: false, problems: [problem] };
}
