import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { classifyPath } from '../../desired/file.ts';
import { HoldfastError } from '../../errors.ts';
import { type AppCounts, countingApps } from '../../fleet/app-counts.ts';
import { countDevices } from '../../fleet/counts.ts';
import type { Known } from '../../fleet/state.ts';
import type { GroupCounts } from '../../protocol/device.ts';
import {
  INVENTORY_SORTS,
  INVENTORY_STATES,
  type InventoryApp,
  InventoryAppPage,
  type InventoryGroup,
  InventoryGroupPage,
  type InventorySort,
  type InventoryState,
} from '../../protocol/inventory.ts';
import { type Kind, keyOf, NAME_PATTERN } from '../../protocol/name.ts';
import type { Api } from '../api.ts';
import { commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { pageSize } from '../request/page.ts';
import { Text } from '../request/query.ts';

const Query = z.strictObject({
  q: Text.optional().describe('A part of the name.'),
  group: Text.optional().describe('Of apps: those that this device group lists.'),
  state: z
    .enum(INVENTORY_STATES, { error: `must be one of ${INVENTORY_STATES.join(', ')}` })
    .optional()
    .describe('`held_back`: its file has a problem. `failing`: it fails on a device.'),
  sort: z
    .enum(INVENTORY_SORTS, { error: `must be one of ${INVENTORY_SORTS.join(', ')}` })
    .default('name')
    .describe(
      '`-` turns the order round. `last_change` and `behind` begin with the newest, and with the most.',
    ),
  page_size: pageSize(50),
  after: Text.regex(NAME_PATTERN, 'must be a cursor, as `next` of the page before has it').optional(),
});

const tag = 'manager';
const appsRoute = route('GET', '/api/v2/inventory/apps', {
  operationId: 'listInventoryApps',
  action: 'read',
  summary: 'List the apps, with how many devices have each',
  tag,
  query: Query,
  reply: [200, json('A page of apps.', InventoryAppPage)],
  errors: { ...commonErrors, ...parameterErrors },
});
const groupsRoute = route('GET', '/api/v2/inventory/device_groups', {
  operationId: 'listInventoryDeviceGroups',
  action: 'read',
  summary: 'List the device groups, with how their devices are',
  tag,
  query: Query.omit({ group: true }),
  reply: [200, json('A page of device groups.', InventoryGroupPage)],
  errors: { ...commonErrors, ...parameterErrors },
});

/** What there is, and how it is on devices (docs/fleet.md). */
export function inventoryRoutes(app: FastifyInstance, api: Api): void {
  appsRoute(app, async ({ query }) => {
    const known = await api.fleet.known();
    const rows = appRows(known, api).filter((row) => matches(row, query));
    const { page, next } = pageOf(rows, query);
    const apps = await Promise.all(page.map((row) => appRecord(row, api)));
    return { apps, next, total: rows.length } satisfies InventoryAppPage;
  });
  groupsRoute(app, async ({ query }) => {
    const known = await api.fleet.known();
    const rows = groupRows(known, api).filter((row) => matches(row, query));
    const { page, next } = pageOf(rows, query);
    const groups = await Promise.all(page.map((row) => groupRecord(row, api)));
    return { device_groups: groups, next, total: rows.length } satisfies InventoryGroupPage;
  });
}

/** A row, and what it is selected and sorted by. */
interface Row<Counts> {
  name: string;
  counts: Counts;
  /** The id sequence of its last change: they are in the order of these. */
  changed: number;
  groups: readonly string[];
  states: readonly InventoryState[];
}

interface PageQuery {
  q?: string | undefined;
  group?: string | undefined;
  state?: InventoryState | undefined;
  sort: InventorySort;
  page_size: number;
  after?: string | undefined;
}

function appRows(known: Known, api: Api): Row<AppCounts>[] {
  const { apps, groups } = known.standard.served;
  const countsOf = countingApps(known);
  const heldBack = keysWithProblems(api);
  const listing = new Map<string, string[]>();
  for (const [group, served] of groups)
    for (const app of served.apps) listing.set(app, [...(listing.get(app) ?? []), group]);
  const applied = requireApplied(api);
  return Array.from(apps, ([name, { changed }]) => {
    const counts = countsOf(name);
    const states = statesOf(
      applied.app(name)?.running !== false,
      heldBack.has(keyOf('app', name)),
      counts.failed,
    );
    return { name, counts, changed, groups: listing.get(name) ?? [], states };
  });
}

function groupRows(known: Known, api: Api): Row<GroupCounts>[] {
  const { groups } = countDevices(known, api.fleet.anonymousPolls());
  const heldBack = keysWithProblems(api);
  return groups.flatMap((counts) => {
    const served = known.standard.served.groups.get(counts.group);
    if (served === undefined) return [];
    const states = statesOf(
      served.apps.length > 0,
      heldBack.has(keyOf('device_group', counts.group)),
      counts.failed,
    );
    const changed = Math.max(served.changed, served.pruned);
    return { name: counts.group, counts, changed, groups: [counts.group], states };
  });
}

function statesOf(isRunning: boolean, isHeldBack: boolean, failed: number): InventoryState[] {
  return [
    isRunning ? 'running' : 'stopped',
    ...(isHeldBack ? (['held_back'] as const) : []),
    ...(failed > 0 ? (['failing'] as const) : []),
  ];
}

function keysWithProblems({ reconciler }: Api): Set<string> {
  const errors = reconciler.status().problems.filter(({ severity }) => severity === 'error');
  return new Set(
    errors.flatMap(({ file }) => {
      const role = classifyPath(file);
      return role.role === 'object' ? [keyOf(role.kind, role.name)] : [];
    }),
  );
}

function matches({ name, groups, states }: Row<unknown>, { q, group, state }: PageQuery): boolean {
  return (
    (q === undefined || name.toLowerCase().includes(q.toLowerCase())) &&
    (group === undefined || groups.includes(group)) &&
    (state === undefined || states.includes(state))
  );
}

/** A cursor is the name of the last row. A page goes on behind it where it stands now. */
function pageOf<Counts extends { behind: number }>(
  rows: readonly Row<Counts>[],
  { sort, page_size: size, after }: PageQuery,
): { page: Row<Counts>[]; next: string | null } {
  const compare = ORDERS[sort.replace(/^-/, '') as keyof typeof ORDERS];
  const sign = sort.startsWith('-') ? -1 : 1;
  const sorted = [...rows].sort((a, b) => sign * (compare(a, b) || (a.name < b.name ? -1 : 1)));
  const start = after === undefined ? 0 : sorted.findIndex(({ name }) => name === after) + 1;
  const page = sorted.slice(start, start + size);
  return { page, next: start + size < sorted.length ? (page.at(-1)?.name ?? null) : null };
}

type Compared = Row<{ behind: number }>;

const ORDERS = {
  name: () => 0,
  last_change: (a: Compared, b: Compared) => b.changed - a.changed,
  behind: (a: Compared, b: Compared) => b.counts.behind - a.counts.behind,
} as const;

async function appRecord({ name, counts, changed, states }: Row<AppCounts>, api: Api): Promise<InventoryApp> {
  const app = requireApplied(api).app(name);
  return {
    name,
    container_image: app?.container_image ?? '',
    running: states.includes('running'),
    ...counts,
    problem: states.includes('held_back'),
    last_change: await lastChange('app', name, changed, api),
  };
}

async function groupRecord(
  { name, counts, changed, states }: Row<GroupCounts>,
  api: Api,
): Promise<InventoryGroup> {
  const { devices, current, behind, failed, silent } = counts;
  const stored = (await api.store.object('device_group', name)).value;
  return {
    name,
    apps: stored?.content.apps.length ?? 0,
    prune_id: stored?.pruneId ?? 0,
    ...{ devices, current, behind, failed, silent },
    problem: states.includes('held_back'),
    last_change: await lastChange('device_group', name, changed, api),
  };
}

async function lastChange(
  kind: Kind,
  name: string,
  changed: number,
  { past }: Api,
): Promise<InventoryApp['last_change']> {
  const entry = await past.firstSince(changed - 1, [keyOf(kind, name)]);
  if (entry === null) return null;
  return {
    at: new Date(entry.appliedAt ?? entry.at).toISOString(),
    actor: entry.actor.name,
    revision: entry.revision,
  };
}

function requireApplied({ reconciler }: Api) {
  const applied = reconciler.passes.memory()?.applied;
  if (applied !== undefined) return applied;
  throw new HoldfastError('unavailable', 'the manager has not read what is applied yet; try again');
}
