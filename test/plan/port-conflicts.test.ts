import { describe, expect, it } from 'vitest';
import { portConflicts } from '../../src/plan/port-conflicts.ts';
import { stateOf, withoutMessage } from '../support/fleet.ts';

/** The conflicts of a group that lists these apps, each on a line of its own, with these fields besides the image. */
function conflictsOf(apps: Readonly<Record<string, string>>) {
  const list = Object.keys(apps).map((name) => `  - ${name}\n`);
  const files = Object.entries(apps).map(([name, fields]) => [
    `apps/${name}.yaml`,
    `container_image: i:1\n${fields}\n`,
  ]);
  const group = ['device-groups/g.yaml', `apps:\n${list.join('')}`];
  return portConflicts(stateOf(Object.fromEntries([...files, group])));
}

const ON_80 = 'starting_ports: [80]';

describe('portConflicts', () => {
  it('warns at the later of two apps of a group that take one port', () => {
    const [conflict, ...others] = conflictsOf({ b: ON_80, x: '', a: 'starting_ports: [{"80": "8080"}]' });
    expect(others).toEqual([]);
    expect(conflict).toEqual({
      file: 'device-groups/g.yaml',
      line: 4,
      column: 5,
      code: 'port-conflict',
      severity: 'warning',
      message: 'app "a" takes port 80 of the device, as does app "b"; only one of them can start',
    });
  });

  it('warns of each port and each app once, however many take a port', () => {
    const found = conflictsOf({
      a: 'starting_ports: [80, 81]',
      b: 'starting_ports: [81, 80]',
      c: 'starting_ports: [80]',
    });
    expect(found.map(withoutMessage).sort()).toEqual([
      'device-groups/g.yaml:3:5 port-conflict',
      'device-groups/g.yaml:3:5 port-conflict',
      'device-groups/g.yaml:4:5 port-conflict',
    ]);
  });

  it.each<[string, boolean, string, string]>([
    ['two protocols', false, '[{"53": "53"}]', '[{"53": "53/udp"}]'],
    ['one protocol, written in two ways', true, '[53]', '[{"53": "54/tcp"}]'],
    ['two addresses', false, '[{"127.0.0.1:80": "80"}]', '[{"10.0.0.1:80": "80"}]'],
    ['one address', true, '[{"127.0.0.1:80": "80"}]', '[{"127.0.0.1:80": "80"}]'],
    ['an address and all', true, '[{"127.0.0.1:80": "80"}]', '[80]'],
    ['an address and all of IPv4', true, '[{"127.0.0.1:80": "80"}]', '[{"0.0.0.0:80": "80"}]'],
    ['an address of IPv6 and all of IPv4', false, '[{"[::1]:80": "80"}]', '[{"0.0.0.0:80": "80"}]'],
    ['an address of IPv6 and all of IPv6', true, '[{"[::1]:80": "80"}]', '[{"[::]:80": "80"}]'],
    ['two ports of the device for one of the container', false, '[{"80": "80"}]', '[{"81": "80"}]'],
    ['a port of the container and one of the device', false, '[{"81": "80"}]', '[80]'],
    ['the second of three containers', true, '[80]\ncontainers_per: {server: 3}', '[81]'],
    ['the last of three containers', true, '[80]\ncontainers_per: {instance: 3}', '[82]'],
    ['the port after three containers', false, '[80]\ncontainers_per: {server: 3}', '[83]'],
    ['a number of containers that the device decides', false, '[80]\ncontainers_per: {cpu: 2}', '[81]'],
    ['the first of such containers', true, '[80]\ncontainers_per: {memory: 200}', '[80]'],
    ['a stopped app', false, '[80]\nrunning: false', '[80]'],
    ['an invalid app', false, '[80]\nrunning: maybe', '[80]'],
  ])('of %s: %j', (_name, isConflict, one, other) => {
    const apps = { one: `starting_ports: ${one}`, other: `starting_ports: ${other}` };
    expect(conflictsOf(apps).length).toBe(isConflict ? 1 : 0);
    expect(conflictsOf({ other: apps.other, one: apps.one }).length).toBe(isConflict ? 1 : 0);
  });

  it('does not warn of apps that no group has in common', () => {
    const state = stateOf({
      'apps/a.yaml': `container_image: i\n${ON_80}\n`,
      'apps/b.yaml': `container_image: i\n${ON_80}\n`,
      'device-groups/g.yaml': 'apps: [a]\n',
      'device-groups/h.yaml': 'apps: [b]\n',
    });
    expect(portConflicts(state)).toEqual([]);
  });

  it('names the port where the containers of two apps meet, with its protocol', () => {
    const [conflict] = conflictsOf({
      a: 'starting_ports: [{"500": "53/udp"}]\ncontainers_per: {server: 9}',
      b: 'starting_ports: [{"505": "53/udp"}]',
    });
    expect(conflict?.message).toContain('port 505/udp of the device');
  });
});
