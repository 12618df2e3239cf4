import { type EntryBatch, entryKeys, entryRows, entryText, isSameState, keys, superseded } from '../entry.ts';
import type { Draft } from './committer.ts';
import type { Change, Documents, EntryDocument, FleetRoot } from './documents.ts';

/** Drafts the write of `HistoryStore.addEntries`. */
export async function draftEntries(
  documents: Documents,
  root: FleetRoot,
  { expected, next, entries, supersedes }: EntryBatch,
): Promise<Draft<boolean>> {
  if (!isSameState(root.history ?? null, expected)) return { fields: null, changes: [], result: false };
  const version = root.version + 1;
  const refused = supersedes ? await documents.entriesByPrefix(keys.state('refused')) : [];
  const changes = [
    ...refused.map(
      (document): Change => ({ in: 'entries', document: supersededDocument(document, version) }),
    ),
    ...entries.flatMap((entry): Change[] => {
      const { n: _id, kind, at } = entry;
      const [body = '', ...parts] = entryRows(entry);
      const document = { _id, version, kind, at, text: entryText(entry), keys: entryKeys(entry), body };
      return [
        { in: 'entries', document },
        ...parts.map((part, index): Change => {
          return {
            in: 'entry_parts',
            document: { _id: `${_id}/${index + 1}`, n: _id, part: index + 1, body: part },
          };
        }),
      ];
    }),
  ];
  return { fields: { history: next }, changes, result: true };
}

function supersededDocument(document: EntryDocument, version: number): EntryDocument {
  const [from, to] = [keys.state('refused'), keys.state('superseded')];
  return {
    ...document,
    version,
    keys: document.keys.map((key) => (key === from ? to : key)),
    body: superseded(document.body),
  };
}
