import type { AppBuilder } from './builder.ts';
import type { Mount, Service } from './project.ts';
import { bytesOf, sizeText } from './units.ts';

const ANONYMOUS = 'has no name, so its data would be lost with the container; write NAME:/path to keep it';
const KNOWN = ['type', 'source', 'target', 'read_only', 'bind', 'volume', 'tmpfs', 'consistency'];
const VOLUME_ADVICE = {
  subpath: 'has no counterpart: the whole volume is mounted; mount a path of the device in its place',
};

/** Reads `volumes`: folders of the device, named volumes, and mounts of the type tmpfs, which become `tmpfs`. */
export function readVolumes(mounts: readonly Mount[], builder: AppBuilder): void {
  const volumes = mounts.flatMap((mount, index) => mountOf(mount, `volumes[${index}]`, builder) ?? []);
  if (volumes.length > 0) builder.set('volumes', volumes);
}

function mountOf(mount: Mount, key: string, builder: AppBuilder): string | null {
  builder.leaveOthersOut(mount, key, KNOWN);
  const { type, source, target } = mount;
  if (type === 'tmpfs') {
    addTmpfs([tmpfsOf(mount)], builder);
    return null;
  }
  if (type !== 'bind' && type !== 'volume') {
    builder.leaveOut(key, 'has a type that has no counterpart; use bind, volume or tmpfs');
    return null;
  }
  if (source === undefined) {
    builder.leaveOut(key, ANONYMOUS);
    return null;
  }
  const mounted = type === 'bind' ? bindSource(source, key, builder) : volumeName(source, key, builder);
  const flags = flagsOf(mount, key, builder);
  return [mounted, target, ...(flags.length === 0 ? [] : [flags.join(',')])].join(':');
}

function bindSource(path: string, key: string, builder: AppBuilder): string {
  if (builder.ownFolders.some((folder) => `${path}/`.startsWith(`${folder}/`)))
    builder.check(key, `is ${path}: devices need it at this path; copy it there, or change the path`);
  return path;
}

function volumeName(source: string, key: string, builder: AppBuilder): string {
  const volume = builder.project.volumes[source];
  if (volume === undefined) return source;
  if (volume.driver_opts !== undefined || (volume.driver ?? 'local') !== 'local')
    builder.check(
      key,
      'uses a volume with a driver or options, which devices do not know; create it on each device: docker volume create',
    );
  if (volume.external === true)
    builder.check(key, 'must exist on each device with its data, else an engine makes an empty one');
  return volume.name ?? source;
}

function flagsOf({ read_only, bind = {}, volume = {} }: Mount, key: string, builder: AppBuilder): string[] {
  builder.leaveOthersOut(bind, `${key}.bind`, ['create_host_path', 'propagation', 'selinux']);
  builder.leaveOthersOut(volume, `${key}.volume`, ['nocopy'], VOLUME_ADVICE);
  const { selinux, propagation } = bind;
  return [
    read_only === true ? 'ro' : undefined,
    selinux,
    propagation,
    volume.nocopy ? 'nocopy' : undefined,
  ].filter((flag) => flag !== undefined);
}

function tmpfsOf({ target, tmpfs = {} }: Mount): string {
  const bytes = bytesOf(tmpfs.size ?? '');
  const options = [
    ...(bytes === undefined ? [] : [`size=${sizeText(bytes)}`]),
    ...(tmpfs.mode === undefined ? [] : [`mode=${tmpfs.mode.toString(8)}`]),
  ];
  return options.length === 0 ? target : `${target}:${options.join(',')}`;
}

/** Adds paths, each with options behind a colon, to those that are there. */
export function addTmpfs(paths: readonly string[], builder: AppBuilder): void {
  const present = (builder.fields['tmpfs'] as string[] | undefined) ?? [];
  builder.set('tmpfs', [...present, ...paths]);
}

/** Reads `devices`: files in /dev. */
export function readDevices(devices: NonNullable<Service['devices']>, builder: AppBuilder): void {
  const mapped = devices.flatMap((device, index) => {
    const { source, target, permissions } =
      typeof device === 'string' ? { source: device, target: device, permissions: 'rwm' } : device;
    if (source.startsWith('/'))
      return permissions === 'rwm' ? `${source}:${target}` : `${source}:${target}:${permissions}`;
    builder.leaveOut(
      `devices[${index}]`,
      'is a CDI device, which has no counterpart; name the files in /dev',
    );
    return [];
  });
  builder.set('devices', mapped);
}
