import type { Position } from '../desired/yaml/document.ts';
import type { AppBuilder } from './builder.ts';
import type { Tree } from './tree.ts';
import { entriesOf, itemsOf, noteOthers, textOf } from './values.ts';
import { isExternal, nameOf } from './volumes.ts';

/** Networks that every device has. */
const MODES = ['host', 'none', 'bridge'];

/** Reads `network_mode`: `host`, `none` or `bridge`. */
export function readNetworkMode(tree: Tree, builder: AppBuilder): void {
  const mode = textOf(tree, 'network_mode', builder);
  if (mode === undefined || mode === 'default') return;
  if (MODES.includes(mode)) {
    builder.set('networks', [mode], tree);
    return;
  }
  // Outside of the network that it should share, it could reach what it must not, such as the internet past a VPN.
  builder.set('running', false, tree);
  builder.leaveOut(
    'network_mode',
    tree,
    'has no counterpart, so the app has `running: false`: it cannot share the network of another container; run both programs in one image, or use `networks: [host]`',
  );
}

const ADVICE = {
  aliases: 'has no counterpart: other apps reach the containers by their names, such as APP-1',
};

/**
 * Reads `networks`. A network that Compose would create does not exist on devices: there all apps are on the network
 * nebula. An external one is kept by its name, beside nebula.
 */
export function readNetworks(tree: Tree, builder: AppBuilder): void {
  const names: string[] = [];
  for (const { name, place } of networksOf(tree, builder)) {
    const key = `networks.${name}`;
    const network = builder.project.networks.get(name);
    if (network?.type === 'map' && isExternal(network)) {
      const known = nameOf(network) ?? name;
      names.push(known);
      builder.check(key, place, `must exist on each device: docker network create ${known}`);
    } else if (name !== 'default') builder.leaveOut(key, place, JOINED);
  }
  if (names.length > 0) builder.set('networks', names, tree);
}

/** Reads the network `default` for a service that names none: Compose lets it join that one. */
export function readDefaultNetwork({ line, column }: Position, builder: AppBuilder): void {
  const network = builder.project.networks.get('default');
  if (network?.type !== 'map' || !isExternal(network)) return;
  const name: Tree = { type: 'scalar', value: 'default', size: 1, line, column };
  readNetworks({ type: 'list', items: [name], size: 2, line, column }, builder);
}

const JOINED =
  'is not kept: all apps of a device are on its network nebula, and reach one another there; for another, create it on each device';

function networksOf(tree: Tree, builder: AppBuilder): { name: string; place: Position }[] {
  if (tree.type !== 'map')
    return itemsOf(tree, 'networks', builder).flatMap((item, index) => {
      const name = textOf(item, `networks[${index}]`, builder);
      return name === undefined ? [] : { name, place: item };
    });
  return entriesOf(tree, 'networks', builder).map(([name, { value, line, column }]) => {
    if (value.type === 'map') noteOthers(value, `networks.${name}`, builder, [], ADVICE);
    return { name, place: { line, column } };
  });
}
