import { describe, expect, it } from 'vitest';
import { parseObject } from '../../src/desired/parse.ts';
import { APP_FIELDS, appDefaults } from '../../src/protocol/app.ts';
import type { Kind } from '../../src/protocol/name.ts';

const DEFAULTS = appDefaults(['nebula', 'bridge']);

/** The problems of a text, one per line. */
function problemsOf(text: string, kind: Kind = 'app'): string {
  const parsed = parseObject(kind, Buffer.from(text), DEFAULTS);
  if (parsed.ok) return '';
  return parsed.problems.map(({ line, column, message }) => `${line}:${column} ${message}`).join('\n');
}

/** The problems of an app with these lines below its image. */
function problemsOfLines(lines: string): string {
  return problemsOf(`container_image: a:1\n${lines}`);
}

/** The fields that the message of an unknown one names. */
const FIRST_FIELDS = `${APP_FIELDS.slice(0, 8).join(', ')} and ${APP_FIELDS.length - 8} more (docs/desired-state.md)`;

describe('a mistake in an app is reported with its position and a correction', () => {
  it.each<[string, string, string]>([
    [
      'a misspelt field',
      'continer_image: a',
      '2:1 continer_image is not a known field; did you mean container_image?',
    ],
    ['a missing s', 'env_var: {}', '2:1 env_var is not a known field; did you mean env_vars?'],
    ['upper case', 'Env_Vars: {}', '2:1 Env_Vars is not a known field; did you mean env_vars?'],
    [
      'hyphens',
      'starting-ports: []',
      '2:1 starting-ports is not a known field; did you mean starting_ports?',
    ],
    [
      'a missing underscore',
      'rollingrestart: true',
      '2:1 rollingrestart is not a known field; did you mean rolling_restart?',
    ],
    [
      'an invisible character',
      '\u00a0running: true',
      '2:1 \u00a0running is not a known field; did you mean running?',
    ],
    ['image, as Docker Compose calls it', 'image: a', '2:1 image is called container_image here'],
    ['ports, as Docker Compose calls them', 'ports: [80]', '2:1 ports is called starting_ports here'],
    ['image in upper case', 'IMAGE: a', '2:1 IMAGE is called container_image here'],
    ['environment, as Docker Compose calls it', 'environment: {}', '2:1 environment is called env_vars here'],
    [
      'a word that resembles a field by chance',
      'services: {}',
      `2:1 services is not a known field; known fields are ${FIRST_FIELDS}`,
    ],
    [
      'a record of the API',
      'app_id: 5',
      '2:1 app_id does not belong in a file: an app is named by its file name, and the manager assigns ids; remove it',
    ],
    ['off', 'privileged: off', '2:1 privileged must be true or false, not a string; write false'],
    ['a word that is not a boolean', 'running: maybe', '2:1 running must be true or false, not a string'],
    [
      'a misspelt field of a nested map',
      'containers_per: {server: 1, cpus: 2}',
      '2:29 containers_per.cpus is not a known field; known fields are server, instance, cpu, memory, mem',
    ],
    [
      'a list without items',
      'volumes:\n  # - a:b',
      '2:1 volumes must be a list, not null (empty); for an empty one write []',
    ],
    [
      'a map without entries',
      'env_vars:\n  # A: b',
      '2:1 env_vars must be a map, not null (empty); for an empty one write {}',
    ],
    [
      'a map whose lines are not indented',
      'env_vars:\nA: "1"\nB: "2"\nrunning: true',
      '2:1 env_vars has no value, since the lines below it are not indented; put two spaces before each',
    ],
    [
      'another map whose lines are not indented',
      'containers_per:\nserver: 2',
      '2:1 containers_per has no value, since the lines below it are not indented; put two spaces before each',
    ],
    [
      'a map without a value above other fields',
      'env_vars:\nrunning: true\nX: 1',
      `2:1 env_vars must be a map, not null (empty); for an empty one write {}\n4:1 X is not a known field; known fields are ${FIRST_FIELDS}`,
    ],
    [
      'a colon in a value',
      'env_vars:\n  A: b: c',
      '3:6 this looks like a key within a value: put a value with ": " in it in quotes, or move a key to a line of its own with the right indentation',
    ],
    [
      'a key that is indented too far',
      '  running: true',
      '1:18 this looks like a key within a value: put a value with ": " in it in quotes, or move a key to a line of its own with the right indentation',
    ],
    [
      'a quote in quotes',
      "env_vars:\n  A: 'it's'",
      "3:10 this is after the end of a value: put the whole value in quotes, and within them, double a single quote ('') or escape a double quote (\\\")",
    ],
    [
      'a template',
      'env_vars:\n  A: {{ b }}',
      '3:7 keys must be plain text; a list or map cannot be a key: put a value that begins with "{" or "[" in quotes',
    ],
    [
      'a value that begins with @',
      'env_vars:\n  A: @b',
      '3:6 Plain value cannot start with reserved character @; put it in quotes',
    ],
    [
      'a value that begins with %',
      'env_vars:\n  A: %b',
      '3:6 Plain value cannot start with directive indicator character %; put it in quotes',
    ],
    [
      'no space after a colon',
      'running:true',
      '2:1 a closing quote or bracket, a comma, or the colon and space after a key is missing here',
    ],
    [
      'a merge conflict',
      '<<<<<<< HEAD\nrunning: true\n=======\nrunning: false\n>>>>>>> theirs',
      '2:1 a merge conflict is not resolved here; keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>',
    ],
    [
      'a merge conflict in three parts',
      'running: true\n<<<<<<< HEAD\n||||||| a\n=======\n>>>>>>> theirs',
      '3:1 a merge conflict is not resolved here; keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>',
    ],
  ])('%s', (_name, lines, expected) => {
    expect(problemsOfLines(lines)).toBe(expected);
  });

  it.each<[string, string, string]>([
    [
      'a list',
      '- container_image: a:1\n',
      '1:1 the file must be a map of fields, not a list; an app needs at least container_image, such as "container_image: nginx:1.27"',
    ],
    [
      'no space after the only colon',
      'container_image:a:1\n',
      '1:1 the file must be a map of fields, not a string; put a space after the colon of each key',
    ],
    [
      'a no-break space after the colon',
      'container_image:\u00a0a:1\n',
      '1:1 the file must be a map of fields, not a string; put a space after the colon of each key',
    ],
    ['an image alone', 'nginx:1.27\n', '1:1 the file must be a map of fields, not a string'],
  ])('a file that is not a map: %s', (_name, text, expected) => {
    expect(problemsOf(text)).toBe(expected);
  });

  it.each<[string, Kind, string, string]>([
    [
      'an app among the device groups',
      'device_group',
      'running: true\ncontainer_image: a:1\n',
      '2:1 container_image is a field of apps, and this is the file of a device group; move it to apps/',
    ],
    [
      'a device group among the apps',
      'app',
      'apps: [web]\n',
      '1:1 apps is a field of device groups, and this is the file of an app; move it to device-groups/',
    ],
    [
      'a Compose file',
      'app',
      'version: "3"\nservices:\n  web: {image: "nginx:1.27"}\nvolumes: {}\n',
      '2:1 this is a file of Docker Compose; move it out of the folder, and turn it into apps with "holdfast import --from-compose FILE"',
    ],
    [
      'an empty file',
      'device_group',
      '# later\n',
      '1:1 the file is empty; a device group needs apps, such as "apps: [web]"',
    ],
  ])('a file of another kind is one mistake: %s', (_name, kind, text, expected) => {
    expect(problemsOf(text, kind)).toBe(expected);
  });

  it.each<[string, string, string]>([
    ['a misspelt field', 'apps: []\napp: []\n', '2:1 app is not a known field; did you mean apps?'],
    [
      'a record of the API',
      'apps: []\nprune_id: 1\n',
      '2:1 prune_id does not belong in a file: a device group is named by its file name, and the manager assigns ids; remove it',
    ],
  ])('in a device group: %s', (_name, text, expected) => {
    expect(problemsOf(text, 'device_group')).toBe(expected);
  });
});

