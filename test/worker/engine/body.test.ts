import { describe, expect, it } from 'vitest';
import { createBody, endpointOf } from '../../../src/worker/engine/body.ts';
import { networksOf } from '../../../src/worker/plan/networks.ts';
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
    expect(createBody(spec)).toEqual({
      Image: 'ghcr.io/acme/web:1.2',
      Env: ['A=1=2', 'EMPTY='],
      Labels: { 'holdfast.app': 'web', 'holdfast.slot': '3' },
      ExposedPorts: { '80/tcp': {}, '8000/tcp': {}, '53/udp': {} },
      NetworkingConfig: { EndpointsConfig: { nebula: { Aliases: ['web'] } } },
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

  it('has the optional fields of an app in the terms of the engine', () => {
    const spec = containerSpec({
      command: ['--port', '80'],
      entrypoint: ['/bin/web'],
      user: '1000:1000',
      working_dir: '/srv',
      labels: { team: 'shop', 'holdfast.app': 'other' },
      healthcheck: { test: 'wget -q localhost', interval: 5, timeout: 2, retries: 4, start_period: 60 },
      cpus: 0.5,
      memory: '64m',
      shm_size: '1m',
      read_only: true,
      tmpfs: ['/run', '/tmp:size=1m,noexec'],
      cap_add: ['NET_ADMIN'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true', 'no-new-privileges', 'label:type:web_t'],
      ulimits: { nofile: 64, core: { soft: 0, hard: -1 } },
      extra_hosts: ['db:10.0.0.5', 'v6=[::1]'],
      init: true,
      stop_signal: 'SIGINT',
      stop_grace_period: 90,
      restart: 'on-failure:3',
      logging: { driver: 'json-file', options: { 'max-size': '1m' } },
      pull_policy: 'missing',
    });
    expect(createBody(spec)).toMatchObject({
      Labels: { team: 'shop', 'holdfast.app': 'web' },
      Cmd: ['--port', '80'],
      Entrypoint: ['/bin/web'],
      User: '1000:1000',
      WorkingDir: '/srv',
      StopSignal: 'SIGINT',
      StopTimeout: 90,
      Healthcheck: {
        Test: ['CMD-SHELL', 'wget -q localhost'],
        Interval: 5e9,
        Timeout: 2e9,
        Retries: 4,
        StartPeriod: 60e9,
      },
      HostConfig: {
        RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
        Memory: 67_108_864,
        NanoCpus: 500_000_000,
        ShmSize: 1_048_576,
        Ulimits: [
          { Name: 'nofile', Soft: 64, Hard: 64 },
          { Name: 'core', Soft: 0, Hard: -1 },
        ],
        ReadonlyRootfs: true,
        Tmpfs: { '/run': '', '/tmp': 'size=1m,noexec' },
        CapAdd: ['NET_ADMIN'],
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges=true', 'no-new-privileges=true', 'label=type:web_t'],
        ExtraHosts: ['db:10.0.0.5', 'v6:::1'],
        Init: true,
        LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      },
    });
  });

  it.each([
    ['unless-stopped', { Name: 'unless-stopped' }],
    ['always', { Name: 'unless-stopped' }],
    ['on-failure', { Name: 'on-failure', MaximumRetryCount: 0 }],
    ['on-failure:3', { Name: 'on-failure', MaximumRetryCount: 3 }],
    ['no', { Name: 'no' }],
  ])('makes restart: %s the policy %o', (restart, policy) => {
    expect(createBody(containerSpec({ restart })).HostConfig.RestartPolicy).toEqual(policy);
  });

  it.each([
    ['nebula', { Aliases: ['web'] }],
    ['shop', { Aliases: ['web'] }],
    ['bridge', undefined],
    ['host', undefined],
    ['none', undefined],
  ])('gives a container the name of its app on %s: %o', (network, endpoint) => {
    expect(endpointOf(network, 'web')).toEqual(endpoint);
  });

  it.each([
    { networks: ['host', 'shop'], joined: ['host'] },
    { networks: ['none'], joined: ['none'] },
    { networks: ['shop', 'host'], joined: ['nebula', 'shop', 'host'] },
    { networks: ['shop', 'nebula'], joined: ['nebula', 'shop'] },
    { networks: [], joined: ['nebula'] },
  ])('joins $joined for the networks $networks of an app', ({ networks, joined }) => {
    expect(networksOf({ networks })).toEqual(joined);
  });
});
