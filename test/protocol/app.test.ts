import { describe, expect, it } from 'vitest';
import { completeApp, readingRulesId } from '../../src/desired/app.ts';
import { parseObjectText } from '../../src/desired/parse.ts';
import { App, AppChange, AppFields, appDefaults } from '../../src/protocol/app.ts';
import { appOf, DEFAULTS } from '../support/fleet.ts';

/** Parses the file of an app that has an image and these lines. */
function read(lines: string) {
  return parseObjectText('app', `container_image: web:1\n${lines}\n`, DEFAULTS);
}

/** `line:column code message` of every problem. */
function problemsOf(text: string): string[] {
  const parsed = parseObjectText('app', text, DEFAULTS);
  return parsed.ok
    ? []
    : parsed.problems.map((each) => `${each.line}:${each.column} ${each.code} ${each.message}`);
}

const PAIR_HINT = 'put each of the two ports in its own quotes';
const PORT_RULE = 'must be a port from 1 to 65535, or one pair of ports in quotes such as {"8080": "80"}';
const MOUNT_RULE = 'must be "source:target" or "source:target:mode"';
const IMAGE_RULE = 'must be an image reference such as "nginx:1.27" or "registry.example:5000/team/web:2.0"';
const DEVICE_RULE = 'must be "host:container" or "host:container:permissions" (of r, w, m)';
const TEXT_RULE = 'must be Unicode text without NUL characters';

