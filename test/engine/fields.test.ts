import { describe, expect, it } from 'vitest';
import type { AppRecord } from '../../src/protocol/info.ts';
import type { OptionalField } from '../../src/protocol/optional-fields.ts';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { containerSpec } from '../support/engine/spec.ts';
import { engineSuite } from '../support/engine/suite.ts';

const suite = engineSuite();
const never = new AbortController().signal;

/** What `inspect` says of a container. */
interface Inspected {
  Config: Record<string, unknown>;
  HostConfig: Record<string, unknown>;
  State: { Status: string; Health?: { Status: string } };
}

/** A command that no user, limit or read-only file system hinders. */
const SLEEP = { command: ['/bin/busybox', 'sleep', '60'] };

/** Creates and starts a container of the app `web` with these fields. Resolves to what the engine says of it then. */
async function started(fields: Partial<AppRecord>): Promise<Inspected> {
  const { engine, registry, real } = suite();
  const image = registry.reference('v1');
  await engine.pull(image, never);
  const id = await engine.create(containerSpec({ container_image: image, ...SLEEP, ...fields }));
  await engine.start(id);
  return (await real.api('GET', `/containers/${id}/json`)).body as Inspected;
}

describe('a container on a real Docker', () => {
  it.each<[OptionalField, Partial<AppRecord>, { Config?: object; HostConfig?: object }]>([
    [
      'command',
      { command: ['/bin/busybox', 'sleep', '61'] },
      { Config: { Cmd: ['/bin/busybox', 'sleep', '61'] } },
    ],
    [
      'entrypoint',
      { entrypoint: ['/bin/busybox', 'sleep'], command: ['60'] },
      { Config: { Entrypoint: ['/bin/busybox', 'sleep'], Cmd: ['60'] } },
    ],
    ['user', { user: '1000:1000' }, { Config: { User: '1000:1000' } }],
    ['working_dir', { working_dir: '/srv' }, { Config: { WorkingDir: '/srv' } }],
    ['labels', { labels: { team: 'shop' } }, { Config: { Labels: { team: 'shop', 'holdfast.app': 'web' } } }],
    [
      'healthcheck',
      {
        healthcheck: {
          test: ['CMD', '/bin/busybox', 'true'],
          interval: 2,
          timeout: 3,
          retries: 4,
          start_period: 5,
        },
      },
      {
        Config: {
          Healthcheck: {
            Test: ['CMD', '/bin/busybox', 'true'],
            Interval: 2e9,
            Timeout: 3e9,
            Retries: 4,
            StartPeriod: 5e9,
          },
        },
      },
    ],
    ['cpus', { cpus: 0.5 }, { HostConfig: { NanoCpus: 5e8 } }],
    ['memory', { memory: '64m' }, { HostConfig: { Memory: 67_108_864 } }],
    ['shm_size', { shm_size: '1m' }, { HostConfig: { ShmSize: 1_048_576 } }],
    ['read_only', { read_only: true }, { HostConfig: { ReadonlyRootfs: true } }],
    [
      'tmpfs',
      { tmpfs: ['/scratch:size=1m,mode=1777'] },
      { HostConfig: { Tmpfs: { '/scratch': 'size=1m,mode=1777' } } },
    ],
    ['cap_add', { cap_add: ['CAP_SYS_NICE'] }, { HostConfig: { CapAdd: ['CAP_SYS_NICE'] } }],
    ['cap_drop', { cap_drop: ['CAP_MKNOD'] }, { HostConfig: { CapDrop: ['CAP_MKNOD'] } }],
    [
      'security_opt',
      { security_opt: ['no-new-privileges:true', 'seccomp:unconfined'] },
      { HostConfig: { SecurityOpt: ['no-new-privileges=true', 'seccomp=unconfined'] } },
    ],
    [
      'ulimits',
      { ulimits: { nofile: { soft: 64, hard: 128 } } },
      { HostConfig: { Ulimits: [{ Name: 'nofile', Soft: 64, Hard: 128 }] } },
    ],
    [
      'extra_hosts',
      { extra_hosts: ['db:10.0.0.5', 'six=[fd00::1]', 'host.docker.internal:host-gateway'] },
      { HostConfig: { ExtraHosts: ['db:10.0.0.5', 'six:fd00::1', 'host.docker.internal:host-gateway'] } },
    ],
    ['init', { init: true }, { HostConfig: { Init: true } }],
    ['stop_signal', { stop_signal: 'SIGINT' }, { Config: { StopSignal: 'SIGINT' } }],
    ['stop_grace_period', { stop_grace_period: 3 }, { Config: { StopTimeout: 3 } }],
    [
      'restart',
      { restart: 'on-failure:3' },
      { HostConfig: { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 } } },
    ],
    ['restart', { restart: 'no' }, { HostConfig: { RestartPolicy: { Name: 'no' } } }],
    [
      'logging',
      { logging: { driver: 'json-file', options: { 'max-size': '1m' } } },
      { HostConfig: { LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } } } },
    ],
    [
      'logging',
      { logging: { options: { 'max-file': '2' } } },
      { HostConfig: { LogConfig: { Type: 'json-file', Config: { 'max-file': '2' } } } },
    ],
  ])('has the %s of %o', async (_field, fields, expected) => {
    expect(await started(fields)).toMatchObject({ ...expected, State: { Status: 'running' } });
  });

  it('without optional fields is as the image says', async () => {
    const { Config, HostConfig } = await started({});
    expect(Config).toMatchObject({ User: '', WorkingDir: '' });
    expect(HostConfig).toMatchObject({ Memory: 0, NanoCpus: 0, ReadonlyRootfs: false, CapAdd: null });
    expect(HostConfig['RestartPolicy']).toMatchObject({ Name: 'unless-stopped' });
  });
});

describe('a worker on a real Docker', () => {
  it('takes a version back whose own health check fails, and runs one whose check passes', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    const image = { container_image: registry.reference('v2') };
    const check = (...test: string[]) => ({
      ...image,
      healthcheck: { test: ['CMD', '/bin/busybox', ...test], interval: 1, retries: 1 },
    });
    await fleet.apply({ web: check('true') });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', image.container_image));
    await fleet.apply({ web: check('false') });
    const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'rolled_back');
    expect(apps[0]).toMatchObject({ error: { code: 'unhealthy' } });
  });

  it('lets a job end that ended well, and does not start it again', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply({
      job: { container_image: registry.reference('v1'), entrypoint: ['/bin/busybox', 'true'], restart: 'no' },
    });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    const { apps } = await worker.until(({ apps: [job] }) => job?.state === 'running');
    expect(apps[0]).toMatchObject({ wanted: 1, running: 1, error: null });
    const [first] = await suite().engine.containers();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await suite().engine.containers()).toMatchObject([{ id: first?.id, state: 'exited' }]);
  });
});
