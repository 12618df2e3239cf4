import {
  type Entry,
  type EntryBatch,
  entryRows,
  isSameState,
  keys,
  searchedParts,
  superseded,
} from '../entry.ts';
import type { Draft } from '../root/committer.ts';
import type { Change, Documents, EntryDocument, FleetRoot } from '../root/documents.ts';

/** Drafts the write of `HistoryStore.addEntries`. */
export async function draftEntries(
  documents: Documents,
  root: FleetRoot,
  { expected, next, entries, supersedes }: EntryBatch,
): Promise<Draft<boolean>> {
  if (!isSameState(root.history, expected)) return { fields: null, changes: [], result: false };
  const version = root.version + 1;
  const refused = supersedes ? await documents.entriesByPrefix(keys.state('refused')) : [];
  const changes = [
    ...refused.map(
      (document): Change => ({ in: 'entries', document: supersededDocument(document, version) }),
    ),
    ...entries.flatMap((entry) => changesOf(entry, version)),
  ];
  if (next.act !== expected?.act) changes.push({ in: 'indexed', document: { act: next.act } });
  return { fields: { history: next }, changes, result: true };
}

function changesOf(entry: Entry, version: number): Change[] {
  const { n: _id, kind, at, idSequence } = entry;
  const [body = '', ...bodies] = entryRows(entry);
  const [searched, ...parts] = searchedParts(entry);
  return [
    { in: 'entries', document: { _id, version, kind, at, idSequence, body, ...searched } },
    ...bodies.map((part, index): Change => {
      const document = { _id: `${_id}/${index + 1}`, n: _id, part: index + 1, body: part };
      return { in: 'entry_parts', document: { ...document, ...(parts[index] ?? { keys: [], text: '' }) } };
    }),
  ];
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
