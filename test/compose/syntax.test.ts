import { describe, expect, it } from 'vitest';
import { importCompose } from '../../src/compose/import.ts';
import { KEYS } from '../../src/compose/keys.ts';
import { LEFT_OUT } from '../../src/compose/left-out.ts';
import type { Note } from '../../src/compose/notes.ts';
import { parseObjectText } from '../../src/desired/parse.ts';
import { closestName } from '../../src/suggest.ts';
import { appOf, DEFAULTS } from '../support/fleet.ts';

interface Around {
  dotenv?: string;
  environment?: Record<string, string>;
  files?: Record<string, string>;
}

function read(text: string, { dotenv, environment = {}, files = {} }: Around = {}) {
  return importCompose({
    text,
    file: 'compose.yaml',
    folder: '/srv/shop',
    home: '/home/ops',
    environment,
    dotenv: dotenv ?? null,
    group: null,
    defaults: DEFAULTS,
    readFile: (path) => {
      const found = files[path];
      if (found === undefined) throw new Error('ENOENT');
      return found;
    },
    suggest: closestName,
  });
}

/** `line key: message` of notes, with the code if they are no errors; without those on a missing `restart`, which most have. */
function lines(notes: readonly Note[]): string[] {
  const others = notes.filter(({ key, message }) => key !== 'restart' || !message.startsWith('is missing'));
  return others.map(
    ({ line, code, key, message }) => `${code === 'error' ? '' : `${code} `}${line} ${key} ${message}`,
  );
}

/** Reads a service `app` whose keys begin on line 4, beside a service `db`. */
function service(keys: string, around?: Around, topLevel = '') {
  const indented = keys.split('\n').map((line) => `    ${line}`);
  const text = `services:\n  app:\n    image: web:1\n${indented.join('\n')}\n  db: {image: "postgres:17"}\n${topLevel}`;
  const { files, notes } = read(text, around);
  const file = files.find(({ name }) => name === 'app');
  const parsed = file === undefined ? undefined : parseObjectText('app', file.text, DEFAULTS);
  return { fields: parsed?.ok === true ? parsed.content : undefined, notes: lines(notes) };
}

const VOLUMES =
  'volumes:\n  plain:\n  named: {name: other}\n  outer: {external: true}\n  old: {external: {name: x}}\n';
const NETWORKS =
  'networks: {own: {}, shared: {external: true}, proxy: {external: true, name: edge}, old: {external: {name: y}}}\n';

