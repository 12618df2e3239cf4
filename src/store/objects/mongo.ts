import { forEachYielding } from '../../async/pace.ts';
import type { CounterKind, CounterRow } from '../../ids/id-store.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { type Kind, keyOf, type ObjectKey } from '../../protocol/name.ts';
import { actRows } from '../act.ts';
import { type AppliedRow, isApplied, type StoredCounter } from '../fleet.ts';
import { oidGenerator } from '../object-id.ts';
import { type Committer, type Draft, requireVersion } from '../root/committer.ts';
import type { Change, Documents, FleetRoot, ObjectDocument, ObjectScan } from '../root/documents.ts';
import { type Served, servedOf } from '../served.ts';
import type {
  AppliedObject,
  AtRevision,
  ChangedObjects,
  DeviceInfo,
  GroupInfo,
  SharedStore,
  Store,
  StoredOf,
  StoreState,
} from './port.ts';
import { appliedObject, appsIn, deviceInfo, groupIn, groupInfo, storedObject } from './rules/rows.ts';
import { type Changes, WorkingSet } from './rules/working-set.ts';
import { ObjectWrites, type Write } from './writes.ts';

/** What the objects of a store in MongoDB depend on. */
export interface MongoObjectParts {
  documents: Documents;
  committer: Committer;
  /** Values for fields that a stored app lacks because they were added later. */
  defaults: AppDefaults;
  /** Returns `size` random bytes. */
  random(size: number): Uint8Array;
}

/**
 * The objects of a store that several managers can share (docs/decisions/0007-one-root-document.md). It caches nothing, so every
 * call sees the writes of other managers; each read sees exactly one version of the root.
 */
export class MongoObjects extends ObjectWrites implements Store, SharedStore {
  readonly #parts: MongoObjectParts;

  constructor(parts: MongoObjectParts) {
    super();
    this.#parts = parts;
  }

  async ping(): Promise<void> {
    await this.#parts.committer.root();
  }

  async state(): Promise<StoreState> {
    const root = await this.#parts.committer.root();
    const { sequence, attempted, applied, fleet, rules, seededFrom, idSequence } = root;
    return { sequence, attempted, applied, fleet, rules, seededFrom, idSequence, mark: markOf(root) };
  }

  object<K extends Kind>(kind: K, name: string): Promise<AtRevision<StoredOf[K] | null>> {
    const { committer, defaults } = this.#parts;
    return committer.read(async (root) => {
      const [row] = await this.#rows(root, kind, [name]);
      const value = row === undefined ? null : (storedObject(row, defaults) as StoredOf[K]);
      return { value, revision: revisionOf(root) };
    });
  }

  groupInfo(name: string): Promise<GroupInfo | null> {
    const { committer, defaults } = this.#parts;
    return committer.read(async (root) => {
      const [group] = await this.#rows(root, 'device_group', [name]);
      if (group === undefined) return null;
      const apps = await this.#rows(root, 'app', appsIn(group));
      return groupInfo({ group, apps, state: root }, defaults);
    });
  }

