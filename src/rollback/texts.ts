import type { DesiredState } from '../desired/state.ts';
import { decodeText, MAX_FILE_BYTES, readYaml } from '../desired/yaml/document.ts';
import { editYaml } from '../desired/yaml/edit.ts';
import type { History } from '../history/history.ts';
import { keyOf } from '../protocol/name.ts';
import { type Fields, isMapValue } from '../protocol/values.ts';
import type { RollbackEdit } from './rollback.ts';

/** Resolves to the text of a blob, byte for byte; null if it cannot be read as text. */
export async function textOf(past: History, blob: string): Promise<string | null> {
  const found = await past.blob(blob, MAX_FILE_BYTES);
  if (!('bytes' in found)) return null;
  const text = decodeText(found.bytes);
  return text.ok ? text.value : null;
}

/** Returns the fields that a text has, without defaults. */
export function fieldsIn(text: string): Fields {
  const document = readYaml(text);
  return document.ok && isMapValue(document.value.value) ? document.value.value : {};
}

/**
 * Resolves to the edits that take deleted apps out of the lists of groups, besides the edits that there are already: their
 * own texts of groups come first.
 */
export async function unlistings(
  apps: ReadonlySet<string>,
  edits: readonly RollbackEdit[],
  desired: DesiredState,
  past: History,
): Promise<RollbackEdit[]> {
  const edited = new Set(edits.map(({ kind, name }) => keyOf(kind, name)));
  const groups = new Set([...apps].flatMap((app) => [...desired.groupsListing(app)]));
  const found: RollbackEdit[] = [];
  for (const name of groups) {
    const group = desired.group(name);
    if (group?.content === undefined || edited.has(keyOf('device_group', name))) continue;
    const text = await textOf(past, group.blob);
    const members = group.content.apps.filter((app) => !apps.has(app));
    if (text === null) continue;
    found.push({
      kind: 'device_group',
      name,
      path: group.path,
      text: editYaml(text, { ...fieldsIn(text), apps: members }),
    });
  }
  return found;
}
