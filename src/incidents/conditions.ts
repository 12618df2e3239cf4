import { classifyPath } from '../desired/file.ts';
import type { RecordStatus } from '../ids/keeper/status.ts';
import type { Convergence } from '../protocol/device.ts';
import { keyOf, type ObjectKey } from '../protocol/name.ts';
import type { Status } from '../reconcile/status.ts';
import type { Incident, IncidentKind } from '../store/incidents/incident.ts';

/** Something that is wrong now. `since` is known for some, in Unix milliseconds. */
export type Condition = Pick<Incident, 'key' | 'kind' | 'text' | 'objects' | 'groups'> & {
  since: number | null;
};

/** What conditions are found in. */
export interface Seen {
  status: Status;
  /** Whether a pass of this process has read the branch. */
  hasRead: boolean;
  record: Pick<RecordStatus, 'problem'>;
  /** Why the store cannot be read; null if it can. */
  storeProblem: string | null;
  /** Null if the store cannot be read. */
  convergence: Convergence | null;
  /** Who made the commit of a revision that is refused; null if that is not known. */
  author: string | null;
  /** The groups that list an app. */
  groupsListing(app: string): Iterable<string>;
}

/** How many devices of a group may be failed or silent: a share of them, or a number. */
export interface AlertLimits {
  failed: Limit;
  silent: Limit;
}

/** A share of all, from 0 to 1, or a number. */
export type Limit = { share: number } | { number: number };

/** What is wrong, each key once; and the kinds of which nothing is known now, whose incidents therefore last. */
export interface Conditions {
  found: Condition[];
  unknown: readonly IncidentKind[];
}

/** Returns what is wrong. */
export function conditionsOf(seen: Seen, limits: AlertLimits): Conditions {
  const found = [
    ...managerConditions(seen),
    ...problemConditions(seen),
    ...groupConditions(seen.convergence, limits),
  ];
  return { found, unknown: unknownTo(seen) };
}

/** Before the first pass nothing is known of the branch; of the devices nothing while the store cannot be read. */
function unknownTo({ status, hasRead, convergence }: Seen): IncidentKind[] {
  return [
    ...(status.state === 'starting' ? (['pass', 'origin', 'ids'] as const) : []),
    ...(hasRead ? [] : (['problem', 'revision'] as const)),
    ...(convergence === null ? (['group'] as const) : []),
  ];
}

function managerConditions({ status, record, storeProblem, author }: Seen): Condition[] {
  const { state, error, origin, attempted } = status;
  const isRefused = state === 'refused' && attempted !== null;
  return [
    ...(state === 'failing' && error !== null
      ? [condition('pass', 'pass', `the last pass failed: ${error.message}`, error.since)]
      : []),
    ...(origin?.error == null
      ? []
      : [
          condition('origin', 'origin', `origin cannot be used: ${origin.error.message}`, origin.error.since),
        ]),
    ...(storeProblem === null
      ? []
      : [condition('store', 'store', `the store cannot be used: ${storeProblem}`, null)]),
    ...(record.problem === null
      ? []
      : [condition('ids', 'ids', `ids are not recorded: ${record.problem.message}`, record.problem.since)]),
    ...(isRefused
      ? [condition('revision', 'revision', refusalText(attempted.revision, author, error), attempted.at)]
      : []),
  ];
}

function refusalText(revision: string, author: string | null, error: Status['error']): string {
  const by = author === null ? '' : ` of ${author}`;
  return `revision ${revision.slice(0, 12)}${by} is refused: ${error?.message ?? 'see its problems'}`;
}

/** One condition for each object that its files hold back, or for a file that is none's. */
function problemConditions({ status, groupsListing }: Seen): Condition[] {
  const found = new Map<string, Condition>();
  for (const { file, line, message, severity, since } of status.problems) {
    if (severity !== 'error') continue;
    const object = objectAt(file);
    const key = `problem:${object === null ? file : keyOf(object.kind, object.name)}`;
    if (found.has(key)) continue;
    const text = `${file}:${line}: ${message}`;
    found.set(key, { key, kind: 'problem', text, since, ...concernedBy(object, groupsListing) });
  }
  return [...found.values()];
}

function objectAt(file: string): ObjectKey | null {
  const role = classifyPath(file);
  return role.role === 'object' ? role : null;
}

function concernedBy(
  object: ObjectKey | null,
  groupsListing: Seen['groupsListing'],
): Pick<Condition, 'objects' | 'groups'> {
  if (object === null) return { objects: [], groups: [] };
  const { kind, name } = object;
  return { objects: [keyOf(kind, name)], groups: kind === 'app' ? [...groupsListing(name)] : [name] };
}

function groupConditions(convergence: Convergence | null, { failed, silent }: AlertLimits): Condition[] {
  return (convergence?.groups ?? []).flatMap((counts) => {
    const { group, devices } = counts;
    const parts = [
      ...(isAbove(counts.failed, devices, failed) ? [`${counts.failed} failed`] : []),
      ...(isAbove(counts.silent, devices, silent) ? [`${counts.silent} silent`] : []),
    ];
    if (parts.length === 0) return [];
    const text = `device group ${group}: ${parts.join(', ')} of ${devices} device${devices === 1 ? '' : 's'}`;
    return [
      {
        ...condition(`group:${group}`, 'group', text, null),
        objects: [keyOf('device_group', group)],
        groups: [group],
      },
    ];
  });
}

function isAbove(count: number, all: number, limit: Limit): boolean {
  return count > 0 && count > ('share' in limit ? limit.share * all : limit.number);
}

function condition(key: string, kind: Condition['kind'], text: string, since: number | null): Condition {
  return { key, kind, text, since, objects: [], groups: [] };
}
