import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { targetFields } from '../../src/change/fields.ts';
import { type AppChange, AppFields, completeApp } from '../../src/desired/app.ts';
import { DEFAULTS } from '../support/fleet.ts';

const IMAGE = { container_image: 'web:1' };

describe('the fields that a file shall have', () => {
  it.each<[string, object, AppChange, boolean, object]>([
    [
      'a change keeps what it does not name',
      { ...IMAGE, running: false },
      { privileged: true },
      false,
      { ...IMAGE, running: false, privileged: true },
    ],
    [
      'a wish for the default of a field that is left out leaves it out',
      IMAGE,
      { running: true },
      false,
      IMAGE,
    ],
    [
      'a wish for the default of a field that is there is written',
      { ...IMAGE, running: false },
      { running: true },
      false,
      { ...IMAGE, running: true },
    ],
    ['a replacement takes away what is not wished for', { ...IMAGE, running: false }, IMAGE, true, IMAGE],
    [
      'a replacement keeps a default that was written down',
      { ...IMAGE, running: true },
      IMAGE,
      true,
      { ...IMAGE, running: true },
    ],
    ['a replacement takes away what is no field', { ...IMAGE, runnin: true }, IMAGE, true, IMAGE],
    [
      'a list of the same items stays',
      { ...IMAGE, networks: ['bridge'] },
      { networks: ['bridge'] },
      false,
      { ...IMAGE, networks: ['bridge'] },
    ],
  ])('%s', (_, file, wished, replace, target) => {
    expect(targetFields({ ...file }, wished, DEFAULTS, replace)).toEqual(target);
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

  it('mean, with the defaults, what a replacement wishes for', () => {
    fc.assert(
      fc.property(fields, fields, (file, wished) => {
        const target = targetFields(file, wished, DEFAULTS, true);
        expect(completeApp(AppFields.parse(target), DEFAULTS)).toEqual(completeApp(wished, DEFAULTS));
      }),
    );
  });

  it('mean, with the defaults, what a change wishes for, and otherwise what they meant', () => {
    fc.assert(
      fc.property(fields, fields, (file, wished) => {
        const target = targetFields(file, wished, DEFAULTS, false);
        const meant = completeApp({ ...file, ...wished }, DEFAULTS);
        expect(completeApp(AppFields.parse(target), DEFAULTS)).toEqual(meant);
        // The same wish again changes nothing.
        expect(targetFields(target, wished, DEFAULTS, false)).toEqual(target);
      }),
    );
  });
});
