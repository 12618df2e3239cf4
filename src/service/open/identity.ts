import { basename } from 'node:path';
import { webAddressOf } from '../../history/message.ts';
import type { FleetIdentity } from '../../http/api.ts';
import type { Config } from '../../settings/table.ts';
import type { Source } from '../../source/source.ts';

/** Which fleet a manager has, for people. */
export function identityOf({ FLEET_NAME }: Config, { address, remote }: Source): FleetIdentity {
  const page = webAddressOf(remote);
  const name = basename(address)
    .replace(/^.*:/, '')
    .replace(/\.git$/, '');
  return { fleet: FLEET_NAME ?? (name || 'fleet'), forge: page === null ? null : addressesAt(page) };
}

/** The pages of commits and files, as the well-known forges have them. */
function addressesAt(page: string): FleetIdentity['forge'] {
  const { hostname } = new URL(page);
  if (hostname.includes('gitlab'))
    return { commit: `${page}/-/commit/{revision}`, file: `${page}/-/blob/{revision}/{path}` };
  if (hostname.includes('bitbucket'))
    return { commit: `${page}/commits/{revision}`, file: `${page}/src/{revision}/{path}` };
  if (hostname.includes('github'))
    return { commit: `${page}/commit/{revision}`, file: `${page}/blob/{revision}/{path}` };
  return { commit: `${page}/commit/{revision}`, file: `${page}/src/commit/{revision}/{path}` };
}
