import { forEachYielding } from '../../async/pace.ts';
import { classifyPath } from '../../desired/file.ts';
import { loadFile, type ParsedBlobs } from '../../desired/load.ts';
import { appDefaults } from '../../protocol/app.ts';
import { keyOf } from '../../protocol/name.ts';
import { contentHash } from '../content-hash.ts';
import type { IdsReader } from '../ids-reader.ts';
import type { SectionContent } from '../record/format.ts';

/**
 * Whether the object with this key certainly did not change after the record was written. Only then does its recorded
 * id still belong to its recorded content: otherwise it could have become something else under a higher id, and come
 * back.
 */
export type Trust = (key: string) => boolean;

const TRUST_NONE: Trust = () => false;

/**
 * Finds the objects that certainly did not change between the record's revision and the head. Devices may have been
 * served any commit between the two. An object is trusted if all of this holds:
 *
 * - At each of these commits, its file is the same as at the record's revision. (No commit needs to touch a file for it to
 *   change and come back: a merge can take the file of an older commit.)
 * - No commit between the two touches its file.
 * - No other file had a say in its content when the record was written.
 *
 * Nothing is trusted if the head does not descend from the record's revision, or if git cannot answer. Rejects as
 * `unavailable`.
 */
export async function trustOf(
  { meta, rows }: SectionContent,
  head: string | null,
  reader: IdsReader,
): Promise<Trust> {
  const { revision, tree } = meta;
  if (revision === null || head === null) return TRUST_NONE;
  if (revision !== head && !(await reader.isAncestor(revision, head))) return TRUST_NONE;
  if ((await reader.folderTree(revision)) !== tree) return TRUST_NONE;
  const between = await reader.commitsBetween(revision, head);
  if (between === null) return TRUST_NONE;
  // Trees are compared before the walk: git may never finish a walk over trees that it cannot compare.
  const different = await pathsDifferentAt(between, tree, reader);
  if (different === null) return TRUST_NONE;
  const touched = await reader.touchedPaths(revision, head);
  if (touched === null) return TRUST_NONE;
  const changed = new Set([...touched, ...different].flatMap(keysOfPath));
  for (const key of await groupsHeldBack(rows, tree, reader)) changed.add(key);
  return (key) => !changed.has(key);
}

/**
 * Keys of the groups whose recorded content is not that of their file in the recorded tree, because they waited for an
 * app. The app's file alone can have let such a group change since, and can hold it back again.
 */
async function groupsHeldBack(
  rows: SectionContent['rows'],
  tree: string | null,
  reader: IdsReader,
): Promise<Set<string>> {
  const keys = new Set<string>();
  const groupRows = rows.filter(({ kind }) => kind === 'device_group');
  const recorded = new Map(groupRows.map(({ name, hash }) => [name, hash]));
  const entries = tree === null ? [] : await reader.list(tree);
  const groups = entries.filter(({ path }) => isGroupFile(path));
  const known: ParsedBlobs = new Map();
  const files = await Promise.all(
    groups.map((entry) => loadFile(entry, reader.blob, appDefaults([]), known)),
  );
  await forEachYielding(files, (file) => {
    if (file === null || file.kind === null || !file.parsed.ok) return;
    const hash = contentHash(file.kind, file.parsed.content);
    if (recorded.get(file.name) !== hash) keys.add(keyOf(file.kind, file.name));
  });
  return keys;
}

/** Paths that differ from the recorded tree at any of these commits; null if one of them cannot be compared. */
async function pathsDifferentAt(
  commits: Iterable<string>,
  recorded: string | null,
  reader: IdsReader,
): Promise<Set<string> | null> {
  const paths = new Set<string>();
  const compared = new Set([recorded]);
  for (const commit of commits) {
    // A damaged clone can lack the trees of old commits. That must not prevent a start.
    const tree = await reader.folderTree(commit).catch(() => null);
    if (compared.has(tree)) continue;
    compared.add(tree);
    const changes = tree === null || recorded === null ? null : await reader.changes(recorded, tree);
    if (changes === null) return null;
    for (const { path } of changes) paths.add(path);
  }
  return paths;
}

function isGroupFile(path: string): boolean {
  const role = classifyPath(path);
  return role.role === 'object' && role.kind === 'device_group';
}

function keysOfPath(path: string): string[] {
  const role = classifyPath(path);
  return role.role === 'object' ? [keyOf(role.kind, role.name)] : [];
}
