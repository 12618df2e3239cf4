import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { App } from '../../src/desired/app.ts';
import { changedFields, describeStep, summarizeStep } from '../../src/plan/describe.ts';
import { printable } from '../../src/plan/printable.ts';
import type { Step } from '../../src/plan/step.ts';
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

it('changedFields names the fields that differ, in the order in which they are shown', () => {
  const before = appOf({ env_vars: { A: '1', B: '2' } });
  const after = appOf({ env_vars: { B: '2', A: '1' }, running: false, container_image: 'web:2' });
  expect(changedFields(before, after)).toEqual(['container_image', 'running']);
  expect(changedFields(before, before)).toEqual([]);
  expect(changedFields({ apps: ['a', 'b'] }, { apps: ['b', 'a'] })).toEqual(['apps']);
});

describe('summarizeStep', () => {
  it.each<[string, Step, string]>([
    ['a new app', appStep(null, {}), 'app web: create'],
    ['a deleted app', appStep({}, null), 'app web: delete'],
    ['a new group', groupStep(null, ['a']), 'device group edge: create'],
    ['a deleted group', groupStep(['a'], null), 'device group edge: delete'],
    ['a tag', imageStep('web:1.0', 'web:1.1'), 'app web: container_image 1.0 -> 1.1'],
    [
      'a tag behind a port',
      imageStep('r.example:5000/a/web:1', 'r.example:5000/a/web:2'),
      'app web: container_image 1 -> 2',
    ],
    [
      'a port and no tag',
      imageStep('r.example:5000/web', 'r.example:5001/web'),
      'app web: container_image r.example:5000/web -> r.example:5001/web',
    ],
    ['a first tag', imageStep('web', 'web:2'), 'app web: container_image web -> web:2'],
    ['a tag that goes', imageStep('web:1', 'web'), 'app web: container_image web:1 -> web'],
    ['another image', imageStep('web:1', 'shop:1'), 'app web: container_image web:1 -> shop:1'],
    [
      'digests, which are too long',
      imageStep(`web@${DIGEST}`, `web@${DIGEST.slice(0, -1)}0`),
      'app web: container_image',
    ],
    [
      'a digest after a tag',
      imageStep('web:1', 'web:1@sha256:00'),
      'app web: container_image web:1 -> web:1@sha256:00',
    ],
    [
      'control characters',
      imageStep('web:1', 'web:\u001b[31m2\u009b\u202e'),
      'app web: container_image 1 -> "\\u001b[31m2\\u009b\\u202e"',
    ],
    ['a switch', appStep({}, { running: false }), 'app web: running true -> false'],
    [
      'several fields',
      appStep({}, { container_image: 'web:2', privileged: true }),
      'app web: container_image 1 -> 2, privileged false -> true',
    ],
    [
      'values of maps and lists are left out',
      appStep({}, { env_vars: { PASSWORD: 'hunter2' }, networks: ['a'] }),
      'app web: env_vars, networks',
    ],
    [
      'three fields that are too long with their values',
      appStep({}, { container_image: 'a-rather-long-name-of-an-image:1', running: false, privileged: true }),
      'app web: container_image, running, privileged',
    ],
    [
      'more than three fields that are too long',
      appStep({}, { container_image: 'shop:1', running: false, privileged: true, rolling_restart: true }),
      'app web: 4 fields',
    ],
    ['members that join', groupStep(['a'], ['b', 'a', 'c']), 'device group edge: add b, c'],
    ['members that leave', groupStep(['a', 'b'], ['b']), 'device group edge: remove a'],
    ['members that join and leave', groupStep(['a', 'b'], ['b', 'c']), 'device group edge: add c; remove a'],
    ['another order', groupStep(['a', 'b'], ['b', 'a']), 'device group edge: reorder apps'],
    [
      'too many members',
      groupStep(
        [],
        Array.from({ length: 40 }, (_, i) => `app${i}`),
      ),
      'device group edge: apps',
    ],
    [
      'a name that is too long',
      groupStep(['a'], null, 'g'.repeat(128)),
      `device group ${'g'.repeat(50)}…: delete`,
    ],
    [
      'a name that is too long for the fields',
      appStep({}, { starting_ports: [1], env_vars: { A: '1' }, rolling_restart: true }, 'a'.repeat(60)),
      `app ${'a'.repeat(57)}…: 3 fields`,
    ],
    [
      'a name that just fits',
      appStep({}, { running: false }, 'a'.repeat(45)),
      `app ${'a'.repeat(45)}: running true -> false`,
    ],
    [
      'a name that is too long for the one field',
      appStep({}, { env_vars: { A: '1' } }, 'a'.repeat(128)),
      `app ${'a'.repeat(57)}…: env_vars`,
    ],
  ])('%s', (_name, step, expected) => {
    expect(summarizeStep(step)).toBe(expected);
    expect(expected.length).toBeLessThanOrEqual(72);
  });

  it('is one line of at most 72 characters without any value of env_vars, whatever changes', () => {
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
        expect(subject).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]|secret\d/u);
      }),
    );
  });
});

