import { describe, expect, it } from 'vitest';
import { ownConflicts } from '../../src/plan/own-conflicts.ts';
import type { App } from '../../src/protocol/app.ts';
import { appOf } from '../support/fleet.ts';

/** `field[index]` and code of each conflict. */
function conflictsOf(fields: Partial<App>): string[] {
  return ownConflicts(appOf(fields)).map(({ path: [field, index], code }) => `${field}[${index}] ${code}`);
}

const THREE = { containers_per: { server: 3 } };

describe('ownConflicts', () => {
  it.each<[string, string[], Partial<App>]>([
    [
      'two ports of the container behind one',
      ['starting_ports[1] port-conflict'],
      { starting_ports: [80, { '80': '81' }] },
    ],
    [
      'an address and all of them',
      ['starting_ports[1] port-conflict'],
      { starting_ports: [80, { '127.0.0.1:80': '80' }] },
    ],
    [
      'the port of a later container',
      ['starting_ports[1] port-conflict'],
      { ...THREE, starting_ports: [90, { '91': '81' }] },
    ],
    [
      'the same, the other way round',
      ['starting_ports[1] port-conflict'],
      { ...THREE, starting_ports: [{ '91': '81' }, 90] },
    ],
    ['the port after the last container', [], { ...THREE, starting_ports: [90, { '93': '81' }] }],
    ['two protocols', [], { starting_ports: [53, { '53': '53/udp' }] }],
    ['two addresses', [], { starting_ports: [{ '127.0.0.1:80': '80' }, { '10.0.0.1:80': '80' }] }],
    ['one port of the container behind two', [], { starting_ports: [80, { '81': '80' }] }],
    ['two volumes with one target', ['volumes[1] mount-conflict'], { volumes: ['/a:/x', 'b:/x:ro'] }],
    [
      'one target, written in two ways',
      ['volumes[1] mount-conflict'],
      { volumes: ['/a:/x/y', 'b://x/./z/../y/'] },
    ],
    [
      'a volume and a folder in memory',
      ['tmpfs[0] mount-conflict'],
      { volumes: ['/a:/run'], tmpfs: ['/run:size=1m'] },
    ],
    ['two folders in memory', ['tmpfs[1] mount-conflict'], { tmpfs: ['/run', '/run/'] }],
    ['one source with two targets', [], { volumes: ['/a:/x', '/a:/y'] }],
    ['a target in another', [], { volumes: ['/a:/x'], tmpfs: ['/x/y'] }],
    [
      'the root as a target',
      ['volumes[0] mount-conflict', 'volumes[1] mount-conflict'],
      { volumes: ['/a:/.', 'b:/..'] },
    ],
  ])('finds in an app with %s: %j', (_name, conflicts, fields) => {
    expect(conflictsOf(fields)).toEqual(conflicts);
  });

  it('says which entries contradict each other, and why', () => {
    const fields = { ...THREE, starting_ports: [90, { '91': '81/tcp' }], volumes: ['/a:/x', 'b:/x'] };
    expect(ownConflicts(appOf(fields)).map(({ message }) => message)).toEqual([
      'starting_ports[1] takes port 91 of the device, as does starting_ports[0], since ports count up with its 3 containers; its containers cannot all start',
      'volumes[1] has the same target as volumes[0], and a container has one mount for each; remove one of them',
    ]);
  });
});
