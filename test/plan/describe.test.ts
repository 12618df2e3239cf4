import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedFields, describeStep, summarizeStep } from '../../src/plan/describe.ts';
import type { Step } from '../../src/plan/step.ts';
import type { App } from '../../src/protocol/app.ts';
import { printable } from '../../src/text/printable.ts';
import { appOf } from '../support/fleet.ts';

const DIGEST = 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';

function appStep(before: Partial<App> | null, after: Partial<App> | null, name = 'web'): Step {
  const content = (fields: Partial<App> | null) => (fields === null ? null : appOf(fields));
  return { kind: 'app', name, before: content(before), after: content(after), origin: null };
}

function groupStep(before: string[] | null, after: string[] | null, name = 'edge'): Step {
  const content = (apps: string[] | null) => (apps === null ? null : { apps });
  return { kind: 'device_group', name, before: content(before), after: content(after), origin: null };
}

function imageStep(before: string, after: string): Step {
  return appStep({ container_image: before }, { container_image: after });
}

it('changedFields returns the names of the fields that differ, in the order in which they are shown', () => {
  const before = appOf({ env_vars: { A: '1', B: '2' } });
  const after = appOf({ env_vars: { B: '2', A: '1' }, running: false, container_image: 'web:2' });
  expect(changedFields(before, after)).toEqual(['container_image', 'running']);
  expect(changedFields(before, before)).toEqual([]);
  expect(changedFields(appOf({ memory: '64m' }), appOf({ init: true }))).toEqual(['init', 'memory']);
  expect(changedFields({ apps: ['a', 'b'] }, { apps: ['b', 'a'] })).toEqual(['apps']);
});

