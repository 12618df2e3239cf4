import type { AppBuilder } from './builder.ts';
import type { Port } from './project.ts';

const KNOWN = ['target', 'published', 'host_ip', 'protocol', 'mode', 'name', 'app_protocol'];

/** Reads `ports`. Compose has written ranges out; one of the host for a single port stays, and its first port is taken. */
export function readPorts(ports: readonly Port[], builder: AppBuilder): void {
  const entries = ports.map((port, index) => {
    const key = `ports[${index}]`;
    builder.leaveOthersOut(port, key, KNOWN);
    if (port.published === undefined)
      builder.check(
        key,
        'has no port of the host, and Compose would take any free one; here it is the same as in the container',
      );
    return entryOf(port);
  });
  builder.set('starting_ports', entries, 'ports');
}

function entryOf({ target, published, host_ip: address = '', protocol = 'tcp' }: Port): unknown {
  const host = published?.replace(/-.*/, '') ?? `${target}`;
  const isAnywhere = address === '' || address === '0.0.0.0';
  if (host === `${target}` && isAnywhere && protocol === 'tcp') return target;
  const prefix = address.includes(':') ? `[${address}]:` : `${address}:`;
  return { [isAnywhere ? host : prefix + host]: protocol === 'tcp' ? `${target}` : `${target}/${protocol}` };
}
