import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { check, explain } from '../../src/desired/explain.ts';

const Schema = z.strictObject({
  text: z.string(),
  count: z.int(),
  ratio: z.number(),
  flag: z.boolean(),
  list: z.array(z.string()),
  map: z.record(z.string().regex(/^[a-z]+$/, 'has a bad key'), z.string()),
  part: z.strictObject({ name: z.string() }),
  own: z.string({ error: 'must be something of its own' }),
});

const VALID = { text: '', count: 1, ratio: 1, flag: true, list: [], map: {}, part: { name: '' }, own: '' };

function explained(value: unknown, known: readonly string[] = []): string[] {
  const parsed = check(Schema, value);
  return explain(parsed.error?.issues ?? [], known).map(
    ({ path, kind, message }) => `${path.join('/')} ${kind}: ${message}`,
  );
}

describe('explain', () => {
  it.each<[string, object, string[]]>([
    ['a valid value without any problem', {}, []],
    [
      'a number for a string',
      { text: 1.5 },
      ['text invalid: must be a string, not a number; write it in quotes'],
    ],
    [
      'true for a string',
      { text: true },
      ['text invalid: must be a string, not true or false; write it in quotes'],
    ],
    ['null for a string', { text: null }, ['text invalid: must be a string, not null (empty)']],
    ['a list for a string', { text: [] }, ['text invalid: must be a string, not a list']],
    [
      'a string for a number',
      { ratio: '1' },
      ['ratio invalid: must be a number, not a string; write it without quotes'],
    ],
    [
      'a fraction for a whole number',
      { count: 1.5 },
      ['count invalid: must be a whole number, not a number'],
    ],
    [
      'a string for true or false',
      { flag: 'yes' },
      ['flag invalid: must be true or false, not a string; write true'],
    ],
    ['a map for a list', { list: {} }, ['list invalid: must be a list, not a map of fields']],
    [
      'an item of a list',
      { list: ['a', 1] },
      ['list/1 invalid: must be a string, not a number; write it in quotes'],
    ],
    [
      'a list for a map',
      { map: [] },
      ['map invalid: must be a map, not a list; write {NAME: "value"} in place of a list'],
    ],
    ['a key of a map', { map: { A: 'b' } }, ['map/A invalid: has a bad key']],
    [
      'a value of a map',
      { map: { a: null } },
      ['map/a invalid: must be a string, not null (empty); for an empty one write ""'],
    ],
    ['a string for a map of fields', { part: 'x' }, ['part invalid: must be a map of fields, not a string']],
    ['a missing field of a nested map', { part: {} }, ['part/name invalid: is required']],
    [
      'an unknown field of a nested map',
      { part: { name: '', other: 1 } },
      ['part/other unknown: is not a known field'],
    ],
    [
      'a wrong value with the message of its schema',
      { own: [] },
      ['own invalid: must be something of its own'],
    ],
  ])('explains %s', (_name, change, expected) => {
    expect(explained({ ...VALID, ...change })).toEqual(expected);
  });

  it('distinguishes missing top-level fields from invalid ones', () => {
    const { text: _text, own: _own, ...rest } = VALID;
    expect(explained(rest)).toEqual(['text missing: is required', 'own missing: is required']);
  });

  it('names each unknown field, the known fields, and the current name of a field of the former API', () => {
    const value = { ...VALID, extra: 1, docker_image: 2 };
    expect(explained(value)).toEqual([
      'extra unknown: is not a known field',
      'docker_image unknown: is not a known field',
    ]);
    expect(explained(value, ['text', 'container_image'])).toEqual([
      'extra unknown: is not a known field; known fields are text, container_image',
      'docker_image unknown: is called container_image here',
    ]);
  });

  it('reports a wrong value as a whole', () => {
    expect(explained('x')).toEqual([' invalid: must be a map of fields, not a string']);
    expect(explained(undefined)).toEqual([' invalid: is required']);
  });

  it('does not show values, which can be secrets', () => {
    const parsed = check(Schema, { text: 12_345 });
    expect(JSON.stringify(explain(parsed.error?.issues ?? []))).not.toContain('12345');
  });

  it('explains at most the requested number of problems', () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, index]));
    const parsed = check(Schema, { ...VALID, ...many });
    expect(explain(parsed.error?.issues ?? [], [], 2).map(({ path }) => path)).toEqual([['k0'], ['k1']]);
  });
});
