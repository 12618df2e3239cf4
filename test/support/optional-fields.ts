import fc from 'fast-check';
import type { AppFields } from '../../src/protocol/app.ts';
import {
  OPTIONAL_DEFAULTS,
  OPTIONAL_FIELDS,
  type OptionalField,
} from '../../src/protocol/optional-fields.ts';

/** For each optional field, valid values that are not like an absent field, and that differ from one another. */
export const OPTIONAL_SAMPLES = {
  command: [['node', 'server.js'], ['sh', '-c', 'echo "a: b" # c'], ['']],
  entrypoint: [['/sbin/init'], ['']],
  user: ['1000', 'node:www-data'],
  working_dir: ['/', '/srv/my app'],
  labels: [{ 'com.example.team': 'shop', empty: '' }, { orchestra: '1' }],
  healthcheck: [
    { test: ['CMD', '/bin/true'] },
    {
      test: 'wget -q -O - http://localhost || exit 1',
      interval: 5,
      timeout: 2,
      retries: 4,
      start_period: 60,
    },
    { test: ['NONE'] },
  ],
  cpus: [0.5, 2],
  memory: ['512m', '1.5g', '64MB'],
  shm_size: ['64m', '1024b'],
  read_only: [true],
  tmpfs: [['/run'], ['/run:size=64m,mode=1777', '/tmp:noexec']],
  cap_add: [['NET_ADMIN'], ['ALL']],
  cap_drop: [['ALL'], ['CAP_CHOWN', 'MKNOD']],
  security_opt: [['no-new-privileges:true'], ['seccomp:unconfined', 'apparmor=web']],
  ulimits: [{ nofile: 1024 }, { nofile: { soft: 1024, hard: 2048 }, core: 0, memlock: -1 }],
  extra_hosts: [['db:10.0.0.5'], ['v6:::1', 'six=[fd00::1]', 'host.docker.internal:host-gateway']],
  init: [true],
  stop_signal: ['SIGINT', 'RTMIN+3'],
  stop_grace_period: [1, 300],
  restart: ['no', 'on-failure', 'on-failure:3'],
  logging: [
    { driver: 'none' },
    { driver: 'json-file', options: { 'max-size': '10m' } },
    { options: { tag: 'web' } },
  ],
  pull_policy: ['missing'],
} satisfies Record<OptionalField, readonly unknown[]>;

/** Values that are valid, and mean the same as none. */
export const LIKE_ABSENT: readonly (readonly [OptionalField, unknown])[] = [
  ...(Object.entries(OPTIONAL_DEFAULTS) as [OptionalField, unknown][]),
  ['restart', 'always'],
  ['logging', { options: {} }],
];

/** Some optional fields, of which some are like absent ones. */
const anyOptionalFields: fc.Arbitrary<Partial<AppFields>> = fc
  .record(
    Object.fromEntries(
      OPTIONAL_FIELDS.map((field) => [
        field,
        fc.constantFrom<unknown>(
          ...OPTIONAL_SAMPLES[field],
          ...LIKE_ABSENT.filter(([name]) => name === field).map(([, value]) => value),
        ),
      ]),
    ),
    { requiredKeys: [] },
  )
  .map((fields) => fields as Partial<AppFields>);

/** A few optional fields: most of the others are left out, so that equal contents are frequent. */
export const fewOptionalFields: fc.Arbitrary<Partial<AppFields>> = fc
  .tuple(anyOptionalFields, fc.subarray(OPTIONAL_FIELDS, { maxLength: 3 }))
  .map(
    ([fields, kept]) =>
      Object.fromEntries(
        Object.entries(fields).filter(([field]) => kept.includes(field as OptionalField)),
      ) as Partial<AppFields>,
  );
