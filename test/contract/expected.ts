import { expect } from 'vitest';
import type { App, AppDefaults } from '../../src/protocol/app.ts';

/** Defaults of app fields (docs/contract.md, 2.1). */
export const APP_DEFAULTS = {
  starting_ports: [],
  containers_per: { server: 1 },
  env_vars: {},
  running: true,
  volumes: [],
  networks: ['nebula', 'bridge'],
  devices: [],
  privileged: false,
  rolling_restart: false,
} satisfies AppDefaults;

/** An `_id`. */
export const OID = { $oid: expect.stringMatching(/^[0-9a-f]{24}$/) };

/** The record of an app (docs/contract.md, 2.1): exactly these fields. */
export function appRecord(
  name: string,
  fields: Record<string, unknown>,
  appId: unknown = expect.any(Number),
) {
  return { app_name: name, ...APP_DEFAULTS, ...fields, app_id: appId, _id: OID };
}

/** The record of a device group (docs/contract.md, 2.2): exactly these fields. */
export function groupRecord(
  name: string,
  apps: readonly string[],
  ids: { device_group_id?: unknown; prune_id?: unknown } = {},
) {
  const id = expect.any(Number);
  return { device_group: name, apps, device_group_id: id, prune_id: id, ...ids, _id: OID };
}

/** A reason for people: some text, but none of the library that checks fields, which has the word "expected". */
export const REASON = expect.stringMatching(/^(?!.*expected).*\S/s);

/** An app with another value than its default in every field. */
export const FULL_APP = {
  container_image: 'registry.example.com:5000/shop/web:1.26',
  starting_ports: [80, { '8443': '443' }],
  containers_per: { cpu: 0.5 },
  env_vars: { GREETING: 'hello: "world" # no comment', EMPTY: '' },
  running: false,
  volumes: ['/srv/data:/data', '/etc/hosts:/etc/hosts:ro'],
  networks: ['bridge'],
  devices: ['/dev/usb:/dev/usb', '/dev/tty0:/dev/tty0:rw'],
  privileged: true,
  rolling_restart: true,
} satisfies App;

/** Bodies that are JSON, but not an object. */
export const NOT_OBJECTS: readonly (readonly [string, string])[] = [
  ['an array', '[]'],
  ['an array with an object', '[{"container_image":"a"}]'],
  ['null', 'null'],
  ['a string', '"container_image"'],
  ['a number', '7'],
  ['a boolean', 'true'],
];

/** Bodies that are absent, empty or not JSON. */
export const NOT_JSON: readonly (readonly [string, string | Uint8Array | undefined])[] = [
  ['absent', undefined],
  ['empty', ''],
  ['only spaces', '   '],
  ['cut off', '{"container_image": "a"'],
  ['YAML', 'container_image: a'],
  ['two values', '{} {}'],
  ['with a comment', '{"container_image": "a"} // x'],
  ['with single quotes', "{'container_image': 'a'}"],
  ['a NUL', '\0'],
  ['not UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d)],
  ['500,000 brackets', '['.repeat(500_000)],
];

/** Parts of a path that are not valid names (docs/contract.md, 2.5). */
export const INVALID_NAMES: readonly (readonly [string, string])[] = [
  ['129 characters', 'a'.repeat(129)],
  ['512 characters', 'a'.repeat(512)],
  ['513 characters', 'a'.repeat(513)],
  ['9,000 characters', 'a'.repeat(9000)],
  ['a dot in front', '.hidden'],
  ['a hyphen in front', '-x'],
  ['an underscore in front', '_x'],
  ['two dots', '..'],
  ['two escaped dots', '%2e%2e'],
  ['a slash', 'a%2Fb'],
  ['a path out of the folder', '..%2F..%2Fescape'],
  ['a backslash', 'a%5Cb'],
  ['NUL', '%00'],
  ['NUL at the end', 'web%00'],
  ['a line break at the end', 'web%0A'],
  ['a space', 'a%20b'],
  ['a plus', 'a+b'],
  ['a colon', 'a:b'],
  ['an at sign', 'a@b'],
  ['an accent', 'caf%C3%A9'],
  ['a full-width letter', '%EF%BC%A1'],
  ['an emoji', '%F0%9F%98%80'],
  ['an invalid escape', '%zz'],
  ['an incomplete escape', 'a%2'],
  ['escaped bytes that are not UTF-8', '%c3%28'],
  ['an escaped percent sign', '%25'],
];

/** A report with the required fields, and `more`. */
export function report(hostname: string, time: number, more: Record<string, unknown> = {}) {
  return { hostname, device_group: 'edge', report_creation_time: time, ...more };
}

/** An `Authorization` header for `user:password`. */
export function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
