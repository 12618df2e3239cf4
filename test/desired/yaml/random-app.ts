/** Random apps, and random changes of them. */
import * as fc from 'fast-check';
import { OPTIONAL_SAMPLES } from '../../support/optional-fields.ts';
import { type Dice, dice } from './random-yaml.ts';

export type Fields = Record<string, unknown>;

const port = fc.integer({ min: 1, max: 65_535 });
const word = fc.constantFrom(
  'a',
  'web',
  '/data:/data',
  '8080',
  'yes',
  'two words here',
  'nginx:1.27',
  '',
  '0x1F',
  'x # y',
);
const lines = fc.constantFrom(
  'one\ntwo\n',
  'one\n\n  two',
  'a\nb\n\n\n',
  ' lead\nb\n',
  '#!/bin/sh\nexit 0\n',
  '\n\nx\n',
  'x\n ',
);
/** Common strings, and strings that are difficult to write as YAML. */
export const anyText = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 2, arbitrary: lines },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom(
        ...'-?:,[]{}#&*!|>\'"%@` \n\t\\a1~=<.',
        '\u0085',
        '\u2028',
        '\ufeff',
        '\r',
        '😀',
        '\u0007',
      ),
      maxLength: 8,
    }),
  },
);
const key = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('A', 'PORT', 'LOG_LEVEL', 'no', '8080', 'x y', 'k: v') },
  anyText,
);
export const anyKey = key.filter((text) => !['__proto__', 'constructor', 'prototype'].includes(text));
const pair = fc.tuple(port, port).map(([host, inner]) => ({ [host]: String(inner) }));
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 5 });

const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: anyText },
    { weight: 1, arbitrary: fc.oneof(fc.boolean(), fc.integer(), fc.constantFrom(0.5, 1e-7, -3.25)) },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    { weight: 2, arbitrary: fc.dictionary(anyKey, tie('value'), { maxKeys: 4 }) },
  ),
})).value;

/** Some fields of an app, and sometimes other fields of any kind. */
export const fields: fc.Arbitrary<Fields> = fc
  .record(
    {
      container_image: fc.constantFrom('nginx:1.27', 'web', 'r.example/a/b:1'),
      starting_ports: list(fc.oneof(port, pair)),
      containers_per: fc.dictionary(fc.constantFrom('server', 'cpu', 'mem'), fc.constantFrom(1, 2, 0.5)),
      env_vars: fc.dictionary(anyKey, anyText, { maxKeys: 5 }),
      running: fc.boolean(),
      volumes: list(fc.constantFrom('/a:/b', '/c:/d:ro', 'x:/y', '/e f:/g')),
      networks: list(fc.oneof(fc.constantFrom('fleet', 'edge', 'on'), anyText)),
      labels: fc.dictionary(anyKey, anyText, { maxKeys: 3 }),
      command: list(anyText),
      healthcheck: fc.constantFrom<unknown>(...OPTIONAL_SAMPLES.healthcheck),
      ulimits: fc.constantFrom<unknown>(...OPTIONAL_SAMPLES.ulimits),
      logging: fc.constantFrom<unknown>(...OPTIONAL_SAMPLES.logging),
      restart: fc.constantFrom('no', 'on-failure:3', 'always'),
      apps: anything,
      'any key': anything,
    },
    { requiredKeys: [] },
  )
  .map((record) => ({ ...record }));

/** Changes `before` at random places, partly to values of `other`. */
export function mutate(before: Fields, other: Fields, seed: number): Fields {
  const roll = dice(seed);
  const after = mutateMap(roll, before, other, roll.pick([0.2, 0.5, 0.9]));
  return roll.chance(0.1) ? Object.fromEntries(Object.entries(after).reverse()) : after;
}

function mutateValue(roll: Dice, before: unknown, other: unknown, rate: number): unknown {
  if (!roll.chance(rate)) return before;
  if (other !== undefined && roll.chance(0.25)) return other;
  if (Array.isArray(before)) return mutateList(roll, before, Array.isArray(other) ? other : ['new', 7], rate);
  if (typeof before === 'object' && before !== null)
    return mutateMap(roll, before, isMap(other) ? other : { N: 'new' }, rate);
  return other ?? roll.pick(['changed', 'a b', '', 8, true, 'x\ny\n', 'no', { a: 1 }, ['z']]);
}

function mutateList(
  roll: Dice,
  before: readonly unknown[],
  other: readonly unknown[],
  rate: number,
): unknown[] {
  const after: unknown[] = [];
  for (const item of before) {
    if (roll.chance(0.2)) after.push(...other.slice(0, 1 + roll.below(2)));
    if (!roll.chance(0.3))
      after.push(mutateValue(roll, item, roll.chance(0.5) ? roll.pick(other) : undefined, rate / 2));
  }
  if (roll.chance(0.3)) after.push(...other.slice(0, 1 + roll.below(2)));
  return after;
}

function mutateMap(roll: Dice, before: object, other: object, rate: number): Fields {
  const after: Fields = {};
  for (const [name, value] of Object.entries(before)) {
    if (roll.chance(1 - rate / 3))
      after[name] = mutateValue(
        roll,
        value,
        Object.hasOwn(other, name) ? (other as Fields)[name] : undefined,
        rate,
      );
  }
  for (const [name, value] of Object.entries(other)) {
    if (!Object.hasOwn(before, name) && roll.chance(rate / 2)) after[name] = value;
  }
  return after;
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
