import type { AppRecord } from '../../protocol/info.ts';

/** The network that all apps share, unless they use that of the machine or none. */
export const SHARED = 'nebula';

/** Whether a network is a mode that a container cannot combine with networks: that of the machine, or none. */
export function isAlone(network: string | undefined): boolean {
  return network === 'host' || network === 'none';
}

/** Returns the networks to join: `nebula` first, as with Nebula's worker, unless the list begins with `host` or `none`. */
export function networksOf({ networks }: Pick<AppRecord, 'networks'>): string[] {
  const [first = ''] = networks;
  return isAlone(first) ? [first] : [SHARED, ...networks.filter((name) => name !== SHARED)];
}

/** Whether every engine has a network, or the worker makes it. */
export function isAlwaysThere(network: string): boolean {
  return network === SHARED || network === 'bridge' || isAlone(network);
}