describe('summarizeStep', () => {
  it.each<[string, Step, string]>([
    ['a new app', appStep(null, {}), 'app web: create'],
    ['a deleted app', appStep({}, null), 'app web: delete'],
    ['a new group', groupStep(null, ['a']), 'device group edge: create'],
    ['a deleted group', groupStep(['a'], null), 'device group edge: delete'],
    ['a new tag of an image', imageStep('web:1.0', 'web:1.1'), 'app web: container_image 1.0 -> 1.1'],
    [
      'a new tag of an image in a registry with a port',
      imageStep('r.example:5000/a/web:1', 'r.example:5000/a/web:2'),
      'app web: container_image 1 -> 2',
    ],
    [
      'a new registry port of an image without a tag',
      imageStep('r.example:5000/web', 'r.example:5001/web'),
      'app web: container_image r.example:5000/web -> r.example:5001/web',
    ],
    ['a tag on an image that had none', imageStep('web', 'web:2'), 'app web: container_image web -> web:2'],
    ['an image that loses its tag', imageStep('web:1', 'web'), 'app web: container_image web:1 -> web'],
    ['an image of another name', imageStep('web:1', 'shop:1'), 'app web: container_image web:1 -> shop:1'],
    [
      'a new digest, without the values that are too long',
      imageStep(`web@${DIGEST}`, `web@${DIGEST.slice(0, -1)}0`),
      'app web: container_image',
    ],
    [
      'a digest added to a tag',
      imageStep('web:1', 'web:1@sha256:00'),
      'app web: container_image web:1 -> web:1@sha256:00',
    ],
    [
      'control characters in an image, which are escaped',
      imageStep('web:1', 'web:\u001b[31m2\u009b\u202e'),
      'app web: container_image 1 -> "\\u001b[31m2\\u009b\\u202e"',
    ],
    ['a boolean field', appStep({}, { running: false }), 'app web: running true -> false'],
    [
      'several fields',
      appStep({}, { container_image: 'web:2', privileged: true }),
      'app web: container_image 1 -> 2, privileged false -> true',
    ],
    [
      'maps and lists, without their values',
      appStep({}, { env_vars: { PASSWORD: 'hunter2' }, networks: ['a'] }),
      'app web: env_vars, networks',
    ],
    [
      'three fields without values that are too long together',
      appStep({}, { container_image: 'a-rather-long-name-of-an-image:1', running: false, privileged: true }),
      'app web: container_image, running, privileged',
    ],
    [
      'more than three fields that are too long together, by their number',
      appStep({}, { container_image: 'shop:1', running: false, privileged: true, rolling_restart: true }),
      'app web: 4 fields',
    ],
    ['apps that join a group', groupStep(['a'], ['b', 'a', 'c']), 'device group edge: add b, c'],
    ['apps that leave a group', groupStep(['a', 'b'], ['b']), 'device group edge: remove a'],
    [
      'apps that join and leave a group',
      groupStep(['a', 'b'], ['b', 'c']),
      'device group edge: add c; remove a',
    ],
    [
      'a new order of the apps of a group',
      groupStep(['a', 'b'], ['b', 'a']),
      'device group edge: reorder apps',
    ],
    [
      'a group with too many new apps to name',
      groupStep(
        [],
        Array.from({ length: 40 }, (_, i) => `app${i}`),
      ),
      'device group edge: apps',
    ],
    [
      'an object whose name is too long, with a shortened name',
      groupStep(['a'], null, 'g'.repeat(128)),
      `device group ${'g'.repeat(50)}…: delete`,
    ],
    [
      'fields by their number if the name leaves no space for them',
      appStep({}, { starting_ports: [1], env_vars: { A: '1' }, rolling_restart: true }, 'a'.repeat(60)),
      `app ${'a'.repeat(57)}…: 3 fields`,
    ],
    [
      'a change that just fits into 72 characters',
      appStep({}, { running: false }, 'a'.repeat(45)),
      `app ${'a'.repeat(45)}: running true -> false`,
    ],
    [
      'the only changed field, after a shortened name',
      appStep({}, { env_vars: { A: '1' } }, 'a'.repeat(128)),
      `app ${'a'.repeat(57)}…: env_vars`,
    ],
  ])('summarizes %s', (_name, step, expected) => {
    expect(summarizeStep(step)).toBe(expected);
    expect(expected.length).toBeLessThanOrEqual(72);
  });

  it('returns one line of at most 72 characters without values of env_vars for any change of an app', () => {
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
    const fields = fc.record(
      {
        container_image: fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
        env_vars: fc.dictionary(fc.constant('KEY'), fc.stringMatching(/^secret[0-9]{5}$/)),
        running: fc.boolean(),
        volumes: fc.array(fc.constant('/a:/b')),
        privileged: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fields, fields, name, (before, after, appName) => {
        const subject = summarizeStep(appStep(before, after, appName));
        expect(subject.length).toBeLessThanOrEqual(72);
        expect(subject).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]|secret\d/u);
      }),
    );
  });
});

/** The lines of a step as a terminal shows them, without colour. */
function linesOf(step: Step): string[] {
  return describeStep(step).map(({ sign, indent, text }) => `${sign}${'  '.repeat(indent)}${text}`);
}