  deviceInfo(name: string): Promise<DeviceInfo | null> {
    return this.#parts.committer.read(async (root) => {
      const [row] = await this.#rows(root, 'device', [name]);
      return row === undefined ? null : deviceInfo(row, root);
    });
  }

  async names(kind: Kind): Promise<AtRevision<string[]>> {
    const { root, documents } = await this.#scan({ kind, withoutContents: true });
    const value = documents.filter(({ stored }) => stored !== null).map(({ name }) => name);
    return { value: value.sort(), revision: revisionOf(root) };
  }

  async appliedObjects(): Promise<AppliedObject[]> {
    const { documents } = await this.#scan();
    return (await this.#parse(documents)).objects;
  }

  async changedObjects(mark: string): Promise<ChangedObjects | null> {
    const since = versionOf(mark, await this.#parts.committer.root());
    if (since === null) return null;
    const { documents } = await this.#scan({}, since);
    return this.#parse(documents);
  }

  async changedForDevices({ mark, idSequence }: StoreState): Promise<ObjectKey[] | null> {
    const since = mark === null ? null : versionOf(mark, await this.#parts.committer.root());
    if (since === null) return null;
    const { root, documents } = await this.#scan({ withoutContents: true }, since);
    // This change of every id has touched no document.
    if (root.allChanged > idSequence) return null;
    return documents.map(({ kind, name }) => ({ kind, name }));
  }

  async counters(since: number): Promise<CounterRow[]> {
    const { root, documents } = await this.#scan({ countersAfter: since, withoutContents: true });
    const row = (kind: CounterKind, name: string, part: StoredCounter | null, hash: string | null) =>
      part === null || Math.max(part.changed, root.allChanged) <= since
        ? []
        : [{ kind, name, last: part.last, hash }];
    return documents.flatMap(({ kind, name, own, prune, stored }) => [
      ...row(kind, name, own, stored?.hash ?? own?.hash ?? null),
      ...row('prune', name, prune, null),
    ]);
  }

  protected write<T>({ keys, rules, check }: Write<T>): Promise<T> {
    const { documents, committer, defaults, random } = this.#parts;
    return committer.write(async (root): Promise<Draft<T>> => {
      check?.(root);
      const objects =
        keys === 'groups'
          ? await documents.objectsSince(-1, { kind: 'device_group' })
          : await documents.objects(keys);
      requireVersion(root, objects);
      const newOid = oidGenerator(random, root.lastOid);
      const work = new WorkingSet({ state: root, objects, newOid, defaults });
      const result = await rules(work);
      return { ...draftOf(work.changes(), root.version + 1), result };
    });
  }

  /** See `DeviceStore.served`. */
  async served(): Promise<Served> {
    const { root, documents } = await this.#scan();
    const { fleet, allChanged } = root;
    const applied = appliedIn(documents);
    const ofKind = (wanted: Kind): AppliedRow[] => applied.filter(({ kind }) => kind === wanted);
    const row = (kind: CounterKind, name: string, counter: StoredCounter | null) =>
      counter === null
        ? []
        : [{ kind, name, id: counter.last, changed: Math.max(counter.changed, allChanged) }];
    return servedOf(
      { fleet, revision: revisionOf(root) },
      {
        groups: ofKind('device_group').map((group) => ({ name: group.name, apps: appsIn(group) })),
        devices: ofKind('device').map((device) => ({ name: device.name, group: groupIn(device) })),
      },
      applied.flatMap(({ kind, name, own, prune }) => [
        ...row(kind, name, own),
        ...row('prune', name, prune),
      ]),
    );
  }

  /** Lets other work run in between. */
  async #parse(documents: readonly ObjectDocument[]): Promise<ChangedObjects> {
    const found: ChangedObjects = { objects: [], gone: [] };
    await forEachYielding(documents, (document) => {
      const { kind, name } = document;
      if (isApplied(document)) found.objects.push(appliedObject(document, this.#parts.defaults));
      else found.gone.push({ kind, name });
    });
    return found;
  }

  /** Reads the named objects that are applied, in no particular order. */
  async #rows(root: FleetRoot, kind: Kind, names: readonly string[]): Promise<AppliedRow[]> {
    const documents = await this.#parts.documents.objects(names.map((name) => keyOf(kind, name)));
    requireVersion(root, documents);
    return appliedIn(documents);
  }

  /**
   * Reads all documents that changed after version `after`, as of one version of the root. If it is overtaken by a
   * write, it reads only what changed since, so that a read of everything ends even while others write.
   */
  async #scan(scan: ObjectScan = {}, after = -1): Promise<{ root: FleetRoot; documents: ObjectDocument[] }> {
    const found = new Map<string, ObjectDocument>();
    let since = after;
    let foundUnder = '';
    return this.#parts.committer.read(async (root, term) => {
      const { countersAfter, ...rest } = scan;
      const isFiltered = countersAfter !== undefined && root.allChanged <= countersAfter;
      // Starts over in a new term, because documents of a new primary can be older than the root of the old one, and
      // without the filter, because it has left out documents that count as changed by now.
      const conditions = `${term} ${isFiltered}`;
      if (conditions !== foundUnder) {
        found.clear();
        since = after;
        foundUnder = conditions;
      }
      const changed = await this.#parts.documents.objectsSince(since, isFiltered ? scan : rest);
      for (const document of changed) found.set(document._id, document);
      since = root.version;
      const documents = [...found.values()];
      requireVersion(root, documents);
      return { root, documents };
    });
  }
}

/** Returns what the root's version `version` has of the changes. */
function draftOf({ fields, objects, act }: Changes, version: number): Omit<Draft<never>, 'result'> {
  const acts = act === null ? [] : actRows(act);
  const changes = [
    ...objects.map(({ after }): Change => {
      return { in: 'objects', document: { ...after, _id: keyOf(after.kind, after.name), version } };
    }),
    ...acts.map((body, part): Change => {
      return { in: 'acts', document: { _id: `${version}/${part}`, number: version, part, body } };
    }),
  ];
  const isUnchanged = changes.length === 0 && fields === null;
  return { fields: isUnchanged ? null : (fields ?? {}), changes };
}

function appliedIn(documents: readonly ObjectDocument[]): AppliedRow[] {
  return documents.flatMap((document) => (isApplied(document) ? [document] : []));
}

function revisionOf({ applied }: FleetRoot): string | null {
  return applied?.revision ?? null;
}

/**
 * Returns the version and its writer: a restored store can get to the same version again, but never by the same writer.
 */
function markOf({ version, writer }: FleetRoot): string | null {
  return writer === '' ? null : `${version}/${writer}`;
}

/** Returns the version of a mark; null if the root no longer remembers its writer, or never had it. */
function versionOf(mark: string, { recent }: FleetRoot): number | null {
  const [version = '', writer = ''] = mark.split('/');
  return recent.includes(writer) ? Number(version) : null;
}
