import { membersOf } from '../desired/content.ts';
import { loadEntries } from '../desired/load.ts';
import { DesiredState } from '../desired/state.ts';
import type { History } from '../history/history.ts';
import { keyOf, type ObjectKey, parseKey } from '../protocol/name.ts';
import { keyAt } from './later-changes.ts';
import type { Present } from './rollback.ts';

/** Which objects a restore is about: some, a group with the apps that it listed then, or all of then and now. */
export type Selection =
  | { objects: readonly ObjectKey[] }
  | { group: string; withApps: boolean }
  | { all: true };

/** Resolves to the objects of a selection. */
export async function selectedObjects(
  selection: Selection,
  to: string,
  { desired, defaults }: Present,
  past: History,
): Promise<ObjectKey[]> {
  if ('objects' in selection) return [...selection.objects];
  const entries = (await past.entriesAt(to)) ?? [];
  if ('all' in selection) {
    const then = entries.flatMap((entry) => keyAt(entry) ?? []);
    return [...new Set([...then, ...desired.keys()])].map(parseKey);
  }
  const { group, withApps } = selection;
  const object: ObjectKey = { kind: 'device_group', name: group };
  if (!withApps) return [object];
  const own = entries.filter((entry) => keyAt(entry) === keyOf('device_group', group));
  const then = await loadEntries(new DesiredState(), own, past.blob, defaults);
  const known = new Set(entries.map(keyAt));
  const apps = membersOf(then.group(group)?.content).filter((app) => known.has(keyOf('app', app)));
  return [object, ...apps.map((name): ObjectKey => ({ kind: 'app', name }))];
}
