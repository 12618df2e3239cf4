import { actOf } from '../act.ts';
import { APPLYING_KINDS, appliedRevision, type EntryBatch, entryOf, keys } from '../entry.ts';
import { type Committer, requireVersion } from '../root/committer.ts';
import type { Documents, FleetRoot } from '../root/documents.ts';
import { draftEntries } from './mongo-writes.ts';
import type { HistoryStore } from './port.ts';

/** What the history of a store in MongoDB depends on. */
export interface MongoHistoryParts {
  documents: Documents;
  committer: Committer;
}

/** The history of a store in MongoDB. Each read sees exactly one version of the root. */
export function mongoHistory({ documents, committer }: MongoHistoryParts): HistoryStore {
  const read = <T>(work: (root: FleetRoot) => Promise<T>): Promise<T> => committer.read(work);
  return {
    nextAct: (after) =>
      read(async (root) => {
        const rows = await documents.nextAct(after);
        const [first] = rows;
        if (first === undefined || first.number > root.version) return null;
        return actOf(
          first.number,
          rows.map(({ body }) => body),
        );
      }),
    historyState: () => read(async ({ history }) => history),
    // The space is that of the database's server.
    requireRoom: async () => committer.requireOpen(),
    addEntries: (batch: EntryBatch) => committer.write((root) => draftEntries(documents, root, batch)),
    entries: (query, before, limit) =>
      read(async (root) => {
        const { documents: found, total } = await documents.entries(query, before, limit);
        requireVersion(root, found);
        return { entries: found.map(({ _id, body }) => entryOf(_id, [body])), total };
      }),
    entry: (n) =>
      read(async (root) => {
        const found = await documents.entry(n);
        if (found === null) return null;
        const { document, parts } = found;
        requireVersion(root, [document]);
        return entryOf(n, [document.body, ...parts.map(({ body }) => body)]);
      }),
    firstSince: (idSequence, objects) =>
      read(async (root) => {
        const found = await documents.entrySince(idSequence, objects.map(keys.object));
        if (found === null) return null;
        requireVersion(root, [found]);
        return entryOf(found._id, [found.body]);
      }),
    revisionBefore: (idSequence) =>
      read(async (root) => {
        const found = await documents.entryBefore(idSequence, APPLYING_KINDS);
        if (found === null) return null;
        requireVersion(root, [found]);
        return appliedRevision(entryOf(found._id, [found.body]));
      }),
    revisionOf: (prefix) => read(() => revisionOf(prefix, documents)),
  };
}

async function revisionOf(prefix: string, documents: Documents): Promise<string | null> {
  const start = keys.revision(prefix);
  const entries = await documents.entriesByPrefix(start);
  const found = new Set(entries.flatMap((entry) => entry.keys.filter((key) => key.startsWith(start))));
  const [only] = found;
  return found.size === 1 && only !== undefined ? only.slice(keys.revision('').length) : null;
}
