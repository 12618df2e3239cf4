import type { Position } from '../desired/yaml/document.ts';
import type { AppBuilder } from './builder.ts';
import { resolvePath } from './paths.ts';
import type { MapTree, Tree } from './tree.ts';
import { bytesOf, sizeText } from './units.ts';
import { booleanOf, itemsOf, noteOthers, textOf, textsOf, valueAt } from './values.ts';

/** Modes of Docker Desktop, which mean nothing on Linux. */
const IGNORED_MODES = /^(cached|delegated|consistent|)$/;

/** Reads `volumes`: `./folder:/target:ro`, `volume:/target`, and maps with `type`, `source` and `target`. */
export function readVolumes(tree: Tree, builder: AppBuilder): void {
  const mounts = itemsOf(tree, 'volumes', builder).flatMap((item, index) => {
    const key = `volumes[${index}]`;
    return (item.type === 'map' ? longMount(item, key, builder) : shortMount(item, key, builder)) ?? [];
  });
  if (mounts.length > 0) builder.set('volumes', mounts, tree);
}

const ANONYMOUS = 'has no name, so its data would be lost with the container; write NAME:/path to keep it';

function shortMount(tree: Tree, key: string, builder: AppBuilder): string | null {
  const text = textOf(tree, key, builder);
  if (text === undefined) return null;
  const [source = '', target, mode = ''] = text.split(':');
  if (target === undefined) {
    builder.leaveOut(key, tree, ANONYMOUS);
    return null;
  }
  if (source === '') {
    builder.refuse(key, tree, 'has no source before its colon; is a variable empty?');
    return null;
  }
  const flags = mode.split(',').filter((flag) => !IGNORED_MODES.test(flag));
  return mountOf(sourceOf(source, key, tree, builder), target, flags);
}

function mountOf(source: string, target: string, flags: readonly string[]): string {
  return [source, target, ...(flags.length === 0 ? [] : [flags.join(',')])].join(':');
}

/** Returns what is mounted: an absolute path of the device, or the name that Compose gives to the volume. */
function sourceOf(source: string, key: string, place: Position, builder: AppBuilder): string {
  return /^[./~]/.test(source)
    ? bindSource(source, key, place, builder)
    : volumeName(source, key, place, builder);
}

function bindSource(source: string, key: string, place: Position, builder: AppBuilder): string {
  const path = resolvePath(source, builder.project);
  if (!source.startsWith('/'))
    builder.check(key, place, `is ${path}: devices need it at this path; copy it there, or change the path`);
  return path;
}

function volumeName(source: string, key: string, place: Position, builder: AppBuilder): string {
  const { name: project, volumes } = builder.project;
  const volume = volumes.get(source);
  const prefixed = `${project}_${source}`;
  if (volume?.type !== 'map') return prefixed;
  if (volume.entries.has('driver_opts') || !isLocal(volume))
    builder.check(
      key,
      place,
      'uses a volume with a driver or options, which devices do not know; create it on each device: docker volume create',
    );
  if (isExternal(volume))
    builder.check(key, place, 'must exist on each device with its data, else an engine makes an empty one');
  return nameOf(volume) ?? (isExternal(volume) ? source : prefixed);
}

function isLocal(volume: MapTree): boolean {
  const driver = valueAt(volume, 'driver');
  return driver === undefined || (driver.type === 'scalar' && driver.value === 'local');
}

/** Whether a volume or network exists already: Compose does not create it, nor put the project before its name. */
export function isExternal(resource: MapTree): boolean {
  const external = valueAt(resource, 'external');
  return external !== undefined && !(external.type === 'scalar' && /^false$/i.test(String(external.value)));
}

/** Returns the name that a volume or network has in the engine, if the file says it. */
export function nameOf(resource: MapTree): string | undefined {
  const external = valueAt(resource, 'external');
  // Older files have the name of an external one there.
  const name =
    valueAt(resource, 'name') ?? (external?.type === 'map' ? valueAt(external, 'name') : undefined);
  return name?.type === 'scalar' ? String(name.value) : undefined;
}

const LONG = ['type', 'source', 'target', 'read_only', 'bind', 'volume', 'tmpfs', 'consistency'];
const VOLUME_ADVICE = {
  subpath: 'has no counterpart: the whole volume is mounted; mount a path of the device in its place',
};

function longMount(map: MapTree, key: string, builder: AppBuilder): string | null {
  noteOthers(map, key, builder, LONG);
  const part = (name: string): string => {
    const value = valueAt(map, name);
    return value === undefined ? '' : (textOf(value, `${key}.${name}`, builder) ?? '');
  };
  const [type, source, target] = [part('type'), part('source'), part('target')];
  if (type === 'tmpfs') return addTmpfs(target, map, key, builder);
  if (type !== 'bind' && type !== 'volume') {
    builder.leaveOut(key, map, `has a type that has no counterpart; use bind, volume or tmpfs`);
    return null;
  }
  if (source === '') {
    builder.leaveOut(key, map, ANONYMOUS);
    return null;
  }
  const mounted =
    type === 'bind' ? bindSource(source, key, map, builder) : volumeName(source, key, map, builder);
  return mountOf(mounted, target, flagsOf(map, key, builder));
}

