import { type Container, ROLES, type Role, type WantedApp } from './model.ts';

/** Labels by which a worker finds its containers again. They say what was done (docs/devices.md). */
const LABEL = {
  app: 'holdfast.app',
  slot: 'holdfast.slot',
  appId: 'holdfast.app_id',
  content: 'holdfast.content',
  count: 'holdfast.count',
  source: 'holdfast.source',
  worker: 'holdfast.worker',
} as const;

type Labels = Readonly<Record<string, string>>;

/** What the labels of a container say. */
export type Labelled = Pick<Container, 'app' | 'slot' | 'appId' | 'content' | 'count' | 'source'>;

/** Returns the labels of a new container. */
export function labelsFor(
  { name, id, content, count }: Pick<WantedApp, 'name' | 'id' | 'content' | 'count'>,
  { slot, source, worker }: { slot: number; source: string; worker: string },
): Record<string, string> {
  return {
    [LABEL.app]: name,
    [LABEL.slot]: String(slot),
    [LABEL.appId]: String(id),
    [LABEL.content]: content,
    [LABEL.count]: String(count),
    [LABEL.source]: source,
    [LABEL.worker]: worker,
  };
}

/** Returns what the labels say; null for a container of somebody else, or of another worker of this engine. */
export function readLabels(labels: Labels, worker: string): Labelled | null {
  const app = labels[LABEL.app];
  if (app === undefined || labels[LABEL.worker] !== worker) return null;
  return {
    app,
    slot: wholeNumber(labels[LABEL.slot]) || 1,
    appId: wholeNumber(labels[LABEL.appId]),
    content: labels[LABEL.content] ?? '',
    count: wholeNumber(labels[LABEL.count]),
    source: labels[LABEL.source] ?? '',
  };
}

/** Returns the app and slot of a container that Nebula's worker made (`orchestrator=nebula`); null for any other. */
export function readNebulaLabels(labels: Labels, name: string): Labelled | null {
  const app = labels['app_name'];
  if (labels['orchestrator'] !== 'nebula' || app === undefined) return null;
  const slot = wholeNumber(/-(\d+)(?:\.(?:next|old|failed))?$/.exec(name)?.[1]) || 1;
  return { app, slot, appId: 0, content: '', count: 0, source: '' };
}

function wholeNumber(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

const SUFFIX: Readonly<Record<Role, string>> = {
  current: '',
  next: '.next',
  joining: '.next.joining',
  old: '.old',
  failed: '.failed',
};

/** Returns the name of a container: `web-1`, `web-1.next`. The prefix is that of the worker. */
export function containerName(prefix: string, app: string, slot: number, role: Role): string {
  return `${prefix}${app}-${slot}${SUFFIX[role]}`;
}

/** Returns the role of the container of a slot that has a name; null if none of its containers is named so. */
export function roleOf(name: string, prefix: string, app: string, slot: number): Role | null {
  return ROLES.find((role) => containerName(prefix, app, slot, role) === name) ?? null;
}