describe('reading an app', () => {
  it.each<[string, Partial<App>]>([
    ['starting_ports: []', { starting_ports: [] }],
    ['starting_ports: [1, 65535]', { starting_ports: [1, 65535] }],
    ['starting_ports: [0x50, 80.0]', { starting_ports: [80, 80] }],
    [
      'starting_ports: [{"8080": "80"}, "53": "65535"]',
      { starting_ports: [{ '8080': '80' }, { '53': '65535' }] },
    ],
    ['containers_per: {server: 1}', { containers_per: { server: 1 } }],
    [
      'containers_per: {instance: 2, memory: 3, mem: 4}',
      { containers_per: { instance: 2, memory: 3, mem: 4 } },
    ],
    ['containers_per: {cpu: 0.5}', { containers_per: { cpu: 0.5 } }],
    ['containers_per: {cpu: 2}', { containers_per: { cpu: 2 } }],
    ['env_vars: {}', { env_vars: {} }],
    [`env_vars: {${'A'.repeat(255)}: c}`, { env_vars: { ['A'.repeat(255)]: 'c' } }],
    [
      'env_vars: {A: "1", b.c-d: "", "with space": " x "}',
      { env_vars: { A: '1', 'b.c-d': '', 'with space': ' x ' } },
    ],
    ['env_vars: {2024: "a", true: b, null: c}', { env_vars: { '2024': 'a', true: 'b', null: 'c' } }],
    [
      'env_vars: {DAY: 2024-01-31, NO: no, OCTAL: 0o}',
      { env_vars: { DAY: '2024-01-31', NO: 'no', OCTAL: '0o' } },
    ],
    ['running: false', { running: false }],
    ['volumes: [/a:/b, "c:/d:ro"]', { volumes: ['/a:/b', 'c:/d:ro'] }],
    ['networks: []', { networks: [] }],
    ['networks: [fleet, fleet]', { networks: ['fleet', 'fleet'] }],
    ['devices: [/dev/a:/dev/b, /dev/a:/dev/b:rwm]', { devices: ['/dev/a:/dev/b', '/dev/a:/dev/b:rwm'] }],
    ['privileged: true', { privileged: true }],
    ['rolling_restart: true', { rolling_restart: true }],
  ])('accepts %s', (lines, fields) => {
    expect(read(lines)).toEqual({ ok: true, content: appOf(fields), memberPositions: [] });
  });

  it.each<[string, string[]]>([
    ['container_image:', ['1:1 field-invalid container_image must be a string, not null (empty)']],
    ['container_image: ""', [`1:1 field-invalid container_image ${IMAGE_RULE}`]],
    ['container_image: a b', [`1:1 field-invalid container_image ${IMAGE_RULE}, without spaces`]],
    [
      'container_image: 1.10',
      ['1:1 field-invalid container_image must be a string, not a number; write it in quotes'],
    ],
    ['container_image: "a\\0"', [`1:1 field-invalid container_image ${IMAGE_RULE}`]],
    ['container_image: "a\\ud800"', [`1:1 field-invalid container_image ${IMAGE_RULE}`]],
    ['running: true', ['1:1 field-missing container_image is required']],
    [
      'docker_image: a',
      [
        '1:1 field-missing container_image is required',
        '1:1 field-unknown docker_image is called container_image here',
      ],
    ],
  ])('refuses %s', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  it.each<[string, string[]]>([
    ['starting_ports: 80', ['2:1 field-invalid starting_ports must be a list, not a number']],
    ['starting_ports: [0]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}`]],
    ['starting_ports: [80, 65536]', [`2:22 field-invalid starting_ports[1] ${PORT_RULE}`]],
    ['starting_ports: [1.5]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}`]],
    [
      'starting_ports: ["80"]',
      [`2:18 field-invalid starting_ports[0] ${PORT_RULE}; write a single port without quotes`],
    ],
    ['starting_ports: [8080:80]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}; ${PAIR_HINT}`]],
    ['starting_ports: [{8080: 80}]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}; ${PAIR_HINT}`]],
    ['starting_ports: [{"080": "80"}]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}`]],
    ['starting_ports: [{}]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}`]],
    ['starting_ports: [{"1": "1", "2": "2"}]', [`2:18 field-invalid starting_ports[0] ${PORT_RULE}`]],
    [
      'starting_ports:\n  -\n  - x',
      [
        `3:4 field-invalid starting_ports[0] ${PORT_RULE}`,
        `4:5 field-invalid starting_ports[1] ${PORT_RULE}`,
      ],
    ],
    [
      'containers_per: {}',
      ['2:1 field-invalid containers_per needs at least one of server, instance, cpu, memory, mem'],
    ],
    [
      'containers_per: {gpu: 1}',
      [
        '2:18 field-unknown containers_per.gpu is not a known field; known fields are server, instance, cpu, memory, mem',
        '2:1 field-invalid containers_per needs at least one of server, instance, cpu, memory, mem',
      ],
    ],
    ['containers_per: {server: 0}', ['2:18 field-invalid containers_per.server must be 1 or more']],
    ['containers_per: {server: -1}', ['2:18 field-invalid containers_per.server must be 1 or more']],
    ['containers_per: []', ['2:1 field-invalid containers_per must be a map such as {server: 2}']],
    [
      'containers_per: {mem: 1.5}',
      ['2:18 field-invalid containers_per.mem must be a whole number of 1 or more'],
    ],
    [
      'containers_per: {memory: "1"}',
      [
        '2:18 field-invalid containers_per.memory must be a whole number of 1 or more; write it without quotes',
      ],
    ],
    ['containers_per: {cpu: 0}', ['2:18 field-invalid containers_per.cpu must be above 0']],
    ['containers_per: {cpu: -0.5}', ['2:18 field-invalid containers_per.cpu must be above 0']],
    ['containers_per: {cpu: .inf}', ['2:18 field-invalid containers_per.cpu must be a number above 0']],
    ['containers_per: {cpu: .nan}', ['2:18 field-invalid containers_per.cpu must be a number above 0']],
    ['containers_per: 2', ['2:1 field-invalid containers_per must be a map such as {server: 2}']],
    [
      'env_vars: [A=1]',
      ['2:1 field-invalid env_vars must be a map, not a list; write {NAME: "value"} in place of a list'],
    ],
    [
      'env_vars:\n  A: 1',
      ['3:3 field-invalid env_vars.A must be a string, not a number; write it in quotes'],
    ],
    [
      'env_vars:\n  A: yes\n  B: true',
      ['4:3 field-invalid env_vars.B must be a string, not true or false; write it in quotes'],
    ],
    [
      'env_vars: {A: }',
      ['2:12 field-invalid env_vars.A must be a string, not null (empty); for an empty one write ""'],
    ],
    ['env_vars: {A: {B: c}}', ['2:12 field-invalid env_vars.A must be a string, not a map of fields']],
    [
      'env_vars: {"A=B": c}',
      [
        '2:12 field-invalid env_vars.A=B is not a valid variable name, which is not empty and contains no "="',
      ],
    ],
    [
      'env_vars: {"": c}',
      ['2:12 field-invalid env_vars. is not a valid variable name, which is not empty and contains no "="'],
    ],
    [
      `env_vars: {${'A'.repeat(256)}: c}`,
      [`2:12 field-invalid env_vars.${'A'.repeat(256)} has a name of more than 255 characters`],
    ],
    ['env_vars: {"\\ud800": c}', [`2:12 field-invalid env_vars.\ud800 ${TEXT_RULE}`]],
    ['env_vars: {A: "\\udc00"}', [`2:12 field-invalid env_vars.A ${TEXT_RULE}`]],
    [
      'running: "true"',
      ['2:1 field-invalid running must be true or false, not a string; write true without quotes'],
    ],
    ['running: yes', ['2:1 field-invalid running must be true or false, not a string; write true']],
    ['running:', ['2:1 field-invalid running must be true or false, not null (empty)']],
    ['volumes: [/a]', [`2:11 field-invalid volumes[0] ${MOUNT_RULE}`]],
    [
      'volumes: ["a:/b:rw:d", "/b", "a"]',
      [
        `2:11 field-invalid volumes[0] ${MOUNT_RULE}`,
        `2:24 field-invalid volumes[1] ${MOUNT_RULE}`,
        `2:30 field-invalid volumes[2] ${MOUNT_RULE}`,
      ],
    ],
    ['networks: fleet', ['2:1 field-invalid networks must be a list, not a string']],
    ['networks: [""]', ['2:12 field-invalid networks[0] must not be empty']],
    ['networks: [1]', ['2:12 field-invalid networks[0] must be a string, not a number; write it in quotes']],
    ['devices: [/dev/a]', [`2:11 field-invalid devices[0] ${DEVICE_RULE}`]],
    ['devices: ["/dev/a:/dev/b:x"]', [`2:11 field-invalid devices[0] ${DEVICE_RULE}`]],
    ['privileged: 1', ['2:1 field-invalid privileged must be true or false, not a number']],
    ['rolling_restart: []', ['2:1 field-invalid rolling_restart must be true or false, not a list']],
    ['hostname: x', ['2:1 field-unknown hostname has no counterpart here; see docs/from-compose.md']],
  ])('refuses %s', (lines, problems) => {
    expect(problemsOf(`container_image: web:1\n${lines}`)).toEqual(problems);
  });

  it('reports all problems of a file at once', () => {
    const text = 'running: 1\nports: []\nvolumes: [x]\n';
    expect(problemsOf(text).map((problem) => problem.split(' ')[0])).toEqual(['1:1', '1:1', '3:11', '2:1']);
  });
});

describe('completeApp', () => {
  it('fills in the defaults, in the order in which the API shows the fields', () => {
    const app = completeApp({ container_image: 'web' }, appDefaults(['nebula', 'bridge']));
    expect(JSON.stringify(app)).toBe(
      '{"container_image":"web","starting_ports":[],"containers_per":{"server":1},"env_vars":{},"running":true,' +
        '"volumes":[],"networks":["nebula","bridge"],"devices":[],"privileged":false,"rolling_restart":false}',
    );
    expect(App.parse(app)).toEqual(app);
  });

  it('keeps given values, even if they are false or empty', () => {
    const fields = { container_image: 'web', running: false, networks: [] };
    expect(completeApp(fields, DEFAULTS)).toMatchObject(fields);
  });
});

describe('readingRulesId', () => {
  it('is equal for equal defaults and different for different ones', () => {
    expect(readingRulesId(appDefaults(['a']))).toBe(readingRulesId(appDefaults(['a'])));
    expect(readingRulesId(appDefaults(['a']))).not.toBe(readingRulesId(appDefaults(['b'])));
  });
});

describe('schemas of app fields', () => {
  it('require the image in a file but no field in a change, and refuse unknown fields', () => {
    expect(AppChange.safeParse({}).success).toBe(true);
    expect(AppFields.safeParse({}).success).toBe(false);
    expect(AppChange.safeParse({ app_name: 'a' }).success).toBe(false);
    expect(AppFields.safeParse({ container_image: 'a', _id: 'x' }).success).toBe(false);
  });
});