function flagsOf(map: MapTree, key: string, builder: AppBuilder): string[] {
  return [
    ...(isOn(map, 'read_only', key, builder) ? ['ro'] : []),
    ...bindFlags(valueAt(map, 'bind'), `${key}.bind`, builder),
    ...volumeFlags(valueAt(map, 'volume'), `${key}.volume`, builder),
  ];
}

function bindFlags(bind: Tree | undefined, key: string, builder: AppBuilder): string[] {
  if (bind?.type !== 'map') return [];
  noteOthers(bind, key, builder, ['create_host_path', 'propagation', 'selinux']);
  return ['selinux', 'propagation'].flatMap((name) => {
    const value = valueAt(bind, name);
    return value === undefined ? [] : (textOf(value, `${key}.${name}`, builder) ?? []);
  });
}

function volumeFlags(volume: Tree | undefined, key: string, builder: AppBuilder): string[] {
  if (volume?.type !== 'map') return [];
  noteOthers(volume, key, builder, ['nocopy'], VOLUME_ADVICE);
  return isOn(volume, 'nocopy', key, builder) ? ['nocopy'] : [];
}

function isOn(map: MapTree, name: string, key: string, builder: AppBuilder): boolean {
  const value = valueAt(map, name);
  return value !== undefined && booleanOf(value, `${key}.${name}`, builder) === true;
}

/** Adds a mount of the type tmpfs to the field of that name. */
function addTmpfs(target: string, map: MapTree, key: string, builder: AppBuilder): null {
  const options: string[] = [];
  const tmpfs = valueAt(map, 'tmpfs');
  if (tmpfs?.type === 'map')
    for (const [name, read] of Object.entries({ size: sizeOf, mode: modeOf })) {
      const value = valueAt(tmpfs, name);
      const text = value === undefined ? undefined : read(value, `${key}.tmpfs.${name}`, builder);
      if (text !== undefined) options.push(`${name}=${text}`);
    }
  const text = target + (options.length === 0 ? '' : `:${options.join(',')}`);
  addTo('tmpfs', [{ text, key, line: map.line, column: map.column }], map, builder);
  return null;
}

function sizeOf(tree: Tree, key: string, builder: AppBuilder): string | undefined {
  const bytes = bytesOf(textOf(tree, key, builder) ?? '');
  if (bytes !== undefined) return sizeText(bytes);
  builder.refuse(key, tree, 'must be a size such as 512m or 1g');
  return undefined;
}

/** Returns a mode in octal digits: those of a text, or of the number that YAML made of them. */
function modeOf(tree: Tree, key: string, builder: AppBuilder): string | undefined {
  const isNumber = tree.type === 'scalar' && typeof tree.value === 'number' && Number.isInteger(tree.value);
  const text = isNumber ? Number(tree.value).toString(8) : textOf(tree, key, builder)?.replace(/^0o?/i, '');
  if (isNumber && tree.source === undefined)
    builder.check(key, tree, 'is decimal, as in Compose; if its digits are octal, put a 0 before them');
  if (text !== undefined && /^[0-7]{1,4}$/.test(text)) return text;
  builder.refuse(key, tree, 'must be a mode in octal digits, such as 0o1777');
  return undefined;
}

/** Reads `tmpfs`: a path, or a list of them, each with options behind a colon. */
export function readTmpfs(tree: Tree, builder: AppBuilder): void {
  const { line, column } = tree;
  const texts = textsOf(tree, 'tmpfs', builder, true);
  addTo(
    'tmpfs',
    texts.map((text, index) => ({ text, key: `tmpfs[${index}]`, line, column })),
    tree,
    builder,
  );
}

/** Adds texts to a field, each with the key and place that it comes from. */
function addTo(
  field: string,
  items: readonly (Position & { text: string; key: string })[],
  place: Position,
  builder: AppBuilder,
): void {
  const present = (builder.fields[field] as string[] | undefined) ?? [];
  items.forEach((item, index) => {
    builder.places.set(`${field}[${present.length + index}]`, item);
  });
  builder.set(field, [...present, ...items.map(({ text }) => text)], place);
}

/** Reads `devices`: `/dev/a:/dev/b:rw`, `/dev/a`, and maps with `source` and `target`. */
export function readDevices(tree: Tree, builder: AppBuilder): void {
  const devices = itemsOf(tree, 'devices', builder).flatMap((item, index) => {
    const key = `devices[${index}]`;
    const text = item.type === 'map' ? longDevice(item, key, builder) : textOf(item, key, builder);
    if (text === undefined || text === '') return [];
    if (text.startsWith('/')) return text.includes(':') ? text : `${text}:${text}`;
    builder.leaveOut(key, item, 'is a CDI device, which has no counterpart; name the files in /dev');
    return [];
  });
  builder.set('devices', devices, tree);
}

function longDevice(map: MapTree, key: string, builder: AppBuilder): string | undefined {
  noteOthers(map, key, builder, ['source', 'target', 'permissions']);
  const parts = ['source', 'target', 'permissions'].map((name) => {
    const value = valueAt(map, name);
    return value === undefined ? '' : (textOf(value, `${key}.${name}`, builder) ?? '');
  });
  const [source = '', target = '', permissions = ''] = parts;
  return [source, target || source, ...(permissions === '' ? [] : [permissions])].join(':');
}
