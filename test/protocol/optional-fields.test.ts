import { describe, expect, it } from 'vitest';
import { parseObjectText } from '../../src/desired/parse.ts';
import { App } from '../../src/protocol/app.ts';
import { parseByteSize } from '../../src/protocol/fields/byte-size.ts';
import { restartPolicy } from '../../src/protocol/fields/restart.ts';
import { parseSecurityOption } from '../../src/protocol/fields/security.ts';
import { parseExtraHost } from '../../src/protocol/fields/surroundings.ts';
import { OPTIONAL_FIELDS } from '../../src/protocol/optional-fields.ts';
import { appOf, DEFAULTS } from '../support/fleet.ts';
import { LIKE_ABSENT, OPTIONAL_SAMPLES } from '../support/optional-fields.ts';

/** Parses the file of an app that has an image and these lines. */
function read(lines: string) {
  return parseObjectText('app', `container_image: web:1\n${lines}\n`, DEFAULTS);
}

/** `line N: message` of every problem. */
function problemsOf(lines: string): string[] {
  const parsed = read(lines);
  return parsed.ok ? [] : parsed.problems.map((each) => `line ${each.line}: ${each.message}`);
}

const samples = OPTIONAL_FIELDS.flatMap((field) =>
  OPTIONAL_SAMPLES[field].map((value) => [field, value] as const),
);

describe('the record of an app', () => {
  it('without optional fields is byte for byte as before there were any', () => {
    const json = JSON.stringify(appOf({ env_vars: { A: '1' } }));
    expect(json).toBe(
      '{"container_image":"web:1","starting_ports":[],"containers_per":{"server":1},"env_vars":{"A":"1"},"running":true,"volumes":[],"networks":["nebula","bridge"],"devices":[],"privileged":false,"rolling_restart":false}',
    );
  });

  it.each(LIKE_ABSENT)('does not have %s if it is %j', (field, value) => {
    const parsed = read(`${field}: ${JSON.stringify(value)}`);
    expect(parsed.ok && JSON.stringify(parsed.content)).toBe(JSON.stringify(appOf()));
  });

  it.each(samples)('has %s, behind all others, if it is %j', (field, value) => {
    const parsed = read(`${field}: ${JSON.stringify(value)}`);
    expect(parsed.ok && Object.entries(parsed.content)).toEqual([...Object.entries(appOf()), [field, value]]);
    expect(App.parse(parsed.ok && parsed.content)).toEqual(parsed.ok && parsed.content);
  });

  it('has restart: no, which YAML 1.2 reads as text, with and without quotes', () => {
    for (const text of ['restart: no', 'restart: "no"']) {
      const parsed = read(text);
      expect(parsed.ok && parsed.content).toMatchObject({ restart: 'no' });
    }
  });
});

const SIZE = 'must be a size with a unit, such as "512m" or "1.5g" (b, k, m, g)';
const RESTART = 'must be unless-stopped, always, on-failure, on-failure:N (at most N times) or "no"';
const TEST = 'must be a command: text for a shell, or a list such as';
const ULIMIT = 'must be a whole number, or {soft: 1024, hard: 2048} with soft not above hard; -1 is no limit';
const HOST = 'must be "name:address", such as "db:10.0.0.5", or "name:host-gateway"';

