import { type Act, actOf } from '../act.ts';
import {
  type EntryPage,
  type EntryQuery,
  entryOf,
  type HistoryState,
  keys,
  type ListedEntry,
} from '../entry.ts';
import { type Committer, requireVersion } from './committer.ts';
import type { Documents } from './documents.ts';

/** Reads acts and the entries of the history. Each sees exactly one version of the root. */
export class HistoryReads {
  readonly #documents: Documents;
  readonly #committer: Committer;

  constructor(documents: Documents, committer: Committer) {
    this.#documents = documents;
    this.#committer = committer;
  }

  nextAct(after: number): Promise<Act | null> {
    return this.#committer.read(async (root) => {
      const rows = await this.#documents.nextAct(after);
      const [first] = rows;
      if (first === undefined || first.number > root.version) return null;
      return actOf(
        first.number,
        rows.map(({ body }) => body),
      );
    });
  }

  state(): Promise<HistoryState | null> {
    return this.#committer.read(async ({ history = null }) => history);
  }

  page(query: EntryQuery, before: number | null, limit: number): Promise<EntryPage> {
    return this.#committer.read(async (root) => {
      const { documents, total } = await this.#documents.entries(query, before, limit);
      requireVersion(root, documents);
      return { entries: documents.map(({ _id, body }) => entryOf(_id, [body])), total };
    });
  }

  entry(n: number): Promise<ListedEntry | null> {
    return this.#committer.read(async (root) => {
      const found = await this.#documents.entry(n);
      if (found === null) return null;
      const { document, parts } = found;
      requireVersion(root, [document]);
      return entryOf(n, [document.body, ...parts.map(({ body }) => body)]);
    });
  }

  revisionOf(prefix: string): Promise<string | null> {
    return this.#committer.read(async () => {
      const start = keys.revision(prefix);
      const found = new Set(
        (await this.#documents.entriesByPrefix(start)).flatMap((document) =>
          document.keys.filter((key) => key.startsWith(start)),
        ),
      );
      const [only] = found;
      return found.size === 1 && only !== undefined ? only.slice(keys.revision('').length) : null;
    });
  }
}
