import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeApp } from '../../src/desired/app.ts';
import type { Content } from '../../src/desired/content.ts';
import { contentHash } from '../../src/ids/content-hash.ts';
import { type App, type AppFields, appDefaults } from '../../src/protocol/app.ts';
import type { DeviceGroup } from '../../src/protocol/device-group.ts';
import type { OptionalField } from '../../src/protocol/optional-fields.ts';
import { sameValue } from '../../src/protocol/values.ts';
import { fewOptionalFields, LIKE_ABSENT, OPTIONAL_SAMPLES } from '../support/optional-fields.ts';

const DEFAULTS = appDefaults(['nebula', 'bridge']);

function app(fields: Partial<App> = {}): App {
  return completeApp({ container_image: 'nginx', ...fields } as AppFields, DEFAULTS);
}

/** Few values, so that equal and nearly equal contents are frequent. */
const word = fc.constantFrom('a', 'b', 'a,b', '"', '', 'ü');
const port = fc.oneof(fc.constantFrom(80, 8080), fc.constantFrom({ '80': '8080' }, { '8080': '80' }));
const anyApp: fc.Arbitrary<App> = fc
  .record(
    {
      container_image: fc.constantFrom('nginx', 'a', 'b'),
      starting_ports: fc.array(port, { maxLength: 2 }),
      containers_per: fc.constantFrom({ server: 1 }, { cpu: 1 }, { cpu: 0.5 }, { server: 1, cpu: 1 }),
      env_vars: fc.dictionary(word, word, { maxKeys: 2 }),
      running: fc.boolean(),
      volumes: fc.array(word, { maxLength: 2 }),
      networks: fc.constantFrom(['nebula', 'bridge'], ['bridge', 'nebula'], ['nebula,bridge'], []),
      devices: fc.array(word, { maxLength: 2 }),
      privileged: fc.boolean(),
      rolling_restart: fc.boolean(),
    } satisfies Record<Exclude<keyof App, OptionalField>, fc.Arbitrary<unknown>>,
    { requiredKeys: ['container_image'] },
  )
  .chain((fields) => fewOptionalFields.map((optional) => ({ ...fields, ...optional })))
  .map((fields) => app(fields as unknown as Partial<App>));
const anyGroup: fc.Arbitrary<DeviceGroup> = fc.record({ apps: fc.array(word, { maxLength: 3 }) });

/** The same value with the keys of all objects in reverse order. */
function withReversedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReversedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, one]) => [key, withReversedKeys(one)]),
  );
}

describe('contentHash', () => {
  it('has the same value as in released versions', () => {
    expect(contentHash('app', app())).toBe('cf836b1089bb155f5ed76c506d9f0956');
    expect(
      contentHash('app', app({ env_vars: { B: '2', A: '1' }, starting_ports: [80, { '81': '82' }] })),
    ).toBe('c733d2c4ccee3bdb2984f5b560303d1a');
    expect(contentHash('device_group', { apps: ['web', 'db'] })).toBe('a5a300f736a3e63539120c9bc3e17692');
  });

  it('is 32 hex digits', () => {
    fc.assert(
      fc.property(anyApp, (one) => {
        expect(contentHash('app', one)).toMatch(/^[0-9a-f]{32}$/);
      }),
    );
  });

  it('is equal for equal contents, and only for these', () => {
    const pair = fc.oneof(fc.tuple(anyApp, anyApp), fc.tuple(anyGroup, anyGroup));
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const kind = 'apps' in a ? 'device_group' : 'app';
        expect(contentHash(kind, a) === contentHash(kind, b)).toBe(sameValue(a, b));
      }),
      { numRuns: 2000 },
    );
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(anyApp, (one) => {
        expect(contentHash('app', withReversedKeys(one) as App)).toBe(contentHash('app', one));
      }),
    );
  });

  it('depends on the order of lists', () => {
    const hashOf = (...apps: string[]) => contentHash('device_group', { apps });
    expect(hashOf('a', 'b')).not.toBe(hashOf('b', 'a'));
    expect(hashOf('a', 'b')).not.toBe(hashOf('a,b'));
  });

  it('ignores fields with the built-in default, so that an older content without these fields has the same hash', () => {
    fc.assert(
      fc.property(anyApp, (one) => {
        const older = Object.fromEntries(
          Object.entries(one).filter(
            ([field, value]) => !sameValue(value, DEFAULTS[field as keyof typeof DEFAULTS]),
          ),
        );
        expect(contentHash('app', older as App)).toBe(contentHash('app', one));
      }),
    );
  });

  it.each(LIKE_ABSENT)('is that of an app without %s if it is %j', (field, value) => {
    expect(contentHash('app', app({ [field]: value }))).toBe(contentHash('app', app()));
  });

  it('depends on each value of each optional field', () => {
    const contents = Object.entries(OPTIONAL_SAMPLES).flatMap(([field, values]) =>
      values.map((value) => app({ [field]: value })),
    );
    const hashes = new Set([app(), ...contents].map((content) => contentHash('app', content)));
    expect(hashes.size).toBe(contents.length + 1);
  });

  it('differs between an app and a group with the same fields', () => {
    expect(contentHash('app', { apps: [] } as unknown as Content)).not.toBe(
      contentHash('device_group', { apps: [] }),
    );
  });

  it('is the same after a conversion to JSON, which drops undefined fields', () => {
    const loose = app({ containers_per: { server: 1, cpu: undefined } as unknown as App['containers_per'] });
    expect(contentHash('app', loose)).toBe(contentHash('app', JSON.parse(JSON.stringify(loose)) as App));
    expect(contentHash('app', loose)).toBe(contentHash('app', app()));
  });

  it('covers env_vars with the names of properties of every object', () => {
    const odd = JSON.parse('{"__proto__": "1", "constructor": "2"}') as Record<string, string>;
    expect(contentHash('app', app({ env_vars: odd }))).not.toBe(contentHash('app', app()));
  });
});
