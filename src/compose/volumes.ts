import type { Position } from '../desired/yaml/document.ts';
import type { AppDraft } from './draft.ts';
import { resolvePath } from './paths.ts';
import type { MapTree, Tree } from './tree.ts';
import { bytesOf, sizeText } from './units.ts';
import { booleanOf, itemsOf, noteOthers, textOf, textsOf, valueAt } from './values.ts';

/** Modes of Docker Desktop, which mean nothing on Linux. */
const IGNORED_MODES = /^(cached|delegated|consistent|)$/;

/** Reads `volumes`: `./folder:/target:ro`, `volume:/target`, and maps with `type`, `source` and `target`. */
export function readVolumes(tree: Tree, draft: AppDraft): void {
  const mounts = itemsOf(tree, 'volumes', draft).flatMap((item, index) => {
    const key = `volumes[${index}]`;
    return (item.type === 'map' ? longMount(item, key, draft) : shortMount(item, key, draft)) ?? [];
  });
  if (mounts.length > 0) draft.set('volumes', mounts, tree);
}

const ANONYMOUS = 'has no name, so its data would be lost with the container; write NAME:/path to keep it';

function shortMount(tree: Tree, key: string, draft: AppDraft): string | null {
  const text = textOf(tree, key, draft);
  if (text === undefined) return null;
  const [source = '', target, mode = ''] = text.split(':');
  if (target === undefined) {
    draft.leaveOut(key, tree, ANONYMOUS);
    return null;
  }
  if (source === '') {
    draft.refuse(key, tree, 'has no source before its colon; is a variable empty?');
    return null;
  }
  const flags = mode.split(',').filter((flag) => !IGNORED_MODES.test(flag));
  return mountOf(sourceOf(source, key, tree, draft), target, flags);
}

function mountOf(source: string, target: string, flags: readonly string[]): string {
  return [source, target, ...(flags.length === 0 ? [] : [flags.join(',')])].join(':');
}

/** Returns what is mounted: an absolute path of the device, or the name that Compose gives to the volume. */
function sourceOf(source: string, key: string, place: Position, draft: AppDraft): string {
  return /^[./~]/.test(source)
    ? bindSource(source, key, place, draft)
    : volumeName(source, key, place, draft);
}

function bindSource(source: string, key: string, place: Position, draft: AppDraft): string {
  const path = resolvePath(source, draft.project);
  if (!source.startsWith('/'))
    draft.check(key, place, `is ${path}: devices need it at this path; copy it there, or change the path`);
  return path;
}

