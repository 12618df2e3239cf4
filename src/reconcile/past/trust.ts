import { inTurns } from '../../async/pace.ts';
import { appDefaults } from '../../desired/app.ts';
import { classifyPath } from '../../desired/file.ts';
import { loadFile } from '../../desired/load.ts';
import { keyOf } from '../../desired/name.ts';
import type { Reader } from '../../source/source.ts';
import { contentHash } from '../../store/content-hash.ts';
import type { SectionContent } from '../record/format.ts';

/**
 * Tells whether an object was surely not changed after the record was written. Only then its recorded id belongs
 * to its recorded content: it could have become something else in between, with a higher id, and come back.
 */
export type Trust = (key: string) => boolean;

const NONE: Trust = () => false;

/**
 * Which objects can be trusted, by their keys. What was served since the record was written is the content of one of the
 * commits between its revision and the head, or of one that the branch was at and has left since. An object is trusted
 * if at each of these commits its file is as it was, no commit on the way touched it, and no other file has a say in it.
 * (A merge can bring back a file from before the record, which no commit since has touched.)
 *
 * Nothing is trusted if the head does not descend from the record's revision, or git cannot say. Rejects as
 * `unavailable`.
 */
export async function trustOf(
  { meta, rows }: SectionContent,
  head: string | null,
  reader: Reader,
): Promise<Trust> {
  const { revision, tree } = meta;
  if (revision === null || head === null) return NONE;
  if (revision !== head && !(await reader.isAncestor(revision, head))) return NONE;
  if ((await reader.folder(revision)) !== tree) return NONE;
  const passed = await reader.between(revision, head);
  if (passed === null) return NONE;
  const visits = new Set([...passed, ...visitsSince(await reader.visited(), revision)]);
  // Compared first: git may never finish a walk over what cannot be compared.
  const other = await changedAt(visits, tree, reader);
  if (other === null) return NONE;
  const touched = await reader.touched(revision, head);
  if (touched === null) return NONE;
  const changed = new Set([...touched, ...other].flatMap(keysOfPath));
  for (const key of await heldBack(rows, tree, reader)) changed.add(key);
  return (key) => !changed.has(key);
}

/**
 * Groups that had another content than their file when the record was written: they waited for an app. That app's file
 * can have let such a group change since, and can hold it back again.
 */
async function heldBack(
  rows: SectionContent['rows'],
  tree: string | null,
  reader: Reader,
): Promise<Set<string>> {
  const keys = new Set<string>();
  const groupRows = rows.filter(({ kind }) => kind === 'device_group');
  const recorded = new Map(groupRows.map(({ name, hash }) => [name, hash]));
  const entries = tree === null ? [] : await reader.list(tree);
  const groups = entries.filter(({ path }) => isGroupFile(path));
  const files = await Promise.all(groups.map((entry) => loadFile(entry, reader.blob, appDefaults([]))));
  await inTurns(files, (file) => {
    if (file === null || file.kind === null || !file.parsed.ok) return;
    const hash = contentHash(file.kind, file.parsed.content);
    if (recorded.get(file.name) !== hash) keys.add(keyOf(file.kind, file.name));
  });
  return keys;
}

/** Paths in which the folder at any of these commits differs from its recorded tree; null where it cannot be compared. */
async function changedAt(
  commits: Iterable<string>,
  recorded: string | null,
  reader: Reader,
): Promise<Set<string> | null> {
  const paths = new Set<string>();
  const compared = new Set([recorded]);
  for (const commit of commits) {
    // A reflog can name what git does not have any more.
    const tree = await reader.folder(commit).catch(() => null);
    if (compared.has(tree)) continue;
    compared.add(tree);
    const changes = tree === null || recorded === null ? null : await reader.changes(recorded, tree);
    if (changes === null) return null;
    for (const { path } of changes) paths.add(path);
  }
  return paths;
}

/** Newest first, up to the first visit of the revision; everything where that is not remembered. */
function visitsSince(lists: readonly string[][], revision: string): Set<string> {
  return new Set(
    lists.flatMap((visits) => {
      const first = visits.lastIndexOf(revision);
      return first < 0 ? visits : visits.slice(0, first);
    }),
  );
}

function isGroupFile(path: string): boolean {
  const role = classifyPath(path);
  return role.role === 'object' && role.kind === 'device_group';
}

function keysOfPath(path: string): string[] {
  const role = classifyPath(path);
  return role.role === 'object' ? [keyOf(role.kind, role.name)] : [];
}