describe('a bad optional field', () => {
  it.each<[string, string]>([
    [
      'command: npm start',
      'line 2: command must be a list of the program and its arguments, such as ["node", "server.js"], not a string',
    ],
    ['command: [sleep, 5]', 'line 2: command[1] must be a string, not a number; write it in quotes'],
    ['entrypoint: null', 'line 2: entrypoint must be a list, not null (empty); for an empty one write []'],
    ['user: 1000', 'line 2: user must be a string, not a number; write it in quotes'],
    ['user: "a b"', 'line 2: user must be "user" or "user:group", each a name or a number'],
    ['working_dir: srv', 'line 2: working_dir must be an absolute path in the container'],
    ['labels: [a=b]', 'line 2: labels must be a map, not a list; write {NAME: "value"} in place of a list'],
    [
      'labels: {holdfast.app: web}',
      'line 2: labels.holdfast.app is a label by which workers find their containers; give it another name',
    ],
    [
      'labels: {orchestrator: nebula}',
      'line 2: labels.orchestrator is a label by which workers find their containers; give it another name',
    ],
    ['labels: {"": b}', 'line 2: labels. has a label without a name'],
    ['healthcheck: {interval: 5}', `line 2: healthcheck.test ${TEST}`],
    ['healthcheck: {test: []}', `line 2: healthcheck.test ${TEST}`],
    ['healthcheck: {test: ["CMD"]}', `line 2: healthcheck.test ${TEST}`],
    ['healthcheck: {test: ["curl", "x"]}', `line 2: healthcheck.test ${TEST}`],
    ['healthcheck: {test: [NONE, x]}', `line 2: healthcheck.test ${TEST}`],
    ['healthcheck: {test: " "}', `line 2: healthcheck.test ${TEST}`],
    ['healthcheck: {test: NONE}', 'line 2: healthcheck.test must be ["NONE"], as a list, to be no check'],
    [
      'healthcheck: {test: x, interval: 1m30s}',
      'line 2: healthcheck.interval must be a whole number of seconds without a unit, such as 90 for "1m30s"',
    ],
    [
      'healthcheck: {test: x, timeout: 0.5}',
      'line 2: healthcheck.timeout must be a whole number of seconds, such as 30',
    ],
    ['healthcheck: {test: x, timeout: 0}', 'line 2: healthcheck.timeout must be 1 second or more'],
    ['healthcheck: {test: x, disable: true}', 'healthcheck.disable is written as test: ["NONE"] here'],
    [
      'healthcheck: {test: x, start_interval: 5}',
      'line 2: healthcheck.start_interval is not a known field; known fields are test, interval, timeout, retries, start_period',
    ],
    ['cpus: "0.5"', 'line 2: cpus must be a number of processors such as 0.5; write it without quotes'],
    ['cpus: 0', 'line 2: cpus must be 0.01 or more'],
    ['memory: "512"', `line 2: memory ${SIZE}`],
    ['memory: 512 MiB', `line 2: memory ${SIZE}; write "512m"`],
    ['memory: 1m', 'line 2: memory must be 6m or more'],
    ['memory: 99999999999g', 'line 2: memory is too large'],
    ['mem_limit: 512m', 'line 2: mem_limit is called memory here'],
    ['shm_size: 0b', 'line 2: shm_size must be 1b or more'],
    ['read_only: yes', 'line 2: read_only must be true or false, not a string; write true'],
    [
      'tmpfs: [run]',
      'line 2: tmpfs[0] must be an absolute path in the container, other than "/", or "path:options" such as "/run:size=64m,mode=755"',
    ],
    ['tmpfs: ["/."]', 'line 2: tmpfs[0] must be an absolute path in the container, other than "/", or'],
    [
      'tmpfs: ["//..:size=1m"]',
      'line 2: tmpfs[0] must be an absolute path in the container, other than "/", or',
    ],
    ['tmpfs: ["/run/.."]', 'line 2: tmpfs[0] must be an absolute path in the container, other than "/", or'],
    [
      'tmpfs: ["/run:fast"]',
      'line 2: tmpfs[0] must be an absolute path in the container, other than "/", or "path:options" such as "/run:size=64m,mode=755"',
    ],
    [
      'cap_add: [net_admin]',
      'line 2: cap_add[0] must be ALL or the name of a capability of Linux, such as NET_ADMIN, in upper case',
    ],
    [
      'cap_drop: [EVERYTHING]',
      'line 2: cap_drop[0] must be ALL or the name of a capability of Linux, such as NET_ADMIN',
    ],
    [
      'security_opt: [seccomp:profile.json]',
      'line 2: security_opt[0] must be no-new-privileges:true, apparmor:PROFILE, label:disable, label:type:TYPE or seccomp:unconfined; write a profile itself, as JSON, in place of its path',
    ],
    [
      `security_opt: ['seccomp:{bad}']`,
      'line 2: security_opt[0] must be a profile of seccomp in JSON; this is none',
    ],
    ['ulimits: {nofile: many}', `line 2: ulimits.nofile ${ULIMIT}`],
    ['ulimits: {nofile: {soft: 5, hard: 4}}', `line 2: ulimits.nofile ${ULIMIT}`],
    ['ulimits: {nofile: {soft: -1, hard: 4}}', `line 2: ulimits.nofile ${ULIMIT}`],
    ['ulimits: {files: 1}', 'line 2: ulimits.files is not a known field; known fields are core, cpu,'],
    ['extra_hosts: [db]', `line 2: extra_hosts[0] ${HOST}`],
    ['extra_hosts: ["db:localhost"]', `line 2: extra_hosts[0] ${HOST}`],
    ['init: 1', 'line 2: init must be true or false, not a number'],
    ['stop_signal: SIGSTOPP', 'line 2: stop_signal must be a signal such as SIGTERM or SIGINT'],
    ['stop_signal: 9', 'line 2: stop_signal must be a string; write it in quotes'],
    ['stop_grace_period: 90000', 'line 2: stop_grace_period must be 86400 seconds (a day) or less'],
    [
      'stop_grace_period: 1m',
      'line 2: stop_grace_period must be a whole number of seconds without a unit, such as 90 for "1m30s"',
    ],
    ['restart: false', `line 2: restart ${RESTART}; write "no" in quotes`],
    ['restart: on-failure:0', `line 2: restart ${RESTART}`],
    ['logging: json-file', 'line 2: logging must be a map of fields, not a string'],
    [
      'logging: {driver: ""}',
      'line 2: logging.driver must be the name of a logging driver, such as json-file',
    ],
    [
      'logging: {driver: syslog, options: {a: 1}}',
      'line 2: logging.options.a must be a string, not a number; write it in quotes',
    ],
    ['pull_policy: never', 'line 2: pull_policy must be always or missing'],
  ])('%j is a problem that says where and what to write', (lines, message) => {
    expect(problemsOf(lines)).toEqual([expect.stringContaining(message)]);
  });
});

