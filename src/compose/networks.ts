import type { AppBuilder } from './builder.ts';
import type { Service } from './project.ts';

/** Networks that every device has. */
const MODES = ['host', 'none', 'bridge'];

/** Reads `network_mode`: `host`, `none` or `bridge`. */
export function readNetworkMode(mode: string, builder: AppBuilder): void {
  if (mode === 'default') return;
  if (MODES.includes(mode)) {
    builder.set('networks', [mode], 'network_mode');
    return;
  }
  // Outside of the network that it should share, it could reach what it must not, such as the internet past a VPN.
  builder.set('running', false);
  builder.leaveOut(
    'network_mode',
    'has no counterpart, so the app has `running: false`: it cannot share the network of another container; run both programs in one image, or use `networks: [host]`',
  );
}

const ADVICE = {
  aliases:
    'has no counterpart: apps reach one another by the names of their services; give the service this name',
};
const JOINED =
  'is not kept: all apps of a device are on its network nebula, and reach one another there; for another, create it on each device';
const OPEN =
  'is internal in Compose, and open here: on the network nebula the app reaches the internet; create an internal network on each device, and name it in `networks` as external';

/**
 * Reads `networks`. A network that Compose would create does not exist on devices: there all apps are on the network
 * nebula. An external one is kept by its name, beside nebula.
 */
export function readNetworks(networks: NonNullable<Service['networks']>, builder: AppBuilder): void {
  const names: string[] = [];
  for (const [name, own] of Object.entries(networks)) {
    const key = `networks.${name}`;
    builder.leaveOthersOut(own ?? {}, key, [], ADVICE);
    const network = builder.project.networks[name];
    if (network?.external === true) {
      const known = network.name ?? name;
      names.push(known);
      builder.check(key, `must exist on each device: docker network create ${known}`);
    } else if (network?.internal === true) builder.check(key, OPEN);
    else if (name !== 'default') builder.leaveOut(key, JOINED);
  }
  if (names.length > 0) builder.set('networks', names);
}
