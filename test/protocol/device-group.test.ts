import { describe, expect, it } from 'vitest';
import { parseObjectText } from '../../src/desired/parse.ts';
import { DeviceGroup, DeviceGroupChange } from '../../src/protocol/device-group.ts';
import { DEFAULTS } from '../support/fleet.ts';

function read(text: string) {
  return parseObjectText('device_group', text, DEFAULTS);
}

describe('reading a device group', () => {
  it.each<[string, string[], string[]]>([
    ['apps: []', [], []],
    ['apps: [b, a]', ['b', 'a'], ['1:8', '1:11']],
    ['apps:\n- a\n-   b # second\n', ['a', 'b'], ['2:3', '3:5']],
    ['{"apps": ["a"]}', ['a'], ['1:11']],
    ['# first\napps: [\n  a,\n  "b"\n]\n', ['a', 'b'], ['3:3', '4:3']],
  ])('accepts %j', (text, apps, positions) => {
    const parsed = read(text);
    expect(parsed).toMatchObject({ ok: true, content: { apps } });
    const memberPositions = parsed.ok ? parsed.memberPositions : [];
    expect(memberPositions.map(({ line, column }) => `${line}:${column}`)).toEqual(positions);
  });

  it.each<[string, string[]]>([
    ['', ['1:1 field-missing the file is empty; a device group needs apps, such as "apps: [web]"']],
    ['apps:', ['1:1 field-invalid apps must be a list, not null (empty); for an empty one write []']],
    ['apps: web', ['1:1 field-invalid apps must be a list, not a string']],
    ['apps: {a: b}', ['1:1 field-invalid apps must be a list, not a map of fields']],
    [
      'apps: [1, true]',
      [
        '1:8 field-invalid apps[0] must be a string, not a number; write it in quotes',
        '1:11 field-invalid apps[1] must be a string, not true or false; write it in quotes',
      ],
    ],
    ['apps: [a, ~]', ['1:11 field-invalid apps[1] must be a string, not null (empty)']],
    ['apps: [[a]]', ['1:8 field-invalid apps[0] must be a string, not a list']],
    ['apps: 7', ['1:1 field-invalid apps must be a list, not a number']],
    ['apps: [a: b]', ['1:8 field-invalid apps[0] must be a string, not a map of fields']],
    [
      'apps: [a, b, a, a]',
      [
        '1:14 field-invalid apps[2] "a" is listed twice; keep it once',
        '1:17 field-invalid apps[3] "a" is listed twice; keep it once',
      ],
    ],
    ['apps: ["a\\0"]', ['1:8 field-invalid apps[0] must be Unicode text without NUL characters']],
    [
      'container_image: a',
      [
        '1:1 field-unknown container_image is a field of apps, and this is the file of a device group; move it to apps/',
      ],
    ],
    [
      '- a',
      [
        '1:1 field-invalid the file must be a map of fields, not a list; a device group needs apps, such as "apps: [web]"',
      ],
    ],
  ])('refuses %j', (text, problems) => {
    const parsed = read(text);
    const found = parsed.ok ? [] : parsed.problems;
    expect(found.map((each) => `${each.line}:${each.column} ${each.code} ${each.message}`)).toEqual(problems);
  });
});

describe('schemas of device groups', () => {
  it('require apps in a group but not in a change, and refuse an app that is listed twice', () => {
    expect(DeviceGroupChange.safeParse({}).success).toBe(true);
    expect(DeviceGroup.safeParse({}).success).toBe(false);
    expect(DeviceGroupChange.safeParse({ apps: ['a', 'a'] }).success).toBe(false);
  });
});
