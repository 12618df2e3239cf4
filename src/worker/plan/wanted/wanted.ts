import { type AppRecord, readAppRecord } from '../../../protocol/info.ts';
import { parsePort } from '../../../protocol/ports.ts';
import type { Obstacle, Wanted, WantedApp } from '../model.ts';
import { contentOf } from './content.ts';
import { containerCount, type Machine } from './count.ts';
import { powersOf } from './powers.ts';

/** What a device lets its manager do. */
export interface Policy {
  maxContainers: number;
  allowPrivileged: boolean;
  /** Folders of the machine that may be mounted, without a slash at their ends; null for all. */
  allowMounts: readonly string[] | null;
  /** Beginnings of references that may be used; null for all. */
  allowImages: readonly string[] | null;
}

/** A reply whose shape is right. The fields of its apps are not checked yet. */
export interface CheckedInfo {
  groupId: number;
  pruneId: number;
  apps: readonly { name: string; id: number; record: Readonly<Record<string, unknown>> }[];
}

/** Returns what a reply asks of this machine. An app that cannot be done is left as it is, and the others are done. */
export function readWanted(reply: CheckedInfo, source: string, machine: Machine, policy: Policy): Wanted {
  const { groupId, pruneId, apps } = reply;
  return { source, groupId, pruneId, apps: apps.map((app) => readApp(app, machine, policy)) };
}

function readApp(
  { name, id, record }: CheckedInfo['apps'][number],
  machine: Machine,
  policy: Policy,
): WantedApp {
  const { app, problem } = readAppRecord(record);
  if (app === null)
    return {
      name,
      id,
      record: null,
      content: '',
      count: 0,
      obstacle: { code: 'invalid-app', text: problem },
    };
  const count = app.running ? containerCount(app.containers_per, machine) : 0;
  return {
    name,
    id,
    record: app,
    content: contentOf(app),
    count,
    obstacle: obstacleOf(app, count, policy),
  };
}

function obstacleOf(app: AppRecord, count: number, policy: Policy): Obstacle | null {
  if (count > policy.maxContainers) {
    const text = `containers_per asks for ${count} containers here; MAX_CONTAINERS is ${policy.maxContainers}`;
    return { code: 'too-many-containers', text };
  }
  const highest = app.starting_ports
    .map(parsePort)
    .find(({ hostPort }) => hostPort + Math.max(count, 1) - 1 > 65_535);
  if (highest !== undefined)
    return {
      code: 'invalid-app',
      text: `port ${highest.hostPort} is too high for ${count} containers, which need one port each: the last is 65535`,
    };
  const refusal = refusalOf(app, policy);
  return refusal === null ? null : { code: 'not-allowed', text: refusal };
}

/** Returns what this device does not allow of an app; null if it allows all of it. */
function refusalOf(app: AppRecord, { allowPrivileged, allowMounts, allowImages }: Policy): string | null {
  if (app.privileged && !allowPrivileged) return 'ALLOW_PRIVILEGED is false on this device';
  if (allowImages !== null && !allowImages.some((start) => app.container_image.startsWith(start)))
    return `ALLOW_IMAGES of this device does not allow ${app.container_image}`;
  const mount = app.volumes.map(sourceOfMount).find((source) => !isAllowedMount(source, allowMounts));
  if (mount !== undefined) return `ALLOW_MOUNTS of this device does not allow ${mount}`;
  const power = allowPrivileged ? undefined : powersOf(app)[0];
  return power === undefined ? null : `ALLOW_PRIVILEGED is false on this device, which forbids ${power}`;
}

function sourceOfMount(volume: string): string {
  return volume.split(':')[0] ?? '';
}

/** Named volumes are always allowed. A path with `..` never is where there are limits. */
function isAllowedMount(source: string, allowed: readonly string[] | null): boolean {
  if (!source.startsWith('/') || allowed === null) return true;
  if (source.split('/').includes('..')) return false;
  const path = `/${source
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
  return allowed.some((folder) => path === folder || folder === '/' || path.startsWith(`${folder}/`));
}

/**
 * Returns why a reply is not accepted, given the last one that was; null if it is. A lower id of the group comes from a
 * manager whose cache is old, and nobody takes an app away without a higher one.
 */
export function refuse(reply: CheckedInfo, groupId: number | null, apps: readonly string[]): Obstacle | null {
  if (groupId === null) return null;
  if (reply.groupId < groupId) {
    const text = `the manager says device_group_id ${reply.groupId}, but this device has seen ${groupId}`;
    return { code: 'ids-behind', text };
  }
  if (reply.groupId > groupId) return null;
  const gone = apps.find((name) => !reply.apps.some((app) => app.name === name));
  if (gone === undefined) return null;
  return { code: 'bad-reply', text: `the app ${gone} left the group, but device_group_id did not rise` };
}
