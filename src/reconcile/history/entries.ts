import { posix } from 'node:path';
import { type KnownFields, type ListedChange, listedChangesOf } from '../../history/changes.ts';
import type { FolderCommit } from '../../history/commit.ts';
import { commitEntry } from '../../history/entry.ts';
import { kindOfCounter } from '../../ids/id-store.ts';
import { keyOf } from '../../protocol/name.ts';
import type { Act, ActChange } from '../../store/act.ts';
import type { Entry, EntryChange } from '../../store/entry.ts';
import type { HistoryDependencies } from './dependencies.ts';

/** An entry whose number is not decided yet. */
export type NewEntry = Omit<Entry, 'n' | 'idSequence'>;

/** A commit, and what it changed in objects. */
export interface ReadCommit {
  commit: FolderCommit;
  changes: ListedChange[];
}

const NO_FIELDS: KnownFields = () => undefined;

/** Returns the fields of updates that an act has, as `actChanges` returned it. */
export function fieldsOfAct(changes: ReadonlyMap<string, ObjectChange>): KnownFields {
  return (key, before, after) => {
    const change = changes.get(key)?.change;
    const isIt = change?.before?.blob === before && change.after?.blob === after;
    return isIt && (change.change === 'update' || change.change === 'file') ? change.fields : undefined;
  };
}

/** Reads what a commit changed in objects; `knownFields` need not be read. */
export async function readCommit(
  commit: FolderCommit,
  { reader, defaults }: Pick<HistoryDependencies, 'reader' | 'defaults'>,
  knownFields = NO_FIELDS,
): Promise<ReadCommit> {
  return { commit, changes: await listedChangesOf(commit.files, reader.blob, defaults, knownFields) };
}

/** Returns the entry of a commit that nothing is known of but what git has. */
export function entryOfCommit({ commit, changes }: ReadCommit, forge: string | null): NewEntry {
  return {
    ...commitEntry(commit, forge),
    kind: 'commit',
    appliedAt: null,
    state: 'applied',
    appliedWith: null,
    reason: null,
    changes: changes.map((change) => entryChange(change, null)),
    effects: [],
  };
}

export function entryChange(change: ListedChange, ids: EntryChange['ids']): EntryChange {
  const { kind, name, fields, before, after } = change;
  const hasMoved = before !== null && after !== null && before.path !== after.path;
  return {
    object: keyOf(kind, name),
    change: change.change,
    fields: [...fields],
    ids,
    path: (after ?? before)?.path ?? null,
    moved_from: hasMoved ? before.path : null,
  };
}

/** What an act changed in one object, and the ids that it gave. */
export interface ObjectChange {
  change: ActChange;
  ids: Record<string, number>;
}

/** Returns what an act changed, by the key of the object. */
export function actChanges(changes: readonly ActChange[]): Map<string, ObjectChange> {
  const objects = new Map<string, ObjectChange>();
  for (const change of changes) {
    const { kind, name, id } = change;
    const key = keyOf(kindOfCounter(kind), name);
    const known = objects.get(key) ?? { change, ids: {} };
    if (id !== null && change.change !== 'file') known.ids[ID_NAMES[kind]] = id;
    objects.set(key, known);
  }
  return objects;
}

const ID_NAMES: Readonly<Record<ActChange['kind'], string>> = {
  app: 'app_id',
  device_group: 'device_group_id',
  prune: 'prune_id',
  device: 'device_id',
};

/** Returns the change of an object that only the act has. */
export function changeOfAct(key: string, { change, ids }: ObjectChange): EntryChange {
  const { before, after, fields } = change;
  return {
    object: key,
    change: change.change === 'file' ? 'update' : change.change,
    fields,
    ids,
    path: (after ?? before)?.path ?? null,
    moved_from: null,
  };
}

/** Returns the changes of an entry with the paths of their files inside the repository: they came with those below `folder`. */
export function inRepository(changes: readonly EntryChange[], folder: string): EntryChange[] {
  const whole = (path: string | null): string | null => (path === null ? null : posix.join(folder, path));
  return changes.map((change) => ({
    ...change,
    path: whole(change.path),
    moved_from: whole(change.moved_from),
  }));
}

/** Returns the entry of an operation. */
export function operationEntry(
  act: Act,
  operation: NonNullable<Act['operation']>,
  groups: string[],
): NewEntry {
  const { action, name, actor, requestId, reason, text } = operation;
  const isRestart = action === 'restart' && name !== null && groups.length > 0;
  return {
    kind: action,
    at: act.at,
    appliedAt: act.at,
    state: 'applied',
    revision: null,
    appliedWith: null,
    actor: { name: actor, email: null, via: 'api' },
    authors: [actor],
    subject: action === 'ask' ? (text ?? '') : SENTENCES[action](name ?? ''),
    pullRequest: null,
    requestId,
    reason: reason ?? null,
    changes: [...actChanges(act.changes)].map(([key, change]) => changeOfAct(key, change)),
    effects: isRestart ? [{ app: name, action: 'restart', groups }] : [],
  };
}

const SENTENCES = {
  restart: (name: string) => `app ${name}: restart`,
  prune: (name: string) => `device group ${name}: prune`,
  'prune-all': () => 'all device groups: prune',
} as const;
