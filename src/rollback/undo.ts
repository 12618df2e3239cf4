import { type Content, namedIn } from '../desired/content.ts';
import { DESCRIPTORS } from '../desired/kinds.ts';
import { loadFile } from '../desired/load.ts';
import { withFile } from '../desired/problem.ts';
import { HoldfastError } from '../errors.ts';
import { changesOf, type ReadChange } from '../history/changes.ts';
import type { FolderCommit } from '../history/commit.ts';
import type { History } from '../history/history.ts';
import { type Kind, keyOf, type ObjectKey, parseKey } from '../protocol/name.ts';
import { newestChanges } from './later-changes.ts';
import { type Leaf, leafName } from './leaves.ts';
import { restore } from './restore.ts';
import { emptyRollback, type Present, type Rollback, type RollbackOptions } from './rollback.ts';
import { unlistings } from './texts.ts';
import { undoObject } from './undo-object.ts';

/** What an undo is about. */
export interface UndoRequest extends Pick<RollbackOptions, 'withDependencies'> {
  commit: FolderCommit;
  /** Only these objects; null for all that the commit changed. */
  objects: readonly ObjectKey[] | null;
}

/** Resolves to the commit, with what it changed in the folder. Rejects as `invalid` if it changed nothing there. */
export async function commitToUndo(past: History, revision: string): Promise<FolderCommit> {
  const { commits, isCut } = await past.log({ from: revision, until: null, limit: 1, skipsFirst: false });
  if (commits[0]?.revision === revision) return commits[0];
  const short = revision.slice(0, 12);
  throw new HoldfastError(
    'invalid',
    isCut
      ? `what ${short} changed is not in this clone, which is shallow: git fetch --unshallow`
      : `${short} changed no file of the desired state`,
  );
}

/**
 * Resolves to the way to take back what a commit changed, field by field. A field that no longer has the commit's value is a
 * conflict; one that has the value from before it is done already. A file that nobody has changed since gets its former
 * bytes, as does one that the commit deleted.
 */
export async function undo(request: UndoRequest, present: Present, past: History): Promise<Rollback> {
  const rollback = emptyRollback();
  const only = request.objects?.map(({ kind, name }) => keyOf(kind, name));
  const all = await changesOf(request.commit.files, past.blob, present.defaults);
  const changes = all.filter(({ change }) => only?.includes(keyOf(change.kind, change.name)) ?? true);
  if (changes.length === 0 && only !== undefined)
    throw new HoldfastError(
      'invalid',
      `${request.commit.revision.slice(0, 12)} did not change ${only.join(', ')}`,
    );
  const disputed: [ReadChange, (Leaf | null)[]][] = [];
  for (const change of changes) {
    const outcome = await undoObject(change, present, past);
    const { kind, name } = change.change;
    if ('conflicts' in outcome) disputed.push([change, outcome.conflicts]);
    else if ('path' in outcome) rollback.edits.push({ kind, name, ...outcome });
  }
  const removed = rollback.edits.flatMap(({ kind, name, text }) =>
    kind === 'app' && text === null ? name : [],
  );
  rollback.edits.push(...(await unlistings(new Set(removed), rollback.edits, present.desired, past)));
  rollback.conflicts = await blamed(disputed, request.commit.revision, present, past);
  await checkEdits(rollback, present);
  await addDependencies(rollback, request, present, past);
  return rollback;
}

/** Names who changed each leaf since the commit. */
async function blamed(
  disputed: readonly [ReadChange, readonly (Leaf | null)[]][],
  until: string,
  { revision, defaults }: Present,
  past: History,
): Promise<Rollback['conflicts']> {
  const leaves = new Map(disputed.map(([{ change }, own]) => [keyOf(change.kind, change.name), own]));
  const range = { from: revision, until, isLate: () => false };
  const { changes } = await newestChanges(past, leaves, range, defaults);
  return [...leaves].flatMap(([object, own]) =>
    own.map((leaf) => {
      const field = leaf === null ? null : leafName(leaf);
      const found = changes.find((change) => change.object === object && change.field === field);
      // Without a later commit, the file itself cannot be taken back.
      return found ?? { object, field: null, by: until, actor: '' };
    }),
  );
}

/** Returns whether an object exists once the edits are made. */
function existsAfter(
  { edits }: Rollback,
  desired: Present['desired'],
): (kind: Kind, name: string) => boolean {
  const texts = new Map(edits.map(({ kind, name, text }) => [keyOf(kind, name), text]));
  return (kind, name) => {
    const text = texts.get(keyOf(kind, name));
    return text === undefined ? desired.object(kind, name) !== undefined : text !== null;
  };
}

/** Returns what an object would name although there is no such thing. */
function needsOf(name: string, content: Content, exists: ReturnType<typeof existsAfter>): Rollback['needs'] {
  const { kind, names } = namedIn(content);
  const why = `${name} would ${kind === 'app' ? 'list' : 'name'} it, and there is no such ${DESCRIPTORS[kind].noun}`;
  return names.filter((each) => !exists(kind, each)).map((each) => ({ object: keyOf(kind, each), why }));
}

/** Notes texts that today's rules refuse, and objects that others would name although there are none. */
async function checkEdits(rollback: Rollback, { desired, defaults }: Present): Promise<void> {
  const exists = existsAfter(rollback, desired);
  for (const { name, path, text } of rollback.edits) {
    if (text === null) continue;
    const read = async () => ({ bytes: Buffer.from(text) });
    const file = await loadFile({ path, type: 'file', blob: '' }, read, defaults);
    if (file === null || file.kind === null) continue;
    if (!file.parsed.ok) {
      const { problems = [] } = rollback.refused ?? {};
      const found = file.parsed.problems.map((problem) => withFile(path, problem));
      rollback.refused = { problems: [...problems, ...found], newestValid: null };
      continue;
    }
    rollback.needs.push(...needsOf(name, file.parsed.content, exists));
  }
}

/** Adds the apps that groups need, as they were before the commit. */
async function addDependencies(
  rollback: Rollback,
  request: UndoRequest,
  present: Present,
  past: History,
): Promise<void> {
  const [parent] = request.commit.parents;
  if (!request.withDependencies || parent === undefined || rollback.needs.length === 0) return;
  const objects = rollback.needs.map(({ object }) => parseKey(object));
  const options = { withDependencies: true, allowDelete: false };
  const more = await restore({ to: parent, objects, ...options }, present, past);
  rollback.edits.push(...more.edits);
  rollback.needs = more.needs;
  rollback.refused ??= more.refused;
}
