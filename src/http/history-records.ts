import type * as z from 'zod';
import { effectRecord } from '../plan/records.ts';
import type { HistoryEntry } from '../protocol/history.ts';
import type { ListedEntry } from '../store/entry.ts';

/** Returns an entry in the form that the API shows. */
export function entryRecord(entry: ListedEntry): z.infer<typeof HistoryEntry> {
  const { at, appliedAt, appliedWith, pullRequest, requestId, changesTotal, effectsTotal, ...rest } = entry;
  return {
    n: rest.n,
    kind: rest.kind,
    at: new Date(at).toISOString(),
    applied_at: appliedAt === null ? null : new Date(appliedAt).toISOString(),
    state: rest.state,
    revision: rest.revision,
    applied_with: appliedWith,
    actor: rest.actor,
    authors: rest.authors,
    subject: rest.subject,
    pull_request: pullRequest,
    request_id: requestId,
    reason: rest.reason,
    changes: rest.changes,
    changes_total: changesTotal,
    effects: rest.effects.map(effectRecord),
    effects_total: effectsTotal,
    devices: null,
  };
}
