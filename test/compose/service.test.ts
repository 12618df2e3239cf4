import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ComposeImport, importProject } from '../../src/compose/import.ts';
import { readProject } from '../../src/compose/project.ts';
import { DEFAULTS } from '../support/fleet.ts';

const RESOURCES = `
networks:
  default: {name: shop_default}
  shared: {name: edge, external: true}
  inner: {name: shop_inner, internal: true}
  own: {name: shop_own}
volumes:
  plain: {name: shop_plain}
  outer: {name: outer, external: true}
  remote: {name: shop_remote, driver: nfs}
`;

/** What becomes of a project whose service `web` has these keys, in the form that Compose writes. */
function imported(service: string): ComposeImport {
  const web = { image: 'nginx:1.27', restart: 'always', ...parse(service) };
  const project = readProject(JSON.stringify({ name: 'shop', services: { web }, ...parse(RESOURCES) }));
  if (project === null) throw new Error('this is not the output of Compose');
  return importProject(project, { group: null, defaults: DEFAULTS, ownFolders: ['/srv/shop'] });
}

/** The notes as text, without the service. */
function notesOf({ notes }: ComposeImport): string[] {
  return notes.map(({ code, key, message }) => `${code} ${key} ${message}`);
}

describe('a service that Compose has resolved', () => {
  it.each<[string, Record<string, unknown>]>([
    ['ports: [{target: 80, published: "8080", protocol: tcp}]', { starting_ports: [{ '8080': '80' }] }],
    ['ports: [{target: 80, published: "80"}]', { starting_ports: [80] }],
    ['ports: [{target: 80, published: 7000-7005}]', { starting_ports: [{ '7000': '80' }] }],
    [
      'ports: [{target: 53, published: "53", host_ip: 127.0.0.1, protocol: udp}]',
      { starting_ports: [{ '127.0.0.1:53': '53/udp' }] },
    ],
    [
      'ports: [{target: 80, published: "8080", host_ip: "::1"}]',
      { starting_ports: [{ '[::1]:8080': '80' }] },
    ],
    ['ports: [{target: 80, published: "80", host_ip: 0.0.0.0}]', { starting_ports: [80] }],
    ['scale: 3', { containers_per: { server: 3 } }],
    ['deploy: {replicas: 2}', { containers_per: { server: 2 } }],
    [
      'environment: {A: "1", B: x=y, C: "", D: $$HOME}',
      { env_vars: { A: '1', B: 'x=y', C: '', D: '$HOME' } },
    ],
    [
      'volumes: [{type: bind, source: /a, target: /b, bind: {create_host_path: true}}]',
      { volumes: ['/a:/b'] },
    ],
    [
      'volumes: [{type: bind, source: /a, target: /b, read_only: true, bind: {selinux: z, propagation: rslave}}]',
      { volumes: ['/a:/b:ro,z,rslave'] },
    ],
    [
      'volumes: [{type: volume, source: plain, target: /a, volume: {nocopy: true}}]',
      { volumes: ['shop_plain:/a:nocopy'] },
    ],
    [
      'volumes: [{type: tmpfs, target: /t, tmpfs: {size: "1048576", mode: 493}}]\ntmpfs: [/run]',
      { tmpfs: ['/t:size=1m,mode=755', '/run'] },
    ],
    [
      'devices: [{source: /dev/a, target: /dev/b, permissions: r}, {source: /dev/c, target: /dev/c, permissions: rwm}]',
      { devices: ['/dev/a:/dev/b:r', '/dev/c:/dev/c'] },
    ],
    ['network_mode: host', { networks: ['host'] }],
    ['networks: {default: null}', {}],
    ['command: [echo, a b]\nentrypoint: [/init]', { command: ['echo', 'a b'], entrypoint: ['/init'] }],
    ['command: null\nentrypoint: null', {}],
    ['labels: {a: "1", b: ""}', { labels: { a: '1', b: '' } }],
    ['healthcheck: {test: [CMD, "true"]}', { healthcheck: { test: ['CMD', 'true'] } }],
    [
      'healthcheck: {test: [CMD-SHELL, echo $$HOME], interval: 1m30s, start_period: 0s}',
      { healthcheck: { test: 'echo $HOME', interval: 90 } },
    ],
    ['healthcheck: {test: [CMD-SHELL, NONE]}', { healthcheck: { test: ['NONE'] } }],
    ['healthcheck: {test: [NONE]}', { healthcheck: { test: ['NONE'] } }],
    ['healthcheck: {disable: true}', { healthcheck: { test: ['NONE'] } }],
    [
      'cpus: 0.5\nmem_limit: "536870912"\nshm_size: "67108864"',
      { cpus: 0.5, memory: '512m', shm_size: '64m' },
    ],
    ['cpus: 0\nmem_limit: "0"', {}],
    ['deploy: {resources: {limits: {cpus: 1.5, memory: "2147483648"}}}', { cpus: 1.5, memory: '2g' }],
    ['restart: "no"', { restart: 'no' }],
    ['restart: on-failure:0', { restart: 'on-failure' }],
    ['deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}', { restart: 'on-failure:3' }],
    ['deploy: {mode: replicated, restart_policy: {condition: any}}', {}],
    ['cap_add: [net_admin]\ncap_drop: [ALL]', { cap_add: ['NET_ADMIN'], cap_drop: ['ALL'] }],
    ['extra_hosts: [a=10.0.0.1, d=::1]', { extra_hosts: ['a:10.0.0.1', 'd:::1'] }],
    [
      'ulimits: {nofile: 5, nproc: {soft: 1, hard: 2}}',
      { ulimits: { nofile: 5, nproc: { soft: 1, hard: 2 } } },
    ],
    [
      'logging: {driver: json-file, options: {max-size: 5m}}',
      { logging: { driver: 'json-file', options: { 'max-size': '5m' } } },
    ],
    ['pull_policy: missing', { pull_policy: 'missing' }],
    ['stop_grace_period: 1m10s', { stop_grace_period: 70 }],
    [
      'user: "1000:1000"\nworking_dir: /srv\nread_only: true\ninit: true\nprivileged: true\nstop_signal: SIGINT',
      {
        user: '1000:1000',
        working_dir: '/srv',
        read_only: true,
        init: true,
        privileged: true,
        stop_signal: 'SIGINT',
      },
    ],
    ['x-anything: {a: 1}', {}],
  ])('%s', (service, fields) => {
    const result = imported(service);
    expect(notesOf(result)).toEqual([]);
    expect(parse(result.files[0]?.text ?? '')).toEqual({ container_image: 'nginx:1.27', ...fields });
  });

  it.each<[string, string]>([
    ['build: {context: /a}', 'left-out build is not run: devices only pull images'],
    ['expose: ["80"]', 'left-out expose is not needed'],
    ['future: 1', 'left-out future is not known here'],
    ['ports: [{target: 80}]', 'check ports[0] has no port of the host'],
    ['environment: {A: null}', 'left-out environment.A takes its value from the environment'],
    ['volumes: [{type: volume, target: /a}]', 'left-out volumes[0] has no name'],
    ['volumes: [{type: npipe, source: a, target: b}]', 'left-out volumes[0] has a type'],
    [
      'volumes: [{type: volume, source: plain, target: /a, volume: {subpath: b}}]',
      'left-out volumes[0].volume.subpath',
    ],
    ['volumes: [{type: volume, source: remote, target: /a}]', 'check volumes[0] uses a volume with a driver'],
    ['volumes: [{type: volume, source: outer, target: /a}]', 'check volumes[0] must exist on each device'],
    [
      'volumes: [{type: bind, source: /srv/shop/a, target: /a}]',
      'check volumes[0] is /srv/shop/a: devices need it',
    ],
    [
      'devices: [{source: vendor.com/class=dev, target: vendor.com/class=dev, permissions: rwm}]',
      'left-out devices[0] is a CDI device',
    ],
    ['networks: {own: null}', 'left-out networks.own is not kept'],
    ['networks: {inner: null}', 'check networks.inner is internal in Compose, and open here'],
    ['networks: {shared: {aliases: [db]}}', 'left-out networks.shared.aliases has no counterpart'],
    [
      'networks: {shared: null}',
      'check networks.shared must exist on each device: docker network create edge',
    ],
    ['network_mode: service:db', 'left-out network_mode has no counterpart, so the app has `running: false`'],
    ['command: []', "left-out command is empty, which cannot be said here: the image's own command stays"],
    ['healthcheck: {test: [CMD, "true"], start_interval: 2s}', 'left-out healthcheck.start_interval'],
    ['healthcheck: {interval: 5s}', 'left-out healthcheck has no test'],
    ['stop_grace_period: 1.5s', 'check stop_grace_period is rounded up to 2 seconds'],
    ['stop_grace_period: 0s', 'check stop_grace_period is 1 second'],
    ['scale: 0', 'check scale is 0'],
    ['deploy: {resources: {reservations: {memory: "1"}}}', 'left-out deploy.resources.reservations'],
    [
      'deploy: {restart_policy: {condition: any, window: 5s}}',
      'left-out deploy.restart_policy.window has no counterpart here',
    ],
    ['pull_policy: daily', 'left-out pull_policy has no counterpart'],
    ['security_opt: ["systempaths=unconfined"]', 'left-out security_opt[0] has no counterpart here'],
    ['profiles: [dev]', 'check profiles are for starts on demand'],
  ])('%s is noted', (service, note) => {
    expect(notesOf(imported(service)).join('\n')).toContain(note);
  });

  it.each<[string, string]>([
    ['mem_limit: "1024"', 'error mem_limit must be 6m or more'],
    ['stop_signal: lots', 'error stop_signal must'],
    ['ports: [{target: 80, published: "80000"}]', 'error ports[0] must'],
    ['image: NGINX', 'error image must'],
    ['privileged: true\nlabels: {holdfast.app: a}', 'error labels'],
  ])('%s is an error, so that nothing is written', (service, note) => {
    const result = imported(service);
    expect(notesOf(result).join('\n')).toContain(note);
    expect(result.files).toEqual([]);
  });

  it('without an image is an error that says what to do', () => {
    const project = readProject('name: a\nservices: {web: {build: {context: /a}}}');
    const result = project && importProject(project, { group: 'x y', defaults: DEFAULTS, ownFolders: [] });
    expect(result?.files).toEqual([]);
    expect(result && notesOf(result)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^error group has no valid name: .*--group NAME$/),
        expect.stringMatching(/^error image is missing, and devices do not build one: push the image/),
      ]),
    );
  });

  it('keeps external networks by the names that they have in the engine', () => {
    const [file] = imported('networks: {shared: null, own: null}').files;
    expect(parse(file?.text ?? '')).toMatchObject({ networks: ['edge'] });
  });

  it('that another one waits for until it has ended should not run again', () => {
    const text = `name: a\nservices:\n  job: {image: "a:1"}\n  web: {image: "a:1", restart: always, depends_on: {job: {condition: service_completed_successfully}}}`;
    const project = readProject(text);
    const result = project && importProject(project, { group: null, defaults: DEFAULTS, ownFolders: [] });
    expect(result && notesOf(result)[0]).toMatch(/^check restart is missing, and others wait/);
  });
});

