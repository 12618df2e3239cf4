import { isMapValue } from '../../protocol/values.ts';
import type { EngineReply } from './replies.ts';

/** The calls that joining takes. Paths are those of the engine's API. */
interface Calls {
  find(path: string): Promise<EngineReply | null>;
  networks(): Promise<readonly EngineReply[]>;
  post(path: string, body: unknown): Promise<unknown>;
}

/**
 * Joins a container that does not run to networks that were removed and made again: it knows them by ids that are gone.
 * Resolves to whether there were any.
 */
export async function rejoin(container: string, { find, networks, post }: Calls): Promise<boolean> {
  const details = await find(`/containers/${encodeURIComponent(container)}/json`);
  const settings = details?.['NetworkSettings'];
  const joined = isMapValue(settings) && isMapValue(settings['Networks']) ? settings['Networks'] : {};
  const ids = new Map((await networks()).map(({ Name, Id }) => [Name, Id]));
  const stale = Object.entries(joined).filter(([name, its]) => {
    const id = isMapValue(its) ? its['NetworkID'] : undefined;
    return ids.has(name) && typeof id === 'string' && id !== '' && id !== ids.get(name);
  });
  for (const [name, its] of stale) {
    const path = `/networks/${encodeURIComponent(name)}`;
    const aliases = isMapValue(its) ? its['Aliases'] : null;
    await post(`${path}/disconnect`, { Container: container, Force: true });
    await post(`${path}/connect`, {
      Container: container,
      ...(Array.isArray(aliases) && { EndpointConfig: { Aliases: aliases } }),
    });
  }
  return stale.length > 0;
}
