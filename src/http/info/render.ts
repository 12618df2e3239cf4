import { forEachYielding } from '../../async/pace.ts';
import type { GroupInfo } from '../../store/objects/port.ts';
import { appRecord, infoRecord } from '../records.ts';

/**
 * Resolves to the body of a reply: the JSON of `infoRecord`. Yields to other work on the way, since a group can list
 * thousands of apps.
 */
export async function renderInfo(info: GroupInfo): Promise<string> {
  const { prune_id, apps_list, device_group_id } = infoRecord({ ...info, apps: [] });
  const apps: string[] = [];
  await forEachYielding(info.apps, (app) => void apps.push(JSON.stringify(appRecord(app))));
  const list = JSON.stringify(apps_list);
  return `{"prune_id":${prune_id},"apps_list":${list},"apps":[${apps.join(',')}],"device_group_id":${device_group_id}}`;
}
