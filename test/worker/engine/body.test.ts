import { describe, expect, it } from 'vitest';
import { createBody, networksOf } from '../../../src/worker/engine/body.ts';
import { containerSpec } from '../../support/engine/spec.ts';

describe('the body that creates a container', () => {
  it('has all fields of an app in the terms of the engine', () => {
    const spec = containerSpec(
      {
        container_image: 'ghcr.io/acme/web:1.2',
        starting_ports: [80, { '127.0.0.1:8080': '8000' }, { '53': '53/udp' }, { '[::1]:8081': '8000' }],
        env_vars: { A: '1=2', EMPTY: '' },
        volumes: ['/srv:/data:ro', 'cache:/cache'],
        devices: ['/dev/a:/dev/b', '/dev/c:/dev/c:r'],
        privileged: true,
      },
      { slot: 3, labels: { 'holdfast.app': 'web', 'holdfast.slot': '3' }, networks: ['nebula', 'other'] },
    );
    expect(createBody(spec, 'docker')).toEqual({
      Image: 'ghcr.io/acme/web:1.2',
      Env: ['A=1=2', 'EMPTY='],
      Labels: { 'holdfast.app': 'web', 'holdfast.slot': '3' },
      ExposedPorts: { '80/tcp': {}, '8000/tcp': {}, '53/udp': {} },
      HostConfig: {
        NetworkMode: 'nebula',
        PortBindings: {
          '80/tcp': [{ HostIp: '', HostPort: '82' }],
          '8000/tcp': [
            { HostIp: '127.0.0.1', HostPort: '8082' },
            { HostIp: '::1', HostPort: '8083' },
          ],
          '53/udp': [{ HostIp: '', HostPort: '55' }],
        },
        Binds: ['/srv:/data:ro', 'cache:/cache'],
        Devices: [
          { PathOnHost: '/dev/a', PathInContainer: '/dev/b', CgroupPermissions: 'rwm' },
          { PathOnHost: '/dev/c', PathInContainer: '/dev/c', CgroupPermissions: 'r' },
        ],
        Privileged: true,
        RestartPolicy: { Name: 'unless-stopped' },
      },
    });
  });

  it('leaves restarts to the worker on Podman', () => {
    expect(createBody(containerSpec(), 'podman').HostConfig.RestartPolicy).toEqual({ Name: 'no' });
  });

  it.each([
    { networks: ['host', 'nebula'], joined: ['host'] },
    { networks: ['none'], joined: ['none'] },
    { networks: ['nebula', 'host'], joined: ['nebula', 'host'] },
    { networks: ['nebula', 'other'], joined: ['nebula', 'other'] },
  ])('joins $joined for the networks $networks', ({ networks, joined }) => {
    expect(networksOf(containerSpec({}, { networks }))).toEqual(joined);
  });
});
