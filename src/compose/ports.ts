import type { Position } from '../desired/yaml/document.ts';
import type { AppBuilder } from './builder.ts';
import type { MapTree, Tree } from './tree.ts';
import { itemsOf, noteOthers, textOf, valueAt } from './values.ts';

/** The parts of a port of Compose, as texts; a part that is not given is empty. */
interface PortParts {
  address: string;
  host: string;
  container: string;
  protocol: string;
}

const SHORT = /^(?:(?:\[([^\]]*)\]|([^:[\]]*)):)?(?:([\d-]*):)?([\d-]+)(?:\/(\w+))?$/;

/** Reads `ports`: `8080:80`, `127.0.0.1:8080:80/udp`, ranges, and maps with `target` and `published`. */
export function readPorts(tree: Tree, builder: AppBuilder): void {
  const ports = itemsOf(tree, 'ports', builder).flatMap((item, index) => {
    const key = `ports[${index}]`;
    const parts = item.type === 'map' ? longPort(item, key, builder) : shortPort(item, key, builder);
    return parts === null ? [] : entriesOfPort(parts, key, item, builder);
  });
  builder.set('starting_ports', ports, tree);
}

function shortPort(tree: Tree, key: string, builder: AppBuilder): PortParts | null {
  const text = textOf(tree, key, builder);
  if (text === undefined) return null;
  const [match, v6, v4, host, container = '', protocol = 'tcp'] = SHORT.exec(text) ?? [];
  if (match === undefined) {
    builder.refuse(key, tree, 'must be a port such as "8080:80"; put it in quotes');
    return null;
  }
  // Of `8080:80`, the part before the colon is the port; with two colons it is the address.
  if (host === undefined) return { address: '', host: v4 ?? '', container, protocol };
  return { address: v6 === undefined ? (v4 ?? '') : `[${v6}]`, host, container, protocol };
}

const LONG = ['target', 'published', 'host_ip', 'protocol', 'mode', 'name', 'app_protocol'];

function longPort(map: MapTree, key: string, builder: AppBuilder): PortParts | null {
  noteOthers(map, key, builder, LONG);
  const part = (name: string): string => {
    const value = valueAt(map, name);
    return value === undefined ? '' : (textOf(value, `${key}.${name}`, builder) ?? '');
  };
  const address = part('host_ip');
  return {
    address: address.includes(':') ? `[${address}]` : address,
    host: part('published'),
    container: part('target'),
    protocol: part('protocol') || 'tcp',
  };
}

function entriesOfPort(parts: PortParts, key: string, place: Position, builder: AppBuilder): unknown[] {
  const containers = rangeOf(parts.container);
  const hosts = rangeOf(parts.host === '' ? parts.container : parts.host);
  if (containers === null || hosts === null) {
    builder.refuse(key, place, 'must have ports from 1 to 65535, or ranges of at most 1,000 ports');
    return [];
  }
  if (parts.host === '')
    builder.check(
      key,
      place,
      'has no port of the host, and Compose would take any free one; here it is the same as in the container',
    );
  // A range for one port: Compose takes a free one of it, and devices count up from the first for each further container.
  const firsts = containers.length === 1 ? hosts.slice(0, 1) : hosts;
  if (firsts.length !== containers.length) {
    builder.refuse(key, place, 'has two ranges of different lengths');
    return [];
  }
  return firsts.map((host, index) => entryOf(parts, host, containers[index] ?? host));
}

function entryOf({ address, protocol }: PortParts, host: number, container: number): unknown {
  const isAnywhere = address === '' || address === '0.0.0.0';
  if (host === container && isAnywhere && protocol === 'tcp') return host;
  const hostSide = isAnywhere ? `${host}` : `${address}:${host}`;
  return { [hostSide]: protocol === 'tcp' ? `${container}` : `${container}/${protocol}` };
}

const MOST_PORTS = 1000;

/** Returns the ports of `80` or `80-82`; null if it is neither. */
function rangeOf(text: string): number[] | null {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  if (first === undefined) return null;
  const length = Number(last) - Number(first) + 1;
  if (length < 1 || length > MOST_PORTS || Number(first) < 1 || Number(last) > 65_535) return null;
  return Array.from({ length }, (_, index) => Number(first) + index);
}
