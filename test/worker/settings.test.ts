import { describe, expect, it } from 'vitest';
import { flagOf } from '../../src/settings/read.ts';
import { shownValues } from '../../src/settings/setting.ts';
import {
  parseWorkerConfig,
  WORKER_SECRETS,
  WORKER_SETTINGS,
  type WorkerConfig,
} from '../../src/worker/settings.ts';

type Env = Record<string, string>;

const NEEDED = { MANAGER: 'https://fleet.example', DEVICE_GROUP: 'edge' };
const PARTNERS: Env = {
  DEVICE_AUTH_USER: 'devices',
  DEVICE_AUTH_PASSWORD: 'p',
  REGISTRY_AUTH_USER: 'robot',
  REGISTRY_AUTH_PASSWORD: 'q',
};

function refuseFile(): never {
  throw new Error('no files');
}

function read(env: Env, argv: readonly string[] = [], readFile: (path: string) => string = refuseFile) {
  return parseWorkerConfig(env, argv, readFile);
}

function configOf(env: Env, argv: readonly string[] = []): WorkerConfig {
  const result = read(env, argv);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

function problemsOf(env: Env, argv: readonly string[] = []): string[] {
  const result = read(env, argv);
  return result.ok ? [] : result.problems;
}

const days = 'must be a whole number from 1 to 86400';
const address = 'must be an http:// or https:// address without a query';
const folders = 'must be absolute paths without ".." separated by commas, or none';
const socket = 'must be the path of a socket, or unix:// and its path';

/** For every setting: accepted texts with their values, and refused texts with the reason. */
const TABLE: Record<keyof WorkerConfig, { accepts: [string, unknown][]; refuses?: [string, string][] }> = {
  MANAGER: {
    accepts: [
      ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
      ['https://host/holdfast/', 'https://host/holdfast'],
      ['https://host', 'https://host'],
      ['http://[::1]:80', 'http://[::1]:80'],
    ],
    refuses: [
      ['host:8080', address],
      ['ftp://host', address],
      ['https://', address],
      ['https://host/?a=1', address],
      ['https://host/#a', address],
      ['https://ho st', address],
      ['http://host:99999', 'must be an http:// or https:// address'],
    ],
  },
  DEVICE_GROUP: {
    accepts: [['eu.west_1-a', 'eu.west_1-a']],
    refuses: [
      [
        '../x',
        'must be a name of at most 128 letters, digits, ".", "_" and "-" that begins with a letter or digit',
      ],
    ],
  },
  DEVICE_AUTH_USER: {
    accepts: [['shops', 'shops']],
    refuses: [['a:b', 'must not be empty or contain a colon']],
  },
  DEVICE_AUTH_PASSWORD: { accepts: [['a:b c', 'a:b c']] },
  DEVICE_NAME: {
    accepts: [['shop-17', 'shop-17']],
    refuses: [
      [
        'shop 17',
        'must be a name of at most 128 letters, digits, ".", "_" and "-" that begins with a letter or digit',
      ],
    ],
  },
  MANAGER_CA_FILE: {
    accepts: [['/etc/ca.pem', '/etc/ca.pem']],
    refuses: [['ca.pem', 'must be an absolute path']],
  },
  ENGINE: {
    accepts: [
      ['/run/engine/docker.sock', '/run/engine/docker.sock'],
      ['unix:///var/run/docker.sock', '/var/run/docker.sock'],
    ],
    refuses: [
      ['tcp://127.0.0.1:2375', socket],
      ['docker.sock', socket],
    ],
  },
  DOCKER_CONFIG: { accepts: [['/root/.docker', '/root/.docker']] },
  REGISTRY_HOST: { accepts: [['ghcr.io', 'ghcr.io']] },
  REGISTRY_AUTH_USER: {
    accepts: [['robot', 'robot']],
    refuses: [['a:b', 'must not be empty or contain a colon']],
  },
  REGISTRY_AUTH_PASSWORD: { accepts: [['s', 's']] },
  DATA_DIR: { accepts: [['/data', '/data']] },
  ORCHESTRATOR_MANAGER_CHECK_IN_TIME: {
    accepts: [['1', 1]],
    refuses: [
      ['0', days],
      ['10s', days],
    ],
  },
  REQUEST_TIMEOUT: { accepts: [['3600', 3600]], refuses: [['0', 'must be a whole number from 1 to 3600']] },
  REPORT_INTERVAL: { accepts: [['60', 60]], refuses: [['0', days]] },
  UPDATE_SPREAD: {
    accepts: [
      ['0', 0],
      ['600', 600],
    ],
    refuses: [['-1', 'must be a whole number from 0 to 86400']],
  },
  HEALTH_WAIT: { accepts: [['5', 5]], refuses: [['0', days]] },
  STOP_TIMEOUT: { accepts: [['30', 30]], refuses: [['0', 'must be a whole number from 1 to 3600']] },
  ROLLBACK: { accepts: [['false', false]], refuses: [['no', 'must be true or false']] },
  HEALTH_NEEDS_MANAGER: { accepts: [['false', false]], refuses: [['no', 'must be true or false']] },
  ON_GROUP_GONE: { accepts: [['keep', 'keep']], refuses: [['wait', 'must be stop or keep']] },
  DISK_HIGH: {
    accepts: [['100', 100]],
    refuses: [
      ['101', 'must be a whole number from 1 to 100'],
      ['85%', 'must be a whole number from 1 to 100'],
    ],
  },
  ALLOW_LOGS: { accepts: [['false', false]], refuses: [['no', 'must be true or false']] },
  MAX_CONTAINERS: { accepts: [['1', 1]], refuses: [['0', 'must be a whole number from 1 to 10000']] },
  ALLOW_PRIVILEGED: { accepts: [['false', false]], refuses: [['0', 'must be true or false']] },
  ALLOW_MOUNTS: {
    accepts: [
      ['/srv, /data/', ['/srv', '/data']],
      ['/', ['/']],
      ['none', []],
    ],
    refuses: [
      ['srv', folders],
      ['/srv,', folders],
      ['/srv/../etc', folders],
      ['/srv/..', folders],
      ['/srv:ro', folders],
    ],
  },
  ALLOW_IMAGES: {
    accepts: [['ghcr.io/acme/, nginx:', ['ghcr.io/acme/', 'nginx:']]],
    refuses: [['a,,b', 'must be image prefixes separated by commas']],
  },
  TAKE_OVER_NEBULA: { accepts: [['all', 'all']], refuses: [['true', 'must be wanted or all']] },
  METRICS_PORT: {
    accepts: [
      ['9100', 9100],
      ['0', 0],
    ],
    refuses: [['65536', 'must be a whole number from 0 to 65535']],
  },
  METRICS_HOST: { accepts: [['0.0.0.0', '0.0.0.0']] },
  WORKER: {
    accepts: [['blue', 'blue']],
    refuses: [
      [
        'a b',
        'must be a name of at most 128 letters, digits, ".", "_" and "-" that begins with a letter or digit',
      ],
    ],
  },
  LOG_LEVEL: {
    accepts: [['debug', 'debug']],
    refuses: [['loud', 'must be one of fatal, error, warn, info, debug, trace, silent']],
  },
};

describe.each(Object.entries(TABLE))('%s of the worker', (name, { accepts, refuses = [] }) => {
  const flag = `--${flagOf(name)}`;
  const account = Object.keys(PARTNERS).filter(
    (one) => one.split('_')[0] === name.split('_')[0] && name.includes('AUTH'),
  );
  const others = { ...NEEDED, ...Object.fromEntries(account.map((one) => [one, PARTNERS[one] ?? ''])) };

  it.each(accepts)('accepts %j', (text, value) => {
    expect(configOf({ ...others, [name]: text })[name as keyof WorkerConfig]).toEqual(value);
    expect(configOf({ ...others, [name]: 'x y' }, [flag, text])[name as keyof WorkerConfig]).toEqual(value);
  });

  it.each(refuses)('refuses %j', (text, reason) => {
    expect(problemsOf({ ...others, [name]: text })).toEqual([
      // What follows a question mark can be a secret.
      `${name} ${reason}, not ${JSON.stringify(text.replace(/\?.*/, '?***'))}`,
    ]);
  });
});

describe('the settings of the worker', () => {
  it('have these defaults', () => {
    expect(configOf(NEEDED)).toEqual({
      MANAGER: 'https://fleet.example',
      DEVICE_GROUP: 'edge',
      DEVICE_AUTH_USER: null,
      DEVICE_AUTH_PASSWORD: null,
      DEVICE_NAME: null,
      MANAGER_CA_FILE: null,
      ENGINE: null,
      DOCKER_CONFIG: null,
      REGISTRY_HOST: 'https://index.docker.io/v1/',
      REGISTRY_AUTH_USER: null,
      REGISTRY_AUTH_PASSWORD: null,
      DATA_DIR: './data',
      ORCHESTRATOR_MANAGER_CHECK_IN_TIME: 10,
      REQUEST_TIMEOUT: 30,
      REPORT_INTERVAL: 300,
      UPDATE_SPREAD: 0,
      HEALTH_WAIT: 120,
      STOP_TIMEOUT: 10,
      ROLLBACK: true,
      HEALTH_NEEDS_MANAGER: true,
      ON_GROUP_GONE: 'stop',
      DISK_HIGH: 85,
      ALLOW_LOGS: true,
      MAX_CONTAINERS: 100,
      ALLOW_PRIVILEGED: true,
      ALLOW_MOUNTS: null,
      ALLOW_IMAGES: null,
      TAKE_OVER_NEBULA: 'wanted',
      METRICS_PORT: null,
      METRICS_HOST: '127.0.0.1',
      WORKER: 'main',
      LOG_LEVEL: 'info',
    } satisfies WorkerConfig);
  });

  it('report every problem at once, those that are missing, too', () => {
    const env = { ROLLBACK: 'maybe', DEVICE_AUTH_USER: 'a', REGISTRY_AUTH_PASSWORD: 's3cret' };
    expect(problemsOf(env, ['--disk-hihg', '90'])).toEqual([
      '--disk-hihg is not a flag; did you mean --disk-high?',
      `set MANAGER (or --manager): ${WORKER_SETTINGS.MANAGER.meaning}`,
      `set DEVICE_GROUP (or --device-group): ${WORKER_SETTINGS.DEVICE_GROUP.meaning}`,
      'ROLLBACK must be true or false, not "maybe"',
      'DEVICE_AUTH_USER and DEVICE_AUTH_PASSWORD belong together; set both or neither',
      'REGISTRY_AUTH_USER and REGISTRY_AUTH_PASSWORD belong together; set both or neither',
    ]);
  });

  it('never show credentials in an address', () => {
    const problems = problemsOf({ ...NEEDED, MANAGER: 'https://a:hunter2@host' });
    expect(problems).toEqual([expect.stringMatching(/^MANAGER must not contain credentials.*\*\*\*@host/)]);
    expect(problems.join()).not.toContain('hunter2');
  });

  it('read secrets from files', () => {
    const files: Env = { '/run/a': 'one\n', '/run/b': 'two' };
    const result = read(
      {
        ...NEEDED,
        DEVICE_AUTH_USER: 'a',
        DEVICE_AUTH_PASSWORD_FILE: '/run/a',
        REGISTRY_AUTH_USER: 'b',
        REGISTRY_AUTH_PASSWORD_FILE: '/run/b',
      },
      [],
      (path) => files[path] ?? refuseFile(),
    );
    expect(result).toMatchObject({
      ok: true,
      config: { DEVICE_AUTH_PASSWORD: 'one', REGISTRY_AUTH_PASSWORD: 'two' },
    });
  });

  it('are masked in the log where they are secret', () => {
    expect(WORKER_SECRETS).toEqual(['DEVICE_AUTH_PASSWORD', 'REGISTRY_AUTH_PASSWORD']);
    const shown = shownValues(WORKER_SETTINGS, configOf({ ...NEEDED, ...PARTNERS }));
    expect(shown).toMatchObject({ DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: '(set)' });
  });
});

describe("the names of Nebula's worker", () => {
  const NEBULA = {
    NEBULA_MANAGER_HOST: 'fleet.example',
    NEBULA_MANAGER_AUTH_USER: 'nebula',
    NEBULA_MANAGER_AUTH_PASSWORD: 'secret',
    DEVICE_GROUP: 'edge',
  };

  it.each<[string, Env, Partial<WorkerConfig>]>([
    [
      'a host',
      {},
      { MANAGER: 'http://fleet.example:80', DEVICE_AUTH_USER: 'nebula', DEVICE_AUTH_PASSWORD: 'secret' },
    ],
    [
      'a host, a port and a protocol',
      { NEBULA_MANAGER_PORT: '8443', NEBULA_MANAGER_PROTOCOL: 'https' },
      { MANAGER: 'https://fleet.example:8443' },
    ],
    ['a whole address', { NEBULA_MANAGER_URI: 'https://other/nebula' }, { MANAGER: 'https://other/nebula' }],
    [
      'seconds between polls',
      { NEBULA_MANAGER_CHECK_IN_TIME: '30' },
      { ORCHESTRATOR_MANAGER_CHECK_IN_TIME: 30 },
    ],
    ['a limit of requests', { NEBULA_MANAGER_REQUEST_TIMEOUT: '60' }, { REQUEST_TIMEOUT: 60 }],
    ['a random wait', { MAX_RESTART_WAIT_IN_SECONDS: '5' }, { UPDATE_SPREAD: 5 }],
    [
      'a registry',
      { REGISTRY_HOST: 'https://r.example', REGISTRY_AUTH_USER: 'u', REGISTRY_AUTH_PASSWORD: 'p' },
      { REGISTRY_HOST: 'https://r.example', REGISTRY_AUTH_USER: 'u', REGISTRY_AUTH_PASSWORD: 'p' },
    ],
    [
      "Docker's name of the socket",
      { DOCKER_HOST: 'unix:///run/user/1/docker.sock' },
      { ENGINE: '/run/user/1/docker.sock' },
    ],
    ['variables of Kafka, which mean nothing here', { KAFKA_BOOTSTRAP_SERVERS: 'k:9092' }, {}],
  ])('give %s', (_name, env, values) => {
    expect(configOf({ ...NEBULA, ...env })).toMatchObject(values);
  });

  it('count only where our own name is not set', () => {
    const own = {
      MANAGER: 'https://new.example',
      DEVICE_AUTH_USER: 'devices',
      ORCHESTRATOR_MANAGER_CHECK_IN_TIME: '5',
      NEBULA_MANAGER_CHECK_IN_TIME: '30',
    };
    const result = read({ ...NEBULA, ...own, DEVICE_AUTH_PASSWORD_FILE: '/run/p' }, [], () => 'ours');
    expect(result).toMatchObject({
      config: {
        MANAGER: 'https://new.example',
        DEVICE_AUTH_USER: 'devices',
        DEVICE_AUTH_PASSWORD: 'ours',
        ORCHESTRATOR_MANAGER_CHECK_IN_TIME: 5,
      },
    });
  });

  it.each<[string, Env, string]>([
    ['a number', { NEBULA_MANAGER_CHECK_IN_TIME: '0' }, `NEBULA_MANAGER_CHECK_IN_TIME ${days}, not "0"`],
    [
      'an address',
      { NEBULA_MANAGER_PROTOCOL: 'ftp' },
      `the address of NEBULA_MANAGER_PROTOCOL, NEBULA_MANAGER_HOST and NEBULA_MANAGER_PORT ${address}, not "ftp://fleet.example:80"`,
    ],
    ['a socket', { DOCKER_HOST: 'tcp://1.2.3.4:2375' }, `DOCKER_HOST ${socket}, not "tcp://1.2.3.4:2375"`],
  ])('are named in the problem of %s', (_name, env, problem) => {
    expect(problemsOf({ ...NEBULA, ...env })).toEqual([problem]);
  });
});