describe('describeStep', () => {
  it.each<[string, Step, string[]]>([
    [
      'a new app without empty fields',
      appStep(null, { env_vars: { A: '1' }, starting_ports: [80, { '8080': '80' }] }),
      [
        '+  container_image: web:1',
        '+  starting_ports:',
        '+    - 80',
        '+    - {"8080":"80"}',
        '+  containers_per:',
        '+    server: 1',
        '+  env_vars:',
        '+    A: "1"',
        '+  running: true',
        '+  networks:',
        '+    - nebula',
        '+    - bridge',
        '+  privileged: false',
        '+  rolling_restart: false',
      ],
    ],
    [
      'optional fields that come, change and go',
      appStep(
        { memory: '64m', healthcheck: { test: 'true', interval: 5 }, restart: 'no', init: true },
        {
          memory: '128m',
          healthcheck: { test: ['CMD', 'true'], interval: 5 },
          restart: 'always',
          ulimits: { nofile: { soft: 1, hard: 2 } },
        },
      ),
      [
        '   healthcheck:',
        '-    test: "true"',
        '+    test:',
        '+      - CMD',
        '+      - "true"',
        '-  memory: 64m',
        '+  memory: 128m',
        '-  init: true',
        '-  restart: "no"',
        '+  ulimits:',
        '+    nofile: {"soft":1,"hard":2}',
      ],
    ],
    [
      'a deleted app',
      appStep({ env_vars: { A: '1' } }, null),
      [
        '-  container_image: web:1',
        '-  containers_per:',
        '-    server: 1',
        '-  env_vars:',
        '-    A: "1"',
        '-  running: true',
        '-  networks:',
        '-    - nebula',
        '-    - bridge',
        '-  privileged: false',
        '-  rolling_restart: false',
      ],
    ],
    ['a deleted group', groupStep(['a', 'b'], null), ['-  apps:', '-    - a', '-    - b']],
    ['no lines for a new group without apps', groupStep(null, []), []],
    ['a changed scalar', appStep({}, { running: false }), ['-  running: true', '+  running: false']],
    [
      'changed entries of a map',
      appStep({ env_vars: { A: '1', B: '2', C: '3' } }, { env_vars: { B: 'two words', C: '3', D: '' } }),
      ['   env_vars:', '-    A: "1"', '-    B: "2"', '+    B: two words', '+    D: ""'],
    ],
    [
      'changed items of a list',
      appStep({ volumes: ['/a:/a', '/b:/b'] }, { volumes: ['/b:/b', '/c:/c:ro'] }),
      ['   volumes:', '-    - /a:/a', '+    - /c:/c:ro'],
    ],
    [
      'a new order of a list',
      groupStep(['a', 'b'], ['b', 'a']),
      ['   apps:', '-    - a', '-    - b', '+    - b', '+    - a'],
    ],
    [
      'a new order of a list together with a new item',
      groupStep(['a', 'b'], ['b', 'a', 'c']),
      ['   apps:', '-    - a', '-    - b', '+    - b', '+    - a', '+    - c'],
    ],
    [
      'replaced items of a list whose other items stay in order',
      groupStep(['a', 'b', 'c'], ['x', 'a', 'c']),
      ['   apps:', '-    - b', '+    - x'],
    ],
    [
      'a list that gets the same item twice',
      appStep({ networks: ['net'] }, { networks: ['net', 'net'] }),
      ['   networks:', '-    - net', '+    - net', '+    - net'],
    ],
    ['a list that becomes empty', groupStep(['a'], []), ['   apps:', '-    - a']],
    [
      'quotes around text that could be misread or contains control characters',
      appStep(
        {},
        { env_vars: { A: ' x', B: 'a\nb', C: '\u001b[2J\u009b', D: 'a: b', E: '\u202eabc', F: 'true' } },
      ),
      [
        '   env_vars:',
        '+    A: " x"',
        '+    B: "a\\nb"',
        '+    C: "\\u001b[2J\\u009b"',
        '+    D: "a: b"',
        '+    E: "\\u202eabc"',
        '+    F: "true"',
      ],
    ],
  ])('shows %s', (_name, step, expected) => {
    expect(linesOf(step)).toEqual(expected);
  });
});

describe('printable', () => {
  it.each([
    ['leaves plain text unchanged', 'Grüße, 世界 😀', 'Grüße, 世界 😀'],
    [
      'escapes control characters',
      'a\u0000\t\n\u001b\u007f\u0085',
      'a\\u0000\\u0009\\u000a\\u001b\\u007f\\u0085',
    ],
    [
      'escapes invisible characters',
      '\u200b\u200d\u00ad\ufeff\u{e0041}',
      '\\u200b\\u200d\\u00ad\\ufeff\\udb40\\udc41',
    ],
    [
      'escapes characters that change the direction of text or break a line',
      '\u202e\u2066\u061c\u2028\u2029',
      '\\u202e\\u2066\\u061c\\u2028\\u2029',
    ],
    [
      'escapes ## and #[, which a workflow could take for a command',
      '# a ##b #[c] ##[d]##vso[e]',
      '# a ##b #[c] \\u0023#[d]\\u0023#vso[e]',
    ],
  ])('%s', (_name, text, expected) => {
    expect(printable(text)).toBe(expected);
  });
});