describe('no problem of a value shows the value, which can be a secret', () => {
  it.each<[string, string]>([
    ['as an alias', '*hunter2'],
    ['as the header of a block text', '|hunter2'],
    ['after the header of a block text', '|- hunter2'],
    ['after a bracket', ']hunter2'],
    ['after a bracket, in quotes', "]'hunter2"],
    ['as a tag', '!hunter2'],
    ['with a backslash', '"\\Uhunter2!"'],
    ['after a character that cannot begin it', '@hunter2'],
    ['after its closing quote', '"a" hunter2'],
    ['as a list', '[hunter2]'],
    ['as a map', '{hunter2}: 1'],
  ])('%s', (_name, value) => {
    const problems = problemsOfLines(`env_vars:\n  PASSWORD: ${value}\n  B: c\n`);
    expect(problems).toMatch(/^\d+:\d+ ./);
    expect(problems).not.toContain('hunter');
  });
});

describe('the advice on a mistake leads to an accepted value', () => {
  it.each<[string, string, string]>([
    ['an alias', '*a', "'*a'"],
    ['a header of a block text', '|a', "'|a'"],
    ['a tag', '!a', "'!a'"],
    ['an escape', '"a\\d"', '"a\\\\d"'],
    ['a number', '1.10', "'1.10'"],
    ['an empty value', '', '""'],
  ])('%s', (_name, value, corrected) => {
    expect(problemsOfLines(`env_vars:\n  A: ${value}\n`)).toMatch(/quotes|write ""|backslash/);
    expect(problemsOfLines(`env_vars:\n  A: ${corrected}\n`)).toBe('');
  });
});
