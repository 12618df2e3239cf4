import type { Entry, EntryQuery, HistoryState } from '../../../src/store/entry.ts';
import { AT } from './support.ts';

export const STATE: HistoryState = {
  act: 0,
  revision: null,
  branch: null,
  newest: 0,
  oldest: 1,
  fill: null,
  isCut: false,
  until: null,
};
export const ALL: EntryQuery = { keys: [], kinds: null, since: null, until: null, text: null };
export function entry(n: number, parts: Partial<Entry> = {}): Entry {
  return {
    n,
    kind: 'commit',
    at: AT + n,
    appliedAt: AT,
    idSequence: null,
    state: 'applied',
    revision: `${n}`.repeat(4),
    appliedWith: null,
    actor: { name: 'ana', email: 'ana@example.com', via: 'git' },
    authors: ['ana'],
    subject: `subject ${n}`,
    pullRequest: null,
    requestId: null,
    reason: null,
    changes: [change(`app/app-${n}`)],
    effects: [],
    ...parts,
  };
}

export function change(object: string, ...fields: string[]): Entry['changes'][number] {
  return { object, change: 'update', fields, ids: { app_id: 1 }, path: null, moved_from: null };
}