/** Lines of a plan as they are shown, without colour. */
function linesOf(step: Step): string[] {
  return describeStep(step).map(({ mark, indent, text }) => `${mark}${'  '.repeat(indent)}${text}`);
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
        '+    A: 1',
        '+  running: true',
        '+  networks:',
        '+    - nebula',
        '+    - bridge',
        '+  privileged: false',
        '+  rolling_restart: false',
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
        '-    A: 1',
        '-  running: true',
        '-  networks:',
        '-    - nebula',
        '-    - bridge',
        '-  privileged: false',
        '-  rolling_restart: false',
      ],
    ],
    ['a deleted group', groupStep(['a', 'b'], null), ['-  apps:', '-    - a', '-    - b']],
    ['a new group without apps', groupStep(null, []), []],
    ['a changed scalar', appStep({}, { running: false }), ['-  running: true', '+  running: false']],
    [
      'changed entries of a map',
      appStep({ env_vars: { A: '1', B: '2', C: '3' } }, { env_vars: { B: 'two words', C: '3', D: '' } }),
      ['   env_vars:', '-    A: 1', '-    B: 2', '+    B: two words', '+    D: ""'],
    ],
    [
      'changed items of a list',
      appStep({ volumes: ['/a:/a', '/b:/b'] }, { volumes: ['/b:/b', '/c:/c:ro'] }),
      ['   volumes:', '-    - /a:/a', '+    - /c:/c:ro'],
    ],
    [
      'another order of a list',
      groupStep(['a', 'b'], ['b', 'a']),
      ['   apps:', '-    - a', '-    - b', '+    - b', '+    - a'],
    ],
    [
      'another order of a list, beside an item that is new',
      groupStep(['a', 'b'], ['b', 'a', 'c']),
      ['   apps:', '-    - a', '-    - b', '+    - b', '+    - a', '+    - c'],
    ],
    [
      'items that are replaced, among others that stay in order',
      groupStep(['a', 'b', 'c'], ['x', 'a', 'c']),
      ['   apps:', '-    - b', '+    - x'],
    ],
    [
      'a list in which something is twice',
      appStep({ networks: ['n'] }, { networks: ['n', 'n'] }),
      ['   networks:', '-    - n', '+    - n', '+    - n'],
    ],
    ['a list that is empty afterwards', groupStep(['a'], []), ['   apps:', '-    - a']],
    [
      'text that could be misread, or that moves a cursor',
      appStep(
        {},
        { env_vars: { A: ' x', B: 'a\nb', C: '\u001b[2J\u009b', D: 'a: b', E: '\u202eabc', F: 'true' } },
      ),
      [
        '   env_vars:',
        '+    A: " x"',
        '+    B: "a\\nb"',
        '+    C: "\\u001b[2J\\u009b"',
        '+    D: a: b',
        '+    E: "\\u202eabc"',
        '+    F: true',
      ],
    ],
  ])('%s', (_name, step, expected) => {
    expect(linesOf(step)).toEqual(expected);
  });
});

describe('printable', () => {
  it.each([
    ['plain text', 'Grüße, 世界 😀', 'Grüße, 世界 😀'],
    ['control characters', 'a\u0000\t\n\u001b\u007f\u0085', 'a\\u0000\\u0009\\u000a\\u001b\\u007f\\u0085'],
    [
      'what turns the direction or breaks a line',
      '\u202e\u2066\u061c\u2028\u2029',
      '\\u202e\\u2066\\u061c\\u2028\\u2029',
    ],
    [
      'what a workflow takes for a command',
      '# a ##b #[c] ##[d]##vso[e]',
      '# a ##b #[c] \\u0023#[d]\\u0023#vso[e]',
    ],
  ])('%s', (_name, text, expected) => {
    expect(printable(text)).toBe(expected);
  });
});
