import type * as z from 'zod';
import { effectRecord } from '../plan/records.ts';
import type { HistoryEntry } from '../protocol/history.ts';
import { parseKey } from '../protocol/name.ts';
import type { ListedEntry } from '../store/entry.ts';
import { type DevicesIn, withDevices } from './effects.ts';

/** Returns an entry in the form that the API shows. */
export function entryRecord(entry: ListedEntry, devicesIn: DevicesIn): z.infer<typeof HistoryEntry> {
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
    effects: withDevices(rest.effects.map(effectRecord), devicesIn),
    effects_total: effectsTotal,
    devices: devicesIn(groupsOf(entry)),
  };
}

/** The groups whose devices do something because of an entry. */
function groupsOf({ kind, effects, changes }: ListedEntry): string[] | null {
  // A list has only the first groups of a prune of all.
  if (kind === 'prune-all') return null;
  if (kind === 'prune') return changes.map(({ object }) => parseKey(object).name);
  return effects.flatMap(({ groups }) => groups);
}
