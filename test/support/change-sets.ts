import fc from 'fast-check';
import type { ChangeSet, Write } from '../../src/change/write.ts';
import { renderYaml } from '../../src/desired/yaml/edit.ts';
import type { AppChange, AppFields } from '../../src/protocol/app.ts';
import type { DeviceGroup } from '../../src/protocol/device-group.ts';
import { type Kind, keyOf } from '../../src/protocol/name.ts';
import type { Fields } from '../../src/protocol/values.ts';

const app = fc.constantFrom('a', 'b', 'c', 'new');
const group = fc.constantFrom('g', 'h', 'new');
const allFields = fc.constantFrom<AppFields>(
  { container_image: 'i:1' },
  { container_image: 'i:2', running: false },
  { container_image: 'i:3', env_vars: { A: 'b' } },
  { container_image: 'i:3', memory: '64m', restart: 'no' },
);
const someFields = fc.constantFrom<AppChange>(
  { container_image: 'i:1' },
  { running: true },
  { env_vars: {} },
  { memory: null, restart: 'always' },
  { command: ['run'], labels: {} },
);
const members = fc.shuffledSubarray(['a', 'b', 'c', 'unknown']).map((apps): DeviceGroup => ({ apps }));

/** A random change of one of few objects, many of which do not exist. */
export const anyWrite: fc.Arbitrary<Write> = fc.oneof(
  fc.tuple(app, allFields).map(([name, fields]): Write => ({ kind: 'app', op: 'create', name, fields })),
  fc.tuple(app, allFields).map(([name, fields]): Write => ({ kind: 'app', op: 'replace', name, fields })),
  fc.tuple(app, someFields).map(([name, fields]): Write => ({ kind: 'app', op: 'change', name, fields })),
  app.map((name): Write => ({ kind: 'app', op: 'delete', name })),
  fc
    .tuple(group, members)
    .map(([name, fields]): Write => ({ kind: 'device_group', op: 'create', name, fields })),
  fc
    .tuple(group, members)
    .map(([name, fields]): Write => ({ kind: 'device_group', op: 'replace', name, fields })),
  group.map((name): Write => ({ kind: 'device_group', op: 'delete', name })),
);

/** A path of few, most of which do not exist; an object can have several. */
const anyFile: fc.Arbitrary<Write> = fc.oneof(
  fc
    .tuple(app, fc.constantFrom('apps', 'apps/x'), fc.option(allFields))
    .map(([name, folder, fields]) => fileWrite('app', name, folder, fields)),
  fc
    .tuple(group, fc.option(members))
    .map(([name, fields]) => fileWrite('device_group', name, 'device-groups', fields)),
);

function fileWrite(kind: Kind, name: string, folder: string, fields: Fields | null): Write {
  const text = fields === null ? null : renderYaml(fields);
  return { kind, op: 'file', name, path: `${folder}/${name}.yaml`, text };
}

/** Random changes of up to four different objects, or paths. */
export const anySet: fc.Arbitrary<ChangeSet> = fc
  .oneof(
    fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: anyWrite }, anyFile), {
      selector: ({ kind, name }) => keyOf(kind, name),
      minLength: 1,
      maxLength: 4,
    }),
    fc.uniqueArray(anyFile, {
      selector: (write) => ('path' in write ? write.path : ''),
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map((changes) => ({ changes, subject: null, trailers: [] }));
