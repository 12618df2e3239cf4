import { forEachYielding } from '../../async/pace.ts';
import type { CounterKind, CounterRow } from '../../ids/id-store.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { type Kind, keyOf, type ObjectKey } from '../../protocol/name.ts';
import {
  appliedObject,
  groupContent,
  groupInfo,
  type ObjectRow,
  storedApp,
  storedGroup,
} from '../rules/rows.ts';
import type { Served } from '../served.ts';
import { servedOf } from '../served.ts';
import type {
  AppliedObject,
  AtRevision,
  ChangedObjects,
  GroupInfo,
  StoredApp,
  StoredGroup,
  StoreState,
} from '../store.ts';
import { type Committer, requireVersion } from './committer.ts';
import type { DocumentCounter, Documents, FleetRoot, ObjectDocument, ObjectScan } from './documents.ts';
import { rowOf } from './working-set.ts';

/** What reads of the fleet depend on. */
export interface FleetReadOptions {
  documents: Documents;
  committer: Committer;
  defaults: AppDefaults;
}

/** Reads of the fleet. Each sees exactly one version of the root. */
export class FleetReads {
  readonly #documents: Documents;
  readonly #committer: Committer;
  readonly #defaults: AppDefaults;

  constructor({ documents, committer, defaults }: FleetReadOptions) {
    this.#documents = documents;
    this.#committer = committer;
    this.#defaults = defaults;
  }

  async state(): Promise<StoreState> {
    const root = await this.#committer.root();
    return { ...progressOf(root), mark: markOf(root) };
  }

  async revision(): Promise<string | null> {
    return revisionOf(await this.#committer.root());
  }

  app(name: string): Promise<AtRevision<StoredApp | null>> {
    return this.#committer.read(async (root) => {
      const [row] = await this.#rows(root, 'app', [name]);
      const value = row === undefined ? null : storedApp(row, this.#defaults);
      return { value, revision: revisionOf(root) };
    });
  }

  group(name: string): Promise<AtRevision<StoredGroup | null>> {
    return this.#committer.read(async (root) => ({
      value: await this.#group(root, name),
      revision: revisionOf(root),
    }));
  }

  groupInfo(name: string): Promise<GroupInfo | null> {
    return this.#committer.read(async (root) => {
      const [group] = await this.#rows(root, 'device_group', [name]);
      if (group === undefined) return null;
      const apps = await this.#rows(root, 'app', groupContent(group.content).apps);
      const { fleet, allChanged } = root;
      return groupInfo({ group, apps, fleet, revision: revisionOf(root), allChanged }, this.#defaults);
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
    const since = versionOf(mark, await this.#committer.root());
    if (since === null) return null;
    const { documents } = await this.#scan({}, since);
    return this.#parse(documents);
  }

  async changedForDevices({ mark, idSequence }: StoreState): Promise<ObjectKey[] | null> {
    const since = mark === null ? null : versionOf(mark, await this.#committer.root());
    if (since === null) return null;
    const { root, documents } = await this.#scan({ withoutContents: true }, since);
    // This change of every id has touched no document.
    if (root.allChanged > idSequence) return null;
    return documents.map(({ kind, name }) => ({ kind, name }));
  }

  async counters(since: number): Promise<CounterRow[]> {
    const { root, documents } = await this.#scan({ countersAfter: since, withoutContents: true });
    const row = (kind: CounterKind, name: string, part: DocumentCounter | null, hash: string | null) =>
      part === null || Math.max(part.changed, root.allChanged) <= since
        ? []
        : [{ kind, name, last: part.last, hash }];
    return documents.flatMap(({ kind, name, own, prune, stored }) => [
      ...row(kind, name, own, stored?.hash ?? own?.hash ?? null),
      ...row('prune', name, prune, null),
    ]);
  }

  async served(): Promise<Served> {
    const { root, documents } = await this.#scan();
    const { fleet, allChanged } = root;
    const stored = documents.filter(({ stored }) => stored !== null);
    const row = (kind: CounterKind, name: string, part: DocumentCounter | null) =>
      part === null ? [] : [{ kind, name, id: part.last, changed: Math.max(part.changed, allChanged) }];
    return servedOf(
      { fleet, revision: revisionOf(root) },
      stored.flatMap(({ kind, name, stored }) =>
        kind === 'device_group' ? [{ name, apps: groupContent(stored?.content ?? '').apps }] : [],
      ),
      stored.flatMap(({ kind, name, own, prune }) => [...row(kind, name, own), ...row('prune', name, prune)]),
    );
  }

  /** Lets other work run in between. */
  async #parse(documents: readonly ObjectDocument[]): Promise<ChangedObjects> {
    const found: ChangedObjects = { objects: [], gone: [] };
    await forEachYielding(documents, ({ kind, name, stored }) => {
      if (stored === null) found.gone.push({ kind, name });
      else found.objects.push(appliedObject(kind, name, stored.content, stored.origin, this.#defaults));
    });
    return found;
  }

  async #group(root: FleetRoot, name: string): Promise<StoredGroup | null> {
    const [row] = await this.#rows(root, 'device_group', [name]);
    return row === undefined ? null : storedGroup(row);
  }

  /** Reads the named objects that are applied, in no particular order. */
  async #rows(root: FleetRoot, kind: Kind, names: readonly string[]): Promise<ObjectRow[]> {
    const documents = await this.#documents.objects(names.map((name) => keyOf(kind, name)));
    requireVersion(root, documents);
    return documents.flatMap((document) => rowOf(document) ?? []);
  }

  /**
   * Reads all documents that changed after version `after`, as of one version of the root. If it is overtaken by a
   * write, it reads only what changed since, so that a read of everything ends even while others write.
   */
  async #scan(scan: ObjectScan = {}, after = -1): Promise<{ root: FleetRoot; documents: ObjectDocument[] }> {
    const found = new Map<string, ObjectDocument>();
    let since = after;
    let foundUnder = '';
    return this.#committer.read(async (root, term) => {
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
      const changed = await this.#documents.objectsSince(since, isFiltered ? scan : rest);
      for (const document of changed) found.set(document._id, document);
      since = root.version;
      const documents = [...found.values()];
      requireVersion(root, documents);
      return { root, documents };
    });
  }
}

/** Returns the progress of the store that its root records. */
function progressOf(root: FleetRoot): Omit<StoreState, 'mark'> {
  const { sequence, attempted, applied, fleet, rules, seededFrom, idSequence } = root;
  return { sequence, attempted, applied, fleet, rules, seededFrom, idSequence };
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
