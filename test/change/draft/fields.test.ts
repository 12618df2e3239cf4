import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { targetFields, type WriteMode } from '../../../src/change/draft/fields.ts';
import { completeApp } from '../../../src/desired/app.ts';
import { type AppChange, AppFields } from '../../../src/protocol/app.ts';
import { DEFAULTS } from '../../support/fleet.ts';
import { fewOptionalFields } from '../../support/optional-fields.ts';

const IMAGE = { container_image: 'web:1' };

describe('targetFields', () => {
  it.each<[string, object, AppChange, WriteMode, object]>([
    [
      'keeps the fields that a change does not name',
      { ...IMAGE, running: false },
      { privileged: true },
      'change',
      { ...IMAGE, running: false, privileged: true },
    ],
    [
      'leaves out a field that the file lacks if a change sets it to its default',
      IMAGE,
      { running: true },
      'change',
      IMAGE,
    ],
    [
      'writes the default of a field that the file has',
      { ...IMAGE, running: false },
      { running: true },
      'change',
      { ...IMAGE, running: true },
    ],
    [
      'removes fields that a full update does not name',
      { ...IMAGE, running: false },
      IMAGE,
      'replace',
      IMAGE,
    ],
    [
      'keeps a default that the file has at a full update that does not name it',
      { ...IMAGE, running: true },
      IMAGE,
      'replace',
      { ...IMAGE, running: true },
    ],
    ['removes unknown fields at a full update', { ...IMAGE, runnin: true }, IMAGE, 'replace', IMAGE],
    [
      'keeps a list to which a change assigns the same items',
      { ...IMAGE, networks: ['bridge'] },
      { networks: ['bridge'] },
      'change',
      { ...IMAGE, networks: ['bridge'] },
    ],
    [
      'removes an optional field for which a change says null',
      { ...IMAGE, memory: '64m' },
      { memory: null },
      'change',
      IMAGE,
    ],
    [
      'removes an optional field for which a full update says null',
      { ...IMAGE, memory: '64m' },
      { ...IMAGE, memory: null },
      'replace',
      IMAGE,
    ],
    ['writes no null into a new file', {}, { ...IMAGE, memory: null }, 'replace', IMAGE],
    [
      'keeps an optional field that says what null says',
      { ...IMAGE, restart: 'always' },
      { restart: null },
      'change',
      { ...IMAGE, restart: 'always' },
    ],
    [
      'keeps restart: always where a change says unless-stopped, which is the same',
      { ...IMAGE, restart: 'always' },
      { restart: 'unless-stopped' },
      'change',
      { ...IMAGE, restart: 'always' },
    ],
    [
      'writes the default of an optional field that the file has',
      { ...IMAGE, restart: 'no' },
      { restart: 'always' },
      'change',
      { ...IMAGE, restart: 'always' },
    ],
    [
      'removes an invalid null from a file at a full update',
      { ...IMAGE, read_only: null, labels: [] },
      IMAGE,
      'replace',
      IMAGE,
    ],
  ])('%s', (_, file, requested, mode, target) => {
    expect(targetFields({ ...file }, requested, DEFAULTS, mode)).toEqual(target);
  });

  const some = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(values, { nil: undefined });
  const fields = fc
    .record({
      container_image: fc.constantFrom('web:1', 'web:2'),
      running: some(fc.boolean()),
      networks: some(fc.constantFrom(['nebula', 'bridge'], ['bridge', 'nebula'], [])),
      env_vars: some(fc.constantFrom({}, { A: '1' }, { B: '2', A: '1' })),
      containers_per: some(fc.constantFrom({ server: 1 }, { cpu: 2 })),
    })
    .chain((record) => fewOptionalFields.map((optional) => ({ ...record, ...optional })))
    .map((record) =>
      AppFields.parse(Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))),
    );

  it('yields, completed with the defaults, exactly the app of a full update', () => {
    fc.assert(
      fc.property(fields, fields, (file, requested) => {
        const target = targetFields(file, requested, DEFAULTS, 'replace');
        expect(completeApp(AppFields.parse(target), DEFAULTS)).toEqual(completeApp(requested, DEFAULTS));
      }),
    );
  });

  it('yields, completed with the defaults, the former app with the fields of a change, and is idempotent', () => {
    fc.assert(
      fc.property(fields, fields, (file, requested) => {
        const target = targetFields(file, requested, DEFAULTS, 'change');
        const changed = completeApp({ ...file, ...requested }, DEFAULTS);
        expect(completeApp(AppFields.parse(target), DEFAULTS)).toEqual(changed);
        expect(targetFields(target, requested, DEFAULTS, 'change')).toEqual(target);
      }),
    );
  });
});