describe('a service gives its app what it says, for example with', () => {
  it.each<[string, Record<string, unknown>]>([
    ['ports: ["8080:80", "80:80", 443]', { starting_ports: [{ '8080': '80' }, 80, 443] }],
    [
      'ports: ["53:53/udp", "127.0.0.1:9000:9000", "[::1]:90:90"]',
      { starting_ports: [{ '53': '53/udp' }, { '127.0.0.1:9000': '9000' }, { '[::1]:90': '90' }] },
    ],
    ['ports: ["7000-7001:8000-8001"]', { starting_ports: [{ '7000': '8000' }, { '7001': '8001' }] }],
    ['ports: ["7000-7005:80"]', { starting_ports: [{ '7000': '80' }] }],
    ['ports: ["0.0.0.0:80:80"]', { starting_ports: [80] }],
    [
      'ports: [{target: 80, published: "8080", host_ip: 127.0.0.1, protocol: udp, mode: host}]',
      { starting_ports: [{ '127.0.0.1:8080': '80/udp' }] },
    ],
    ['ports: [{target: 80, published: 8080, host_ip: "::1"}]', { starting_ports: [{ '[::1]:8080': '80' }] }],
    ['scale: 3', { containers_per: { server: 3 } }],
    ['deploy: {replicas: 2}', { containers_per: { server: 2 } }],
    [
      'environment: {A: 1, B: true, C: "x y", D: 1.5}',
      { env_vars: { A: '1', B: 'true', C: 'x y', D: '1.5' } },
    ],
    ['environment: ["A=1", "B=x=y", "C="]', { env_vars: { A: '1', B: 'x=y', C: '' } }],
    ['environment: {BIG: 12345678901234567890}', { env_vars: { BIG: '12345678901234567890' } }],
    [
      'volumes: ["/a:/b", "/a:/b:ro", "/a:/b:cached", "./x/../c:/d", "~/e:/f:z,ro"]',
      { volumes: ['/a:/b', '/a:/b:ro', '/a:/b', '/srv/shop/c:/d', '/home/ops/e:/f:z,ro'] },
    ],
    [
      'volumes: ["plain:/a", "named:/b", "outer:/c", "unlisted:/d", "old:/e"]',
      { volumes: ['shop_plain:/a', 'other:/b', 'outer:/c', 'shop_unlisted:/d', 'x:/e'] },
    ],
    [
      'volumes: [{type: bind, source: ./a, target: /b, read_only: true, bind: {selinux: z, propagation: rslave}}]',
      { volumes: ['/srv/shop/a:/b:ro,z,rslave'] },
    ],
    [
      'volumes: [{type: volume, source: plain, target: /b, volume: {nocopy: true}}]',
      { volumes: ['shop_plain:/b:nocopy'] },
    ],
    [
      'volumes: [{type: tmpfs, target: /run, tmpfs: {size: 100mb, mode: 0o1777}}]\ntmpfs: /tmp',
      { tmpfs: ['/run:size=100m,mode=1777', '/tmp'] },
    ],
    ['tmpfs: [/run, "/tmp:size=1m"]', { tmpfs: ['/run', '/tmp:size=1m'] }],
    [
      'devices: [/dev/a, "/dev/b:/dev/c:r", {source: /dev/d, target: /dev/e, permissions: rw}, {source: /dev/f}]',
      { devices: ['/dev/a:/dev/a', '/dev/b:/dev/c:r', '/dev/d:/dev/e:rw', '/dev/f:/dev/f'] },
    ],
    ['network_mode: host', { networks: ['host'] }],
    ['network_mode: none', { networks: ['none'] }],
    ['networks: [shared, proxy, old]', { networks: ['shared', 'edge', 'y'] }],
    ['networks: {default: , shared: {}}', { networks: ['shared'] }],
    ['command: echo "a b" \'c d\' e\\ f', { command: ['echo', 'a b', 'c d', 'e f'] }],
    ['command: [echo, 5, true]', { command: ['echo', '5', 'true'] }],
    ['entrypoint: /init --fast', { entrypoint: ['/init', '--fast'] }],
    ['command:\nentrypoint: null\nenvironment:', {}],
    [
      'user: 1000\nworking_dir: /srv\nstop_signal: SIGINT\ninit: true\nread_only: "true"\nprivileged: yes',
      {
        user: '1000',
        working_dir: '/srv',
        stop_signal: 'SIGINT',
        init: true,
        read_only: true,
        privileged: true,
      },
    ],
    ['labels: {a: 1, b: }', { labels: { a: '1', b: '' } }],
    ['labels: [a=1, b]', { labels: { a: '1', b: '' } }],
    [
      'healthcheck: {test: curl localhost, interval: 1m30s, timeout: 1000ms, retries: 3, start_period: 0s}',
      { healthcheck: { test: 'curl localhost', interval: 90, timeout: 1, retries: 3 } },
    ],
    ['healthcheck: {test: ["CMD", "true"]}', { healthcheck: { test: ['CMD', 'true'] } }],
    [
      'healthcheck: {test: ["CMD-SHELL", "echo $$HOME"]}',
      { healthcheck: { test: ['CMD-SHELL', 'echo $HOME'] } },
    ],
    ['healthcheck: {test: NONE}', { healthcheck: { test: ['NONE'] } }],
    ['healthcheck: {test: ["NONE"]}', { healthcheck: { test: ['NONE'] } }],
    ['healthcheck: {disable: true}', { healthcheck: { test: ['NONE'] } }],
    ['cpus: "0.5"\nmem_limit: 512m\nshm_size: 64mb', { cpus: 0.5, memory: '512m', shm_size: '64m' }],
    ['cpus: 0\nmem_limit: 0', {}],
    ['mem_limit: 1073741824', { memory: '1g' }],
    ['mem_limit: 1.5GB', { memory: '1536m' }],
    ['mem_limit: 512MiB', { memory: '512m' }],
    [
      'volumes: [{type: tmpfs, target: /a, tmpfs: {mode: "0755", size: 1048576}}]',
      { tmpfs: ['/a:size=1m,mode=755'] },
    ],
    ['volumes: [{type: tmpfs, target: /a, tmpfs: {mode: 01777}}]', { tmpfs: ['/a:mode=1777'] }],
    ['deploy: {resources: {limits: {cpus: "1.5", memory: 2g}}}', { cpus: 1.5, memory: '2g' }],
    ['deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}', { restart: 'on-failure:3' }],
    ['deploy: {restart_policy: {condition: on-failure, max_attempts: 0}}', { restart: 'on-failure' }],
    [
      'environment: {A: 0123, B: 1_000, C: 0x1F, D: 1e3, E: 1.10}',
      { env_vars: { A: '83', B: '1000', C: '31', D: '1000', E: '1.1' } },
    ],
    ['deploy: {mode: global, restart_policy: {condition: any}}', {}],
    ['restart: always', {}],
    ['restart: no', { restart: 'no' }],
    ['restart: "no"', { restart: 'no' }],
    ['restart: on-failure:0', { restart: 'on-failure' }],
    [
      'cap_add: [net_admin]\ncap_drop: [ALL]\nsecurity_opt: ["no-new-privileges:true"]',
      { cap_add: ['NET_ADMIN'], cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
    ],
    [
      'ulimits: {nproc: 65535, nofile: {soft: 1, hard: 2}}',
      { ulimits: { nproc: 65535, nofile: { soft: 1, hard: 2 } } },
    ],
    [
      'extra_hosts: ["a:10.0.0.1", "b=10.0.0.2", "c:::1", "d=::1"]',
      { extra_hosts: ['a:10.0.0.1', 'b:10.0.0.2', 'c:::1', 'd:::1'] },
    ],
    [
      'extra_hosts: {a: 10.0.0.1, b: [10.0.0.2, "::1"]}',
      { extra_hosts: ['a:10.0.0.1', 'b:10.0.0.2', 'b:::1'] },
    ],
    [
      'logging: {driver: local, options: {max-size: 10m, max-file: 3}}',
      { logging: { driver: 'local', options: { 'max-size': '10m', 'max-file': '3' } } },
    ],
    ['pull_policy: if_not_present', { pull_policy: 'missing' }],
    ['pull_policy: always', {}],
    ['stop_grace_period: 1m10s', { stop_grace_period: 70 }],
    ['x-anything: {build: .}', {}],
    ['profiles: []', {}],
  ])('%s', (keys, fields) => {
    const { fields: found, notes } = service(keys, {}, VOLUMES + NETWORKS);
    expect(notes.filter((note) => !note.startsWith('check '))).toEqual([]);
    expect(found).toEqual({ ...appOf(fields), container_image: 'web:1' });
  });
});

describe('a note names what', () => {
  it.each<[string, string]>([
    [
      'ports: [80]',
      'check 4 ports[0] has no port of the host, and Compose would take any free one; here it is the same as in the container',
    ],
    [
      'volumes:\n  - /data',
      'left-out 5 volumes[0] has no name, so its data would be lost with the container; write NAME:/path to keep it',
    ],
    [
      'volumes: ["./a:/b"]',
      'check 4 volumes[0] is /srv/shop/a: devices need it at this path; copy it there, or change the path',
    ],
    [
      'volumes: [{type: cluster, source: a, target: /b}]',
      'left-out 4 volumes[0] has a type that has no counterpart; use bind, volume or tmpfs',
    ],
    [
      'volumes: [{type: volume, source: a, target: /b, volume: {subpath: c}}]',
      'left-out 4 volumes[0].volume.subpath has no counterpart: the whole volume is mounted; mount a path of the device in its place',
    ],
    [
      'devices: ["vendor.com/gpu=all"]',
      'left-out 4 devices[0] is a CDI device, which has no counterpart; name the files in /dev',
    ],
    [
      'networks: [own]',
      'left-out 4 networks.own is not kept: all apps of a device are on its network nebula, and reach one another there; for another, create it on each device',
    ],
    [
      'networks: {shared: {ipv4_address: 10.0.0.3}}',
      'left-out 4 networks.shared.ipv4_address has no counterpart here',
    ],
    [
      'command: a | b',
      'check 4 command ends before the first of ; & | < > here, as in Compose; for a shell write ["sh", "-c", "..."]',
    ],
    [
      'entrypoint: []',
      "left-out 4 entrypoint is empty, which cannot be said here: the image's own entrypoint stays",
    ],
    [
      'healthcheck: {interval: 5s}',
      'left-out 4 healthcheck has no test: write the test of the image here, too',
    ],
    [
      'stop_grace_period: 1500ms',
      'check 4 stop_grace_period is rounded up to 2 seconds: durations here are whole seconds',
    ],
    ['stop_grace_period: 0s', 'check 4 stop_grace_period is 1 second: no less can be said here'],
    ['scale: 0', 'check 4 scale is 0, so the app has `running: false`'],
    [
      'deploy: {placement: {constraints: [node.role==worker]}}',
      'left-out 4 deploy.placement has no counterpart: put the app into the device groups whose devices should run it',
    ],
    [
      'environment: [TOKEN]',
      'left-out 4 environment.TOKEN takes its value from the environment, where it is not set; set it, or write NAME=value',
    ],
    [
      'environment:\n  PORT: 80\n  URL: http://db:5432/x',
      'check 6 environment.URL names the service db: on a device its container is db-1; write that name',
    ],
    [
      'environment: {DB_HOST: db}',
      'check 4 environment.DB_HOST names the service db: on a device its container is db-1; write that name',
    ],
    [
      'command: ["--db=db:5432"]',
      'check 4 command names the service db: on a device its container is db-1; write that name',
    ],
    ['depends: [db]', 'left-out 4 depends is no key of Compose that is known here; did you mean depends_on?'],
    [
      'volumes: [{type: tmpfs, target: /a, tmpfs: {mode: 755}}]',
      'check 4 volumes[0].tmpfs.mode is decimal, as in Compose; if its digits are octal, put a 0 before them',
    ],
    ['security_opt: ["systempaths=unconfined"]', 'left-out 4 security_opt[0] has no counterpart here'],
    ...['0123', '1_000', '0o17', '0x1F', '1e3', '1.10'].map((number): [string, string] => [
      `environment: {A: ${number}}`,
      'check 4 environment.A is a number, which YAML writes in its own way (1.10 becomes 1.1, 010 becomes 8); put it in quotes',
    ]),
    ...[
      ['healthcheck: {test: pg_isready -h db}', 'healthcheck.test'],
      ['healthcheck: {test: [CMD, curl, "http://db/"]}', 'healthcheck.test'],
      ['labels: {proxy: "http://db:80"}', 'labels.proxy'],
      ['command: [psql, --host, db]', 'command'],
      ['command: psql --host=db', 'command'],
    ].map(([keys, key]): [string, string] => [
      `${keys}`,
      `check 4 ${key} names the service db: on a device its container is db-1; write that name`,
    ]),
    [
      'links: ["db:pg"]\nenvironment: {DB_HOST: pg}',
      'check 5 environment.DB_HOST names the service db as pg: on a device its container is db-1; write that name',
    ],
    [
      'networks: {own: {aliases: [web.lan]}}\nenvironment: {URL: "http://web.lan/"}',
      'check 5 environment.URL names the service app as web.lan: on a device its container is app-1; write that name',
    ],
    ['whatever: 1', 'left-out 4 whatever is no key of Compose that is known here'],
    [
      'tty: true',
      'left-out 4 tty has no counterpart: a program that reads its input ends at once; give it a command that stays, such as `sleep infinity`',
    ],
    [
      'volumes: ["outer:/a"]',
      'check 4 volumes[0] must exist on each device with its data, else an engine makes an empty one',
    ],
  ])('%s needs', (keys, note) => {
    expect(service(keys, {}, VOLUMES + NETWORKS).notes).toContain(note);
  });

  it.each<[string, string, string[]]>([
    [
      'a service without restart',
      'a: {image: "a:1"}',
      [
        'a restart is missing: the app runs again whenever it ends, as Compose\'s default does not; write `restart: "no"` for a job that ends',
      ],
    ],
    [
      'a job without restart, for which others wait,',
      'a: {image: "a:1"}\n  b: {image: "b:1", restart: always, depends_on: {a: {condition: service_completed_successfully}}}',
      [
        'a restart is missing, and others wait until this service has ended: write `restart: "no"` or `on-failure`, or it runs again and again',
      ],
    ],
    [
      'no service with a policy of deploy',
      'a: {image: "a:1", deploy: {restart_policy: {condition: any}}}',
      [],
    ],
  ])('%s needs', (_, services, expected) => {
    const notes = read(`services:\n  ${services}\n`).notes.filter(({ key }) => key === 'restart');
    expect(notes.map((note) => `${note.service} ${note.key} ${note.message}`)).toEqual(expected);
  });

  it('a host by the name of a container or of a host needs', () => {
    const { notes } = read(
      'services:\n  a: {image: "a:1", environment: {DB_HOST: pg, MAIL_URL: smtp://mail.lan:25}}\n  b: {image: "b:1", container_name: pg}\n  c: {image: "c:1", hostname: mail.lan}\n',
    );
    expect(lines(notes)).toEqual([
      'check 2 environment.DB_HOST names the service b as pg: on a device its container is b-1; write that name',
      'check 2 environment.MAIL_URL names the service c as mail.lan: on a device its container is c-1; write that name',
      expect.stringMatching('left-out 3 container_name'),
      expect.stringMatching('left-out 4 hostname'),
    ]);
  });

  it('a database of the same name as a service is not taken for a host', () => {
    expect(
      service('environment: {POSTGRES_DB: db, POSTGRES_USER: db, VIRTUAL_HOST: db, A: "https:///db"}').notes,
    ).toEqual([]);
  });

  it.each(['container', 'service'])(
    'network_mode %s:… needs, and does not start the app outside of that network',
    (kind) => {
      const { fields, notes } = service(`network_mode: ${kind}:vpn`);
      expect(fields).toMatchObject({ running: false, networks: DEFAULTS.networks });
      expect(notes[0]).toMatch(
        /^left-out 4 network_mode has no counterpart, so the app has `running: false`/,
      );
    },
  );

  it.each<[string, string, string[]]>([
    ['image: web:1', '{external: true, name: proxy}', ['proxy']],
    ['networks:', '{external: true}', ['default']],
    ['network_mode: host', '{external: true, name: proxy}', ['host']],
    ['image: web:1', '{name: proxy}', DEFAULTS.networks],
  ])('%s with a default network %s needs, which is joined', (keys, network, networks) => {
    const { fields, notes } = service(
      keys === 'image: web:1' ? 'init: false' : keys,
      {},
      `networks: {default: ${network}}\n`,
    );
    expect(fields).toMatchObject({ networks });
    const app = notes.filter((note) => note.startsWith('check 2 '));
    expect(app).toEqual(
      /proxy|default/.test(networks.join())
        ? [`check 2 networks.default must exist on each device: docker network create ${networks}`]
        : [],
    );
  });

  it('profiles mean, and does not start the app', () => {
    const { fields, notes } = service('profiles: [debug]');
    expect(fields).toMatchObject({ running: false });
    expect(notes).toEqual([expect.stringMatching(/^check 4 profiles are for starts on demand/)]);
  });
});

describe('nothing is imported if', () => {
  it.each<[string, string]>([
    ['ports: [http]', '4 ports[0] must be a port such as "8080:80"; put it in quotes'],
    ['ports: ["70000:80"]', '4 ports[0] must have ports from 1 to 65535, or ranges of at most 1,000 ports'],
    ['ports: ["80-82:80-81"]', '4 ports[0] has two ranges of different lengths'],
    ['ports: 80', '4 ports must be a list'],
    ['environment: {A: [b]}', '4 environment.A must be a text'],
    [
      'environment: ["A=1", "PASSWORD: s3cret"]',
      '4 environment[1] has no `=` behind its name; write NAME=value',
    ],
    ['environment: ["PASSWORD:s3cret"]', '4 environment[0] has no `=` behind its name; write NAME=value'],
    [
      'environment: ["PASSWORD: czNjcmV0=="]',
      '4 environment[0] has no `=` behind its name; write NAME=value',
    ],
    [
      'command: echo "a',
      '4 command has a quote that is not closed, or a parenthesis; write it as a list of words',
    ],
    [
      'healthcheck: {test: x, interval: 30}',
      '4 healthcheck.interval must be a duration with a unit, such as 30s or 1m30s',
    ],
    ['mem_limit: lots', '4 mem_limit must be a size such as 512m or 1g'],
    ['mem_limit: 1k', '4 memory must be 6m or more'],
    [
      'volumes: [{type: tmpfs, target: /a, tmpfs: {size: big}}]',
      '4 volumes[0].tmpfs.size must be a size such as 512m or 1g',
    ],
    ['volumes:\n  - {type: tmpfs, target: a}\ntmpfs: /b', '5 volumes[0] must be'],
    ['volumes:\n  - {type: tmpfs, target: /a}\ntmpfs: b', '6 tmpfs[0] must be'],
    ['privileged: maybe', '4 privileged must be true or false'],
    [
      'volumes: ["C:\\\\a:/b"]',
      '4 volumes[0] must be "source:target" or "source:target:mode"; the target is an absolute path in the container, other than "/"',
    ],
    [
      'env_file: missing.env',
      '4 env_file[0] names a file that cannot be read; create it beside the Compose file',
    ],
    [
      'extends: {service: db}',
      '4 extends is not followed: write all of it into one file with `docker compose config > resolved.yaml`, and import that',
    ],
    ['image: "${NONE}"', '4 YAML duplicate key; keep only one'],
    ['user: ${UID:?who runs it}', '4 value needs the variable UID: who runs it'],
    ['user: "${UID"', '4 value has a variable without its closing brace; write "$$" for a dollar sign'],
    ['user: "$1"', '4 value has a "$" that begins no variable; write "$$" for a dollar sign'],
    [
      'restart: sometimes',
      '4 restart must be unless-stopped, always, on-failure, on-failure:N (at most N times) or "no"',
    ],
    ['security_opt: ["seccomp:profile.json"]', '4 security_opt[0] must be no-new-privileges:true'],
  ])('a service has %s', (keys, note) => {
    const { fields, notes } = service(keys);
    expect(fields).toBeUndefined();
    expect(notes.map((each) => each.slice(0, note.length))).toContain(note);
    expect(notes.join()).not.toMatch(/s3cret|czNj/);
  });

  it('a variable is missing, and all other errors are named with it', () => {
    const { notes } = read(
      'services:\n  a:\n    image: a:${TAG:?which one}\n    ports: [http]\n  _b:\n    build: .\n',
    );
    expect(lines(notes)).toEqual([
      '3 value needs the variable TAG: which one',
      '4 ports[0] must be a port such as "8080:80"; put it in quotes',
      expect.stringMatching('5 _b cannot be the name of an app'),
      expect.stringMatching('5 _b has no image'),
      expect.stringMatching('left-out 6 build'),
    ]);
  });

  const BOMB = `a: &a [${Array(9).fill('x').join(', ')}]\n${'abcdefgh'
    .split('')
    .map((name, index, all) =>
      index === 0
        ? ''
        : `${name}: &${name} [${Array(9)
            .fill(`*${all[index - 1]}`)
            .join(', ')}]\n`,
    )
    .join('')}`;
  it.each<[string, string, RegExp]>([
    ['there is no text', '', /^1 services are missing/],
    ['there are no services', 'name: a\n', /^1 services are missing/],
    ['services are empty', 'services: {}\n', /^1 services are missing/],
    ['services are a list', 'services: [web]\n', /^1 services are missing/],
    ['it is not YAML', 'services: [\n', /^\d YAML /],
    ['it is indented with tabs', 'services:\n\tweb: {}\n', /^2 YAML indent with spaces/],
    ['it has two documents', 'services: {a: {image: "b:1"}}\n---\nb: 1\n', /^2 YAML /],
    [
      'an alias has no anchor',
      'services: *none\n',
      /^1 YAML this alias has no anchor above it; write the value out$/,
    ],
    [
      'an anchor contains its alias',
      'services: &s\n  web: *s\n',
      /^2 YAML this alias stands for a value that contains it; write the value out$/,
    ],
    [
      'aliases stand for billions of values',
      `${BOMB}services: {web: {image: "a:1", command: *h}}\n`,
      /^1 YAML has more than 100000 values once its aliases are written out; use fewer aliases$/,
    ],
    [
      'a merge key has a text',
      'services: {web: {<<: text, image: "a:1"}}\n',
      /^1 YAML a merge key \(<<\) takes a map, or a list of maps$/,
    ],
    [
      'it is nested a thousand levels deep',
      `services: ${'['.repeat(1000)}\n`,
      /^1 YAML is nested too deeply/,
    ],
    ['it has a tag of Compose', 'services: {web: !reset null}\n', /^1 YAML remove this tag/],
    [
      'it includes files',
      'include: [a.yaml]\nservices: {web: {image: "a:1"}}\n',
      /^1 include is not followed: write all of it into one file/,
    ],
    [
      'a service has only a build',
      'services:\n  web: {build: .}\n',
      /^2 web has no image, and devices do not build one: push the image that `build` makes/,
    ],
    ['a service is a text', 'services:\n  web: nginx\n', /^2 web must be a map with an image$/],
    [
      'a service has no valid name',
      'services:\n  _web: {image: "a:1"}\n',
      /^2 _web cannot be the name of an app: a name starts with/,
    ],
    [
      'a variable without a value makes a bad image',
      'services:\n  web: {image: "a:$TAG"}\n',
      /^2 container_image must be an image reference/,
    ],
  ])('%s', (_, text, note) => {
    const { files, notes } = read(text);
    expect(files).toEqual([]);
    expect(lines(notes)).toContainEqual(expect.stringMatching(note));
  });
});

describe('variables', () => {
  const dotenv =
    'A=one\nEMPTY=\nC="${A} two"\nD=\'$A\'\nE=x # comment\nexport F: y\nG="a\nb"\nH="q\\"\\$A\\n"\n';
  it.each([
    ['$A', 'one'],
    ['${A}', 'one'],
    ['${A}-$A', 'one-one'],
    ['$$A and $${A}', '$A and ${A}'],
    ['${NONE:-b}', 'b'],
    ['${EMPTY:-b}', 'b'],
    ['${EMPTY-b}', ''],
    ['${NONE-${A}}', 'one'],
    ['${NONE:-${OTHER:-x}}', 'x'],
    ['${A:+set}', 'set'],
    ['${EMPTY:+set}', ''],
    ['${EMPTY+set}', 'set'],
    ['${A:?needed}', 'one'],
    ['$C', 'one two'],
    ['$D', '$A'],
    ['$E', 'x'],
    ['$F', 'y'],
    ['$G', 'a\nb'],
    ['$H', 'q"$A\n'],
    ['$SHELL_WINS', 'shell'],
  ])('%j become %j', (text, value) => {
    const { fields, notes } = service(`environment: {V: ${JSON.stringify(text)}}`, {
      dotenv: `${dotenv}SHELL_WINS=file\n`,
      environment: { SHELL_WINS: 'shell' },
    });
    expect(notes).toEqual([]);
    expect(fields).toMatchObject({ env_vars: { V: value } });
  });

  it('that are set nowhere are empty, and are named with their place', () => {
    const { fields, notes } = service('environment:\n  A: "[$NONE]"');
    expect(fields).toMatchObject({ env_vars: { A: '[]' } });
    expect(notes).toEqual([
      expect.stringMatching(/^check 5 \$NONE is set nowhere, so it is empty, as Compose makes it/),
    ]);
  });

  it.each<[string, string, Around]>([
    ['.env', 'init: false', { dotenv: 'A=1\nPASSWORD="a$bc"\n' }],
    ['a.env', 'env_file: a.env', { files: { '/srv/shop/a.env': 'A=1\nPASSWORD=a${bc}\n' } }],
  ])('that are set nowhere, in %s, are named with their place', (file, keys, around) => {
    const text = `services:\n  a:\n    image: a:1\n    restart: always\n    ${keys}\n`;
    const { notes } = read(text, around);
    expect(notes).toMatchObject([{ file, line: 2, code: 'check', key: 'PASSWORD' }]);
    expect(notes[0]?.message).toMatch(/^uses a variable that is set nowhere, so that part is empty/);
  });

  it('that are used are named with where they come from, and without their values', () => {
    const text =
      'services:\n  a: {image: "a:$TAG", environment: {B: $SECRET, C: $SECRET}}\n  b:\n    image: b:$TAG\n';
    const { variables } = read(text, { dotenv: '# first\nSECRET=hunter2', environment: { TAG: '1' } });
    expect(variables).toEqual([
      { name: 'TAG', foundIn: 'the environment', lines: [2, 4] },
      { name: 'SECRET', foundIn: '.env:2', lines: [2] },
    ]);
  });

  it('of env_file are taken in order, and environment wins', () => {
    const files = {
      '/srv/shop/a.env': 'A=1\nB=1\nC=1\n',
      '/srv/b.env': 'B=2\nC=2\nD=$C-$X\n',
      '/srv/shop/raw.env': "E='x' # y\n",
    };
    const { fields } = service(
      'env_file: [a.env, {path: ../b.env}, {path: none.env, required: false}, {path: raw.env, format: raw}]\nenvironment: {C: 3}',
      { files, dotenv: 'X=x' },
    );
    expect(fields).toMatchObject({ env_vars: { A: '1', B: '2', C: '3', D: '2-x', E: "'x' # y" } });
  });

  it('on a bad line of .env are an error of that line', () => {
    const { notes } = read('services: {a: {image: "a:1"}}', { dotenv: 'A=1\nwhat is this\n' });
    expect(notes.filter(({ key }) => key !== 'restart')).toEqual([
      {
        file: '.env',
        line: 2,
        column: 1,
        code: 'error',
        service: null,
        key: 'line',
        message: 'is neither NAME=value nor a comment',
      },
    ]);
  });
});

describe('anchors and merge keys', () => {
  it('give their values, of which those of the map itself win, then those of the first one merged', () => {
    const text = `x-a: &a {restart: "no", user: a, image: "a:1"}
x-b: &b {user: b, working_dir: /b}
services:
  one: {<<: [*a, *b], image: "one:1"}
  two:
    image: two:1
    <<: *b
    user: own
`;
    const { files, notes } = read(text);
    expect(lines(notes)).toEqual([]);
    expect(files.map((file) => file.text)).toEqual([
      'container_image: one:1\nuser: a\nworking_dir: /b\nrestart: "no"\n',
      'container_image: two:1\nuser: own\nworking_dir: /b\n',
      'apps:\n  - one\n  - two\n',
    ]);
  });
});

describe('keys of the top level', () => {
  it('that are unknown are named; version, x- and empty ones are not', () => {
    const { notes } = read('version: "3"\nx-a: 1\nservices: {a: {image: "a:1"}}\nvolume: {}\nnetworks:\n');
    expect(lines(notes)).toEqual([
      'left-out 4 volume is no key of Compose that is known here; did you mean volumes?',
    ]);
  });
});

describe('a key of a service with any value', () => {
  const values = [
    'null',
    'text',
    '5',
    '-1',
    'true',
    '""',
    '[]',
    '{}',
    '[[1]]',
    '[null]',
    '{a: [b]}',
    '{a: {b: c}}',
    '[{a: b}]',
  ];
  it.each([...Object.keys(KEYS), ...Object.keys(LEFT_OUT)])(
    'is read, or is an error with its line: %s',
    (key) => {
      for (const value of values) {
        const { files, notes } = read(`services:\n  app:\n    image: web:1\n    <<: {${key}: ${value}}\n`);
        expect(files.length > 0 || notes.some(({ code, line }) => code === 'error' && line >= 2), value).toBe(
          true,
        );
      }
    },
  );

  it.each([
    'environment: {constructor: a}',
    'environment: ["__proto__=a"]',
    'labels: {__proto__: a}',
    'ulimits: {constructor: 1}',
  ])('is an error if it has a name that no key may have: %s', (keys) => {
    expect(service(keys).fields).toBeUndefined();
  });
});
