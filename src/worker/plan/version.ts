import type { AppRecord } from '../../protocol/info.ts';
import { fieldsUnknownTo } from './content.ts';
import type { Failed, Good } from './memory.ts';
import type { WantedApp } from './model.ts';

/**
 * How a version differs from what the device has: `steady` (it has it), `scale` (only the number of containers differs,
 * or how they are handled, or it undoes what was taken back here anyway), `restart` (nothing differs but the id), `replace`.
 */
type Change = 'steady' | 'scale' | 'restart' | 'replace';

/** A version of an app that is to run. */
export interface Version {
  id: number;
  record: AppRecord;
  contents: readonly string[];
  count: number;
  source: string;
  change: Change;
  /** Containers made for a lower id of its source are replaced although their content is the same; 0 if none are. */
  floor: number;
}

/** Returns the version of an app that is wanted, given what the device has (null: nothing of this source) and took back last. */
export function versionOf(
  wanted: WantedApp & { record: AppRecord },
  source: string,
  has: Good | null,
  takenBack: Failed | null,
): Version {
  const { id, record, contents, count } = wanted;
  const change = changeFrom(has, wanted, takenBack);
  const isMadeAnew = change === 'restart' || change === 'replace';
  return { id, record, contents, count, source, change, floor: isMadeAnew ? id : 0 };
}

function changeFrom(
  has: Good | null,
  wanted: WantedApp & { record: AppRecord },
  takenBack: Failed | null,
): Change {
  if (has === null || !hasContent(wanted, has.content)) return 'replace';
  if (wanted.id === has.id) return 'steady';
  // With a higher id, what an older worker made gets the fields that it did not know.
  if (fieldsUnknownTo(has.content, wanted.record).length > 0) return 'restart';
  const isUndone = takenBack !== null && takenBack.id > has.id && !hasContent(wanted, takenBack.content);
  return !isUndone && has.count === wanted.count && isHandledAlike(has, wanted) ? 'restart' : 'scale';
}

/** Whether two versions agree in what a container does not show. An older worker remembered no `pull_policy`. */
function isHandledAlike({ record, content }: Good, wanted: WantedApp & { record: AppRecord }): boolean {
  if (record === null) return true;
  const { rolling_restart, pull_policy } = wanted.record;
  const isSamePolicy = content !== wanted.contents[0] || record.pull_policy === pull_policy;
  return record.rolling_restart === rolling_restart && isSamePolicy;
}

/** Whether a label stands for the content of a version, by the set of fields that the label was made with. */
export function hasContent({ contents }: Pick<Version, 'contents'>, label: string): boolean {
  return contents.includes(label);
}
