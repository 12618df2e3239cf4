import { inTurns } from '../../async/pace.ts';
import type { AppDefaults } from '../../desired/app.ts';
import { type Kind, keyOf, type ObjectKey } from '../../desired/name.ts';
import type { ContentsCounter } from '../contents.ts';
import { OperationPage, operationEntry } from '../operation-page.ts';
import { appliedObject, appsOfGroup, type ObjectRow, storedApp, storedGroup } from '../rules/rows.ts';
import type {
  AppliedObject,
  AtRevision,
  ChangedObjects,
  CounterKind,
  CounterRow,
  GroupInfo,
  OperationEntry,
  StoredApp,
  StoredGroup,
  StoreState,
} from '../store.ts';
import { type Committer, requireVersion } from './committer.ts';
import type { Documents, FleetHead, ObjectDocument, ObjectScan, OperationDocument } from './documents.ts';
import { rowOf } from './working-set.ts';

/** What reads of the fleet work with. */
export interface FleetReadOptions {
  documents: Documents;
  committer: Committer<FleetHead>;
  defaults: AppDefaults;
}

/** Entries of the operations log that are asked for at once: one, such as a prune of all, can be as large as a page. */
const OPERATIONS_AT_ONCE = 32;

/** Reads of the fleet; each sees exactly one version of the head. */
export class FleetReads {
  readonly #documents: Documents;
  readonly #committer: Committer<FleetHead>;
  readonly #defaults: AppDefaults;

  constructor({ documents, committer, defaults }: FleetReadOptions) {
    this.#documents = documents;
    this.#committer = committer;
    this.#defaults = defaults;
  }

  async state(): Promise<StoreState> {
    const head = await this.#committer.head();
    return { ...progressOf(head), mark: markOf(head) };
  }

  async revision(): Promise<string | null> {
    return revisionOf(await this.#committer.head());
  }

  app(name: string): Promise<AtRevision<StoredApp | null>> {
    return this.#committer.read(async (head) => {
      const [row] = await this.#rows(head, 'app', [name]);
      const value = row === undefined ? null : storedApp(row, this.#defaults);
      return { value, revision: revisionOf(head) };
    });
  }

