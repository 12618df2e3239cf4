import type { AppRecord } from '../../../protocol/info.ts';
import type { Failed, Good } from '../memory.ts';
import type { WantedApp } from '../model.ts';

/**
 * How a version differs from what the device has: `steady` (it has it), `scale` (only the number of containers differs,
 * or how they are handled, or it undoes what was taken back here anyway), `restart` (nothing differs but the id), `replace`.
 */
type Change = 'steady' | 'scale' | 'restart' | 'replace';

/** A version of an app that is to run. */
export interface Version {
  id: number;
  record: AppRecord;
  content: string;
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
  const { id, record, content, count } = wanted;
  const change = changeFrom(has, wanted, takenBack);
  const isMadeAnew = change === 'restart' || change === 'replace';
  return { id, record, content, count, source, change, floor: isMadeAnew ? id : 0 };
}

function changeFrom(
  has: Good | null,
  wanted: WantedApp & { record: AppRecord },
  takenBack: Failed | null,
): Change {
  if (has === null || wanted.content !== has.content) return 'replace';
  if (wanted.id === has.id) return 'steady';
  const isUndone = takenBack !== null && takenBack.id > has.id && wanted.content !== takenBack.content;
  return !isUndone && has.count === wanted.count && isHandledAlike(has, wanted.record) ? 'restart' : 'scale';
}

/** Whether two versions agree in what a container does not show. */
function isHandledAlike({ record }: Good, wanted: AppRecord): boolean {
  if (record === null) return true;
  return record.rolling_restart === wanted.rolling_restart && record.pull_policy === wanted.pull_policy;
}