function volumeName(source: string, key: string, place: Position, draft: AppDraft): string {
  const { name: project, volumes } = draft.project;
  const volume = volumes.get(source);
  const prefixed = `${project}_${source}`;
  if (volume?.type !== 'map') return prefixed;
  if (volume.entries.has('driver_opts') || !isLocal(volume))
    draft.check(
      key,
      place,
      'uses a volume with a driver or options, which devices do not know; create it on each device: docker volume create',
    );
  if (isExternal(volume))
    draft.check(key, place, 'must exist on each device with its data, else an engine makes an empty one');
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

function longMount(map: MapTree, key: string, draft: AppDraft): string | null {
  noteOthers(map, key, draft, LONG);
  const part = (name: string): string => {
    const value = valueAt(map, name);
    return value === undefined ? '' : (textOf(value, `${key}.${name}`, draft) ?? '');
  };
  const [type, source, target] = [part('type'), part('source'), part('target')];
  if (type === 'tmpfs') return addTmpfs(target, map, key, draft);
  if (type !== 'bind' && type !== 'volume') {
    draft.leaveOut(key, map, `has a type that has no counterpart; use bind, volume or tmpfs`);
    return null;
  }
  if (source === '') {
    draft.leaveOut(key, map, ANONYMOUS);
    return null;
  }
  const mounted = type === 'bind' ? bindSource(source, key, map, draft) : volumeName(source, key, map, draft);
  return mountOf(mounted, target, flagsOf(map, key, draft));
}

function flagsOf(map: MapTree, key: string, draft: AppDraft): string[] {
  return [
    ...(isOn(map, 'read_only', key, draft) ? ['ro'] : []),
    ...bindFlags(valueAt(map, 'bind'), `${key}.bind`, draft),
    ...volumeFlags(valueAt(map, 'volume'), `${key}.volume`, draft),
  ];
}

function bindFlags(bind: Tree | undefined, key: string, draft: AppDraft): string[] {
  if (bind?.type !== 'map') return [];
  noteOthers(bind, key, draft, ['create_host_path', 'propagation', 'selinux']);
  return ['selinux', 'propagation'].flatMap((name) => {
    const value = valueAt(bind, name);
    return value === undefined ? [] : (textOf(value, `${key}.${name}`, draft) ?? []);
  });
}

function volumeFlags(volume: Tree | undefined, key: string, draft: AppDraft): string[] {
  if (volume?.type !== 'map') return [];
  noteOthers(volume, key, draft, ['nocopy'], VOLUME_ADVICE);
  return isOn(volume, 'nocopy', key, draft) ? ['nocopy'] : [];
}

function isOn(map: MapTree, name: string, key: string, draft: AppDraft): boolean {
  const value = valueAt(map, name);
  return value !== undefined && booleanOf(value, `${key}.${name}`, draft) === true;
}

/** Adds a mount of the type tmpfs to the field of that name. */
function addTmpfs(target: string, map: MapTree, key: string, draft: AppDraft): null {
  const options: string[] = [];
  const tmpfs = valueAt(map, 'tmpfs');
  if (tmpfs?.type === 'map')
    for (const [name, read] of Object.entries({ size: sizeOf, mode: modeOf })) {
      const value = valueAt(tmpfs, name);
      const text = value === undefined ? undefined : read(value, `${key}.tmpfs.${name}`, draft);
      if (text !== undefined) options.push(`${name}=${text}`);
    }
  const text = target + (options.length === 0 ? '' : `:${options.join(',')}`);
  addTo('tmpfs', [{ text, key, line: map.line, column: map.column }], map, draft);
  return null;
}

function sizeOf(tree: Tree, key: string, draft: AppDraft): string | undefined {
  const bytes = bytesOf(textOf(tree, key, draft) ?? '');
  if (bytes !== undefined) return sizeText(bytes);
  draft.refuse(key, tree, 'must be a size such as 512m or 1g');
  return undefined;
}

/** Returns a mode in octal digits: those of a text, or of the number that YAML made of them. */
function modeOf(tree: Tree, key: string, draft: AppDraft): string | undefined {
  const isNumber = tree.type === 'scalar' && typeof tree.value === 'number' && Number.isInteger(tree.value);
  const text = isNumber ? Number(tree.value).toString(8) : textOf(tree, key, draft)?.replace(/^0o?/i, '');
  if (isNumber && tree.source === undefined)
    draft.check(key, tree, 'is decimal, as in Compose; if its digits are octal, put a 0 before them');
  if (text !== undefined && /^[0-7]{1,4}$/.test(text)) return text;
  draft.refuse(key, tree, 'must be a mode in octal digits, such as 0o1777');
  return undefined;
}

/** Reads `tmpfs`: a path, or a list of them, each with options behind a colon. */
export function readTmpfs(tree: Tree, draft: AppDraft): void {
  const { line, column } = tree;
  const texts = textsOf(tree, 'tmpfs', draft, true);
  addTo(
    'tmpfs',
    texts.map((text, index) => ({ text, key: `tmpfs[${index}]`, line, column })),
    tree,
    draft,
  );
}

/** Adds texts to a field, each with the key and place that it comes from. */
function addTo(
  field: string,
  items: readonly (Position & { text: string; key: string })[],
  place: Position,
  draft: AppDraft,
): void {
  const present = (draft.fields[field] as string[] | undefined) ?? [];
  items.forEach((item, index) => {
    draft.places.set(`${field}[${present.length + index}]`, item);
  });
  draft.set(field, [...present, ...items.map(({ text }) => text)], place);
}

/** Reads `devices`: `/dev/a:/dev/b:rw`, `/dev/a`, and maps with `source` and `target`. */
export function readDevices(tree: Tree, draft: AppDraft): void {
  const devices = itemsOf(tree, 'devices', draft).flatMap((item, index) => {
    const key = `devices[${index}]`;
    const text = item.type === 'map' ? longDevice(item, key, draft) : textOf(item, key, draft);
    if (text === undefined || text === '') return [];
    if (text.startsWith('/')) return text.includes(':') ? text : `${text}:${text}`;
    draft.leaveOut(key, item, 'is a CDI device, which has no counterpart; name the files in /dev');
    return [];
  });
  draft.set('devices', devices, tree);
}

function longDevice(map: MapTree, key: string, draft: AppDraft): string | undefined {
  noteOthers(map, key, draft, ['source', 'target', 'permissions']);
  const parts = ['source', 'target', 'permissions'].map((name) => {
    const value = valueAt(map, name);
    return value === undefined ? '' : (textOf(value, `${key}.${name}`, draft) ?? '');
  });
  const [source = '', target = '', permissions = ''] = parts;
  return [source, target || source, ...(permissions === '' ? [] : [permissions])].join(':');
}