  group(name: string): Promise<AtRevision<StoredGroup | null>> {
    return this.#committer.read(async (head) => ({
      value: await this.#group(head, name),
      revision: revisionOf(head),
    }));
  }

  groupInfo(name: string): Promise<GroupInfo | null> {
    return this.#committer.read(async (head) => {
      const group = await this.#group(head, name);
      if (group === null) return null;
      const rows = await this.#rows(head, 'app', group.content.apps);
      return { group, apps: await appsOfGroup(group, rows, this.#defaults), revision: revisionOf(head) };
    });
  }

  async names(kind: Kind): Promise<AtRevision<string[]>> {
    const { head, documents } = await this.#scan({ kind, withoutContents: true });
    const value = documents.filter(({ stored }) => stored !== null).map(({ name }) => name);
    return { value: value.sort(), revision: revisionOf(head) };
  }

  async appliedObjects(): Promise<AppliedObject[]> {
    const { documents } = await this.#scan();
    return (await this.#parse(documents)).objects;
  }

  async changedObjects(mark: string): Promise<ChangedObjects | null> {
    const since = versionOf(mark, await this.#committer.head());
    if (since === null) return null;
    const { documents } = await this.#scan({}, since);
    return this.#parse(documents);
  }

  async changedForDevices({ mark }: StoreState): Promise<ObjectKey[] | null> {
    const since = mark === null ? null : versionOf(mark, await this.#committer.head());
    if (since === null) return null;
    const { documents } = await this.#scan({ withoutContents: true }, since);
    return documents.map(({ kind, name }) => ({ kind, name }));
  }

  async counters(since: number): Promise<CounterRow[]> {
    const { head, documents } = await this.#scan({ countersAfter: since, withoutContents: true });
    const row = (kind: CounterKind, name: string, part: ContentsCounter | null, hash: string | null) =>
      part === null || Math.max(part.changed, head.allChanged) <= since
        ? []
        : [{ kind, name, last: part.last, hash }];
    return documents.flatMap(({ kind, name, own, prune, stored }) => [
      ...row(kind, name, own, stored?.hash ?? own?.hash ?? null),
      ...row('prune', name, prune, null),
    ]);
  }

  operations(before: number | null, limit: number): Promise<OperationEntry[]> {
    return this.#committer.read(async (head) => {
      const page = new OperationPage(limit);
      let end = Math.min(before ?? Number.MAX_SAFE_INTEGER, head.version + 1);
      while (page.room > 0) {
        const asked = Math.min(page.room, OPERATIONS_AT_ONCE);
        const found = await this.#documents.operations(end, asked);
        page.fill(entriesOf(found));
        if (found.length < asked) break;
        end = found.at(-1)?._id ?? 0;
      }
      return page.entries;
    });
  }

  /** Gives way to other work. */
  async #parse(documents: readonly ObjectDocument[]): Promise<ChangedObjects> {
    const found: ChangedObjects = { objects: [], gone: [] };
    await inTurns(documents, ({ kind, name, stored }) => {
      if (stored === null) found.gone.push({ kind, name });
      else found.objects.push(appliedObject(kind, name, stored.content, stored.origin, this.#defaults));
    });
    return found;
  }

  async #group(head: FleetHead, name: string): Promise<StoredGroup | null> {
    const [row] = await this.#rows(head, 'device_group', [name]);
    return row === undefined ? null : storedGroup(row);
  }

  /** Those of the objects that are applied, in no order. */
  async #rows(head: FleetHead, kind: Kind, names: readonly string[]): Promise<ObjectRow[]> {
    const documents = await this.#documents.objects(names.map((name) => keyOf(kind, name)));
    requireVersion(head, documents);
    return documents.flatMap((document) => rowOf(document) ?? []);
  }

  /**
   * All documents of one version of the head that are younger than version `after`. What changed on the way is read
   * after it, so that a read of everything ends also while others write.
   */
  async #scan(scan: ObjectScan = {}, after = -1): Promise<{ head: FleetHead; documents: ObjectDocument[] }> {
    const found = new Map<string, ObjectDocument>();
    let since = after;
    let foundBy = '';
    return this.#committer.read(async (head, term) => {
      const { countersAfter, ...rest } = scan;
      const isFiltered = countersAfter !== undefined && head.allChanged <= countersAfter;
      // What a new primary has told can be older than the head that the one before it told; a filter has left out what
      // counts as changed since.
      const by = `${term} ${isFiltered}`;
      if (by !== foundBy) {
        found.clear();
        since = after;
        foundBy = by;
      }
      const changed = await this.#documents.objectsSince(since, isFiltered ? scan : rest);
      for (const document of changed) found.set(document._id, document);
      since = head.version;
      const documents = [...found.values()];
      requireVersion(head, documents);
      return { head, documents };
    });
  }
}

/** How far the store has come, as its head says. */
export function progressOf(head: FleetHead): Omit<StoreState, 'mark'> {
  const { sequence, attempted, applied, fleet, rules, seededFrom, idSequence } = head;
  return { sequence, attempted, applied, fleet, rules, seededFrom, idSequence };
}

function revisionOf({ applied }: FleetHead): string | null {
  return applied?.revision ?? null;
}

/** The version and its writer: a store that was restored can have the same version again, but never the same writer. */
function markOf({ version, writer }: FleetHead): string | null {
  return writer === '' ? null : `${version}/${writer}`;
}

/** The version of a mark; null where the head does not remember its writer any more, or never had it. */
function versionOf(mark: string, { recent }: FleetHead): number | null {
  const [version = '', writer = ''] = mark.split('/');
  return recent.includes(writer) ? Number(version) : null;
}

/** One by one: those that a page has no room for are not parsed. */
function* entriesOf(documents: readonly OperationDocument[]): Generator<OperationEntry> {
  for (const document of documents) yield operationEntry({ id: document._id, ...document });
}