describe('a hint', () => {
  it.each<[string, string[]]>([
    ['memory: 512', [`line 2: memory ${SIZE}, not a number`]],
    [
      'healthcheck: {test: x, foo: 1, disable: true}',
      [
        'line 2: healthcheck.foo is not a known field; known fields are test, interval, timeout, retries, start_period',
        'line 2: healthcheck.disable is written as test: ["NONE"] here',
      ],
    ],
  ])('is for its own field alone, and leads to a value that is valid: %s', (lines, messages) => {
    expect(problemsOf(lines)).toEqual(messages);
  });
});

describe('a value of an optional field', () => {
  it.each([
    ['64b', 64],
    ['512k', 524_288],
    ['512m', 536_870_912],
    ['1.5g', 1_610_612_736],
    ['2GB', 2_147_483_648],
  ])('of %s is %d bytes', (size, bytes) => {
    expect(parseByteSize(size)).toBe(bytes);
  });

  it.each([
    [undefined, { when: 'always', most: null }],
    ['unless-stopped', { when: 'always', most: null }],
    ['always', { when: 'always', most: null }],
    ['on-failure', { when: 'failed', most: null }],
    ['on-failure:5', { when: 'failed', most: 5 }],
    ['no', { when: 'never', most: null }],
  ])('restart: %s is %o', (restart, policy) => {
    expect(restartPolicy(restart)).toEqual(policy);
  });

  it.each([
    ['db:10.0.0.5', { name: 'db', address: '10.0.0.5' }],
    ['db=10.0.0.5', { name: 'db', address: '10.0.0.5' }],
    ['v6:::1', { name: 'v6', address: '::1' }],
    ['v6=[fd00::1]', { name: 'v6', address: 'fd00::1' }],
  ])('extra_hosts %s is %o', (entry, host) => {
    expect(parseExtraHost(entry)).toEqual(host);
  });

  it.each([
    ['no-new-privileges', { key: 'no-new-privileges', value: 'true' }],
    ['seccomp:unconfined', { key: 'seccomp', value: 'unconfined' }],
    ['seccomp={"a":\n1}', { key: 'seccomp', value: '{"a":\n1}' }],
    ['label:type:web_t', { key: 'label', value: 'type:web_t' }],
  ])('security_opt %j is %o', (option, parts) => {
    expect(parseSecurityOption(option)).toEqual(parts);
  });
});
