import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { targetFields, type WriteMode } from '../../src/change/fields.ts';
import { type AppChange, AppFields, completeApp } from '../../src/desired/app.ts';
import { DEFAULTS } from '../support/fleet.ts';

const IMAGE = { container_image: 'web:1' };

describe('the fields that a file is to have', () => {
  it.each<[string, object, AppChange, WriteMode, object]>([
    [
      'a change keeps what it does not name',
      { ...IMAGE, running: false },
      { privileged: true },
      'change',
      { ...IMAGE, running: false, privileged: true },
    ],
    ['the default of a field that is left out stays left out', IMAGE, { running: true }, 'change', IMAGE],
    [
      'the default of a field that is there is written',
      { ...IMAGE, running: false },
      { running: true },
      'change',
      { ...IMAGE, running: true },
    ],
    ['a replacement takes away what it does not name', { ...IMAGE, running: false }, IMAGE, 'replace', IMAGE],
    [
      'a replacement keeps a default that was written down',
      { ...IMAGE, running: true },
      IMAGE,
      'replace',
      { ...IMAGE, running: true },
    ],
    ['a replacement takes away what is no field', { ...IMAGE, runnin: true }, IMAGE, 'replace', IMAGE],
    [
      'a list of the same items stays',
      { ...IMAGE, networks: ['bridge'] },
      { networks: ['bridge'] },
      'change',
      { ...IMAGE, networks: ['bridge'] },
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
    .map((record) =>
      AppFields.parse(Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))),
    );

  it('mean, with the defaults, what a replacement names', () => {
    fc.assert(
      fc.property(fields, fields, (file, requested) => {
        const target = targetFields(file, requested, DEFAULTS, 'replace');
        expect(completeApp(AppFields.parse(target), DEFAULTS)).toEqual(completeApp(requested, DEFAULTS));
      }),
    );
  });

  it('mean, with the defaults, what a change names, and otherwise what they meant', () => {
    fc.assert(
      fc.property(fields, fields, (file, requested) => {
        const target = targetFields(file, requested, DEFAULTS, 'change');
        const meant = completeApp({ ...file, ...requested }, DEFAULTS);
        expect(completeApp(AppFields.parse(target), DEFAULTS)).toEqual(meant);
        // The same again changes nothing.
        expect(targetFields(target, requested, DEFAULTS, 'change')).toEqual(target);
      }),
    );
  });
});