describe('a text is not the output of Compose if', () => {
  it.each<[string, string]>([
    ['it has no name', 'services: {web: {image: "a:1"}}'],
    ['it has no services', 'name: a'],
    ['a service is a text', 'name: a\nservices: {web: nginx}'],
    ['a variable is left in it', 'name: a\nservices: {web: {image: "a:${TAG}"}}'],
    ['a port has its short form', 'name: a\nservices: {web: {image: "a:1", ports: ["80:80"]}}'],
    ['a mount has its short form', 'name: a\nservices: {web: {image: "a:1", volumes: ["a:/b"]}}'],
    ['a command is one text', 'name: a\nservices: {web: {image: "a:1", command: sleep 1}}'],
    ['variables are a list', 'name: a\nservices: {web: {image: "a:1", environment: [A=1]}}'],
    ['a file of variables is named', 'name: a\nservices: {web: {image: "a:1", env_file: [a.env]}}'],
    ['another service is extended', 'name: a\nservices: {web: {image: "a:1", extends: {service: b}}}'],
    ['another file is included', 'name: a\nservices: {web: {image: "a:1"}}\ninclude: [b.yaml]'],
    ['it is not YAML', 'name: ['],
    ['it is empty', ''],
    [
      'its aliases stand for billions',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(/./g, (c) => `${c}: &${c} [${`*${String.fromCharCode(c.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}`,
    ],
  ])('%s', (_, text) => {
    expect(readProject(text)).toBeNull();
  });
});
